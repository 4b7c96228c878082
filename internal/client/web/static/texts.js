// The texts of the panel in the chosen language, and values of the API in words.
import { words } from './words.js';
import { viewWords } from './words.views.js';

const texts = { ...words, ...viewWords };

let at = 0; // index of the language in texts

// setLanguage takes en or zh.
export function setLanguage(lang) {
  at = lang === 'zh' ? 1 : 0;
  document.documentElement.lang = at ? 'zh' : 'en';
}
export const language = () => (at ? 'zh' : 'en');

// t is the text of a key; a key without one is returned as it is, such as a category that a user invented.
export const t = (key) => texts[key]?.[at] ?? key;

// word is the text of a value of an enum of the API.
export const word = (kind, value) => texts[`${kind}_${value}`]?.[at] ?? value;

// reasons are those with arguments: [expression, texts].
const reasons = Object.entries(words)
  .filter(([key]) => /^why_.*\{\}/.test(key))
  .map(([key, pair]) => [new RegExp(`^${key.slice(4).replaceAll('{}', '(.+)')}$`), pair]);

// reasonOf is the reason of an operation in words. One that a client gave stays as it is.
export function reasonOf(reason) {
  if (texts[`why_${reason}`]) return texts[`why_${reason}`][at];
  for (const [form, pair] of reasons) {
    const args = form.exec(reason)?.slice(1).map(partsOf);
    let next = 0;
    if (args) return pair[at].replace(/\{(\d?)\}/g, (_, which) => args[which || next++]);
  }
  return reason;
}

// partsOf is an argument of a reason in words: a list of reasons, or one.
function partsOf(arg) {
  const parts = arg.split(', ');
  const known = parts.map(reasonOf);
  return known.every((part, i) => part !== parts[i]) ? known.join(at ? '，' : ', ') : reasonOf(arg);
}

// phrase says what was done to a kind of thing: "Added memory".
export const phrase = (deed, kind) => word('deed', deed).replace('{}', word('kind', kind));

// valueOf is the value of a field as text: words for enums, dates in the language of the panel.
export function valueOf(name, v) {
  if (v === undefined || v === '') return '';
  if (name === 'category' || name === 'status') return t(v);
  if (name === 'source' || name === 'type') return word(name, v);
  if (name === 'state') return t(v);
  if (name === 'end_reason') return word('end', v);
  if (typeof v === 'boolean') return t(v ? 'yes' : 'no');
  if (typeof v === 'string') return /_(at|accessed)$|^at$/.test(name) ? stamp(v) : v;
  if (Array.isArray(v) && v.every((x) => typeof x === 'string')) return v.join(', ');
  return JSON.stringify(v);
}

// countOf is a number with its noun: countOf(2, 'message') is "2 messages". The nouns are in the tables as one_x and
// some_x.
export const countOf = (n, noun) =>
  texts[`${n === 1 ? 'one' : 'some'}_${noun}`][at].replace('{}', n.toLocaleString(language()));

// entriesOf is a number of entries, as text.
export const entriesOf = (n) => `${n.toLocaleString(language())} ${n === 1 ? t('entry') : t('entries')}`;

// timesOf is a number of uses, as text.
export const timesOf = (n) => `${n.toLocaleString(language())} ${n === 1 ? t('time') : t('times')}`;

// age is the time since a date, in words.
export function age(time) {
  if (!time) return t('never');
  const days = Math.floor((Date.now() - new Date(time)) / 86400000);
  const rtf = new Intl.RelativeTimeFormat(language(), { numeric: 'auto' });
  if (days < 1) return t('today');
  if (days < 14) return rtf.format(-days, 'day');
  if (days < 60) return rtf.format(-Math.round(days / 7), 'week');
  if (days < 700) return rtf.format(-Math.round(days / 30), 'month');
  return rtf.format(-Math.round(days / 365), 'year');
}

// stamp is a date and time in the language of the panel.
export const stamp = (time) => (time ? new Date(time).toLocaleString(language()) : '');
