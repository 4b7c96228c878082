// Changes: the operations of a space, their differences, and undo.
import { call } from './api.js';
import { h, fill, say, ask, wordDiff } from './dom.js';
import { t, word, stamp } from './texts.js';

const unlisted = new Set(['revision', 'updated_at']); // every operation changes them

const labels = {
  created_at: 'createdAt',
  updated_at: 'updated',
  last_accessed: 'lastAccessed',
  access_count: 'accesses',
  forgotten: 'forgottenAt',
};

const text = (v) => (v === undefined || v === '' ? '' : typeof v === 'string' ? v : JSON.stringify(v));

// differenceOf shows a text with its deletions and insertions.
export const differenceOf = (was, is) =>
  wordDiff(was, is).map(([kind, s]) => (kind === '=' ? s : h(kind === '+' ? 'ins' : 'del', {}, s)));

// isEmpty reports whether a value of a new or deleted thing says nothing.
const isEmpty = (v) => v === false || v === 0 || (Array.isArray(v) && v.length === 0);

// differences shows the fields that differ between two versions. A version that is undefined does not exist; the
// fields of the other one are then shown unless they are empty.
function differences(was, is) {
  const rows = [],
    whole = was === undefined || is === undefined;
  [was, is] = [was ?? {}, is ?? {}];
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const [a, b] = [text(was[name]), text(is[name])];
    if (a === b || unlisted.has(name) || (whole && (name === 'id' || isEmpty(was[name] ?? is[name])))) continue;
    rows.push(
      h(
        'div',
        { class: 'diff' },
        h('span', { class: 'dim' }, `${t(labels[name] ?? name)}: `),
        a && b ? differenceOf(a, b) : h(b ? 'ins' : 'del', {}, b || a),
      ),
    );
  }
  return rows;
}

// getOperation returns an operation with all its changes.
export async function getOperation(id) {
  let operation;
  for (let token = ''; ;) {
    const page = await call('OperationService/Get', { id, page_token: token });
    if (operation) operation.changes.push(...page.operation.changes);
    else operation = page.operation;
    token = page.next_page_token;
    if (!token) return operation;
  }
}

// numberOf is the part of an operation id that people read: 1234 of 1234-k3f9.
export const numberOf = (id) => `#${id.split('-')[0]}`;

// changesOf shows the changes of an operation. A memory's id is a link if link is given.
export function changesOf(op, link) {
  return (op.changes ?? []).map((c) => {
    const [kind, s] = Object.entries(c)[0] ?? ['', {}];
    if (kind === 'message')
      return h(
        'div',
        { class: 'change' },
        h('span', { class: 'dim' }, `${word('role', s.message?.role ?? '')} ${s.message?.seq ?? ''}: `),
        s.message?.content ?? '',
      );
    const name = [word('kind', kind), s.date, s.id].filter(Boolean).join(' ');
    const sign = s.before === undefined ? '+' : s.after === undefined ? '−' : '~';
    const label = kind === 'memory' && link ? h('button', { class: 'link', onclick: () => link(s.id) }, name) : name;
    const body =
      kind === 'summary' || kind === 'forgotten'
        ? differences({ [kind]: s.before }, { [kind]: s.after })
        : kind === 'access'
          ? [`+${s.count}`]
          : differences(s.before, s.after);
    return h('div', { class: 'change' }, h('div', {}, `${sign} `, label), body);
  });
}

// undo undoes an operation, after a question.
export async function undo(op) {
  if (!(await ask(`${t('undoAsk')}  ${numberOf(op.id)}`, t('undo'), t('cancel')))) return;
  const res = await call('OperationService/Undo', { id: op.id });
  say(res.result.outcomes.some((o) => o.status === 'rejected') ? t('partlyUndone') : t('undone'));
}

const changeCount = (n) => `${n} ${n === 1 ? t('change') : t('changesCount')}`;

// changes is the view that lists operations, newest first.
export function changes(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' });
  const more = h('button', { hidden: true, onclick: () => load(next).catch(fail) }, t('more'));
  let next = '';
  const opened = new Set();
  fill(box, h('div', { class: 'scroll', tabindex: '0' }, list, more));

  async function load(token) {
    const page = await call('OperationService/List', { spaces: [space], page_size: 100, page_token: token });
    const cards = page.operations.map(card);
    if (token) list.append(...cards);
    else fill(list, cards.length ? cards : h('p', { class: 'empty' }, t('noChanges')));
    next = page.next_page_token;
    more.hidden = !next;
  }

  function card(op) {
    const body = h('div', {});
    return h(
      'details',
      {
        class: 'card',
        open: opened.has(op.id),
        ontoggle: async (e) => {
          if (!e.target.open) return void opened.delete(op.id);
          opened.add(op.id);
          try {
            fill(
              body,
              changesOf(await getOperation(op.id), (id) => show('memories', id)),
              h('button', { onclick: () => undo(op).catch(fail) }, t('undo')),
            );
          } catch (error) {
            fail(error);
          }
        },
      },
      h(
        'summary',
        {},
        h('strong', {}, numberOf(op.id)),
        ` ${stamp(op.at)} · ${word('actor', op.actor)} · ${changeCount(op.change_count)}`,
        op.undoes_operation_id ? ` · ${t('undo')} ${numberOf(op.undoes_operation_id)}` : '',
        op.reason ? ` · ${op.reason}` : '',
      ),
      body,
    );
  }

  load('').catch(fail);
  return {
    changed: () => {
      if (!opened.size) load('').catch(fail);
    },
  };
}
