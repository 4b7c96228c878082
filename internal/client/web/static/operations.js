// Operations: their differences for people, and undo.
import { call } from './api.js';
import { h, say, ask, wordDiff } from './dom.js';
import { t, word, phrase, valueOf, countOf, reasonOf } from './texts.js';

const unlisted = new Set(['revision', 'updated_at', 'content_at']); // they follow from the change

const labels = {
  created_at: 'createdAt',
  updated_at: 'updated',
  last_accessed: 'lastAccessed',
  access_count: 'accesses',
  forgotten: 'forgottenAt',
};

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
    const [a, b] = [valueOf(name, was[name]), valueOf(name, is[name])];
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
    const [kind, s] = subjectOf(c);
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

// undo undoes operations, the last one first, after one question.
export async function undo(...ids) {
  const which = ids.length > 4 ? countOf(ids.length, 'change') : ids.map(numberOf).join(' ');
  if (!(await ask(`${t('undoAsk')}  ${which}`, t('undo'), t('cancel')))) return;
  let partly = false;
  for (const id of ids.toReversed()) {
    const res = await call('OperationService/Undo', { id });
    partly ||= res.result.outcomes.some((o) => o.status === 'rejected');
  }
  say(t(partly ? 'partlyUndone' : 'undone'));
}

// subjectOf is the one thing that a change changes: its kind, such as memory, and its states.
const subjectOf = (change) => Object.entries(change)[0] ?? ['', {}];

// deedOf says what a change does to its thing.
function deedOf(kind, { before, after }) {
  if (kind === 'access') return 'used';
  if (kind === 'message') return 'said';
  if (before === undefined) return 'added';
  if (after === undefined) return 'removed';
  if (kind === 'summary') return before === '' ? 'added' : after === '' ? 'removed' : 'changed';
  if (before.status !== after.status && after.status)
    return { active: 'restored', retired: 'forgotten' }[after.status] ?? after.status;
  if (kind === 'session' && before.state !== after.state) return after.state;
  return 'changed';
}

// headline says what an operation did in a line: "Added memory ×3, ended session".
export function headline(op) {
  const deeds = new Map();
  for (const change of op.changes ?? []) {
    const [kind, subject] = subjectOf(change);
    const deed = phrase(deedOf(kind, subject), kind);
    deeds.set(deed, (deeds.get(deed) ?? 0) + 1);
  }
  return [...deeds].map(([deed, n]) => (n > 1 ? `${deed} ×${n}` : deed)).join(', ') || `${op.change_count} ×`;
}

// gistOf shows the text that a change is about: of a new or removed thing its text, else what differs. null when there
// is nothing to read.
function gistOf(change) {
  const [kind, s] = subjectOf(change);
  if (kind === 'forgotten' || kind === 'access') return null;
  if (kind === 'summary') return h('div', { class: 'diff clip' }, differenceOf(s.before ?? '', s.after ?? ''));
  if (kind === 'message') return h('div', { class: 'diff clip' }, s.message?.content ?? '');
  const textOf = (x) => [x?.title, x?.content || x?.summary].filter(Boolean).join(': ');
  if (kind !== 'memory' && kind !== 'entry') {
    const [was, is] = [textOf(s.before), textOf(s.after)];
    return was === is ? null : h('div', { class: 'diff clip' }, differenceOf(was, is));
  }
  if (s.before === undefined) return h('div', { class: 'diff clip' }, h('ins', {}, textOf(s.after)));
  if (s.after === undefined || (s.before.status === 'active' && s.after.status === 'retired'))
    return h('div', { class: 'diff clip' }, h('del', {}, textOf(s.before)));
  const rows = differences(s.before, s.after);
  const named = s.before.content === s.after.content ? [h('div', { class: 'clip' }, textOf(s.after))] : [];
  return h('div', {}, named, rows);
}

// gists shows the first texts of an operation, at most so many.
export const gists = (op, most) => (op.changes ?? []).map(gistOf).filter(Boolean).slice(0, most);

// says reports whether any text of an operation holds all the words, which are in lower case.
export function says(op, words) {
  const texts = [op.reason, reasonOf(op.reason), op.id];
  const collect = (v) => {
    if (typeof v === 'string') texts.push(v);
    else if (v && typeof v === 'object') Object.values(v).forEach(collect);
  };
  collect(op.changes);
  const all = texts.join('\n').toLowerCase();
  return words.every((w) => all.includes(w));
}

// kindsOf are the kinds of things that an operation changed.
export const kindsOf = (op) => new Set((op.changes ?? []).map((c) => subjectOf(c)[0]));
