// What the daemon says of texts, edits and requests that it does not take, in the language of the panel. It speaks English;
// words.errors.js has the forms of what it says.
import { t, language } from './texts.js';
import { errorWords, reasonWords } from './words.errors.js';

const literal = (s) => s.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

// forms are those with arguments, those that say most first: [expression, Chinese].
const forms = Object.entries(errorWords)
  .filter(([form]) => form.includes('{}'))
  .sort(([a], [b]) => b.length - a.length)
  .map(([form, chinese]) => [new RegExp(`^${form.split('{}').map(literal).join('(.+?)')}$`, 's'), chinese]);

// fieldOf is the name of a field in words; that of an element of a file stays as it is in the file.
const fieldOf = (path) => (/[[\]]/.test(path) ? path : t(path.split('.').at(-1)));

// said is an English text of the daemon in the language of the panel.
export function said(text) {
  if (language() !== 'zh') return text;
  if (errorWords[text]) return errorWords[text];
  const place = /^line (\d+), column (\d+): (.+)$/s.exec(text);
  if (place) return `第 ${place[1]} 行，第 ${place[2]} 列：${said(place[3])}`;
  for (const [expression, chinese] of forms) {
    const args = expression.exec(text)?.slice(1);
    if (args)
      return chinese.replace(/\{(names)?\}/g, (_, names) => {
        const arg = args.shift();
        return names ? arg.split(', ').map(fieldOf).join('、') : said(arg);
      });
  }
  const [, field, rest] = /^([\w.[\]-]+(?: \([^)]*\))?): (.+)$/s.exec(text) ?? [];
  return field ? `${field}：${said(rest)}` : text;
}

// explain is an error in words: what is wrong with each field, or else its reason.
export function explain(error) {
  const violations = error.violations ?? [];
  const lines = violations.length
    ? [t('refusedAsIs'), ...violations.map((v) => `${fieldOf(v.field)}: ${said(v.description)}`)]
    : [inWords(error)];
  return [...lines, error.hint].filter(Boolean).join('\n');
}

function inWords(error) {
  const reason = language() === 'zh' && reasonWords[error.reason];
  if (!reason) return error.message;
  const more = said(error.message);
  return more === error.message ? reason : `${reason}\n${more}`;
}
