// Operations: what was changed, as differences, and how to take it back.
import { call } from './api.js';
import { h, fill, say, ask, wordDiff } from './dom.js';
import { t, stamp } from './words.js';

const quiet = new Set(['revision', 'updated_at']); // change with everything

const labels = { created_at: 'createdAt', updated_at: 'updated', last_accessed: 'lastAccessed', access_count: 'accesses', forgotten: 'forgottenAt' };

const text = (v) => (v === undefined || v === '' ? '' : typeof v === 'string' ? v : JSON.stringify(v));

// differenceOf shows what is left of a text, what went and what came.
export const differenceOf = (was, is) => wordDiff(was, is).map(([kind, s]) => (kind === '=' ? s : h(kind === '+' ? 'ins' : 'del', {}, s)));

const nothing = (v) => v === false || v === 0 || (Array.isArray(v) && v.length === 0);

// differences shows the fields that differ between two states of a thing; of one that is new or gone, those that say something.
function differences(was, is) {
  const rows = [], whole = was === undefined || is === undefined;
  [was, is] = [was ?? {}, is ?? {}];
  for (const name of new Set([...Object.keys(was), ...Object.keys(is)])) {
    const [a, b] = [text(was[name]), text(is[name])];
    if (a === b || quiet.has(name) || (whole && (name === 'id' || nothing(was[name] ?? is[name])))) continue;
    rows.push(h('div', { class: 'diff' }, h('span', { class: 'dim' }, `${t(labels[name] ?? name)}: `),
      a && b ? differenceOf(a, b) : h(b ? 'ins' : 'del', {}, b || a)));
  }
  return rows;
}

// changesOf shows what an operation changed.
export function changesOf(op, link) {
  return (op.changes ?? []).map((c) => {
    const [kind, s] = Object.entries(c)[0] ?? ['', {}];
    if (kind === 'message') return h('div', { class: 'change' }, h('span', { class: 'dim' }, `${s.message?.role ?? ''} ${s.message?.seq ?? ''}: `), s.message?.content ?? '');
    const name = [kind, s.date, s.id].filter(Boolean).join(' ');
    const sign = s.before === undefined ? '+' : s.after === undefined ? '−' : '~';
    const label = kind === 'memory' && link ? h('button', { class: 'link', onclick: () => link(s.id) }, name) : name;
    const body = kind === 'summary' || kind === 'forgotten' ? differences({ [kind]: s.before }, { [kind]: s.after }) : kind === 'touch' ? [`+${s.count}`] : differences(s.before, s.after);
    return h('div', { class: 'change' }, h('div', {}, `${sign} `, label), body);
  });
}

// undo takes an operation back, after a question.
export async function undo(op) {
  if (!await ask(`${t('undoAsk')}  #${op.number}`, t('undo'), t('cancel'))) return;
  const res = await call('OperationService/Undo', { number: String(op.number) });
  say(res.result.outcomes.some((o) => o.status === 'rejected') ? t('partly') : t('undone'));
}

export function operations(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' });
  const more = h('button', { hidden: true, onclick: () => load(next).catch(fail) }, t('more'));
  let next = '';
  const opened = new Set();
  fill(box, h('div', { class: 'scroll', tabindex: '0' }, list, more));

  async function load(token) {
    const page = await call('OperationService/List', { spaces: [space], page_size: 100, page_token: token });
    const cards = page.operations.map(card);
    if (token) list.append(...cards);
    else fill(list, cards.length ? cards : h('p', { class: 'empty' }, t('noOperations')));
    next = page.next_page_token;
    more.hidden = !next;
  }

  function card(op) {
    const body = h('div', {});
    return h('details', {
      class: 'card', open: opened.has(op.number),
      ontoggle: async (e) => {
        if (!e.target.open) return void opened.delete(op.number);
        opened.add(op.number);
        try {
          const full = (await call('OperationService/Get', { number: String(op.number) })).operation;
          fill(body, changesOf(full, (id) => show('memories', id)), h('button', { onclick: () => undo(op).catch(fail) }, t('undo')));
        } catch (error) {
          fail(error);
        }
      },
    }, h('summary', {}, h('strong', {}, `#${op.number}`), ` ${stamp(op.at)} · ${op.actor} · ${op.change_count}`, op.undoes ? ` · ${t('undo')} #${op.undoes}` : '', op.reason ? ` · ${op.reason}` : ''), body);
  }

  load('').catch(fail);
  return { changed: () => { if (!opened.size) load('').catch(fail); } };
}
