// memory.json as it stands on the disk, with colours, checked before it is saved, and saved the way an edit by hand is.
import { raw, query } from './api.js';
import { h, fill, later, say } from './dom.js';
import { t } from './words.js';

const most = 400000; // characters that are coloured; more would make typing slow
const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// colour shows JSON with its kinds marked.
function colour(text, into) {
  if (text.length > most) return void into.replaceChildren(text);
  const out = document.createDocumentFragment();
  let last = 0;
  for (const m of text.matchAll(token)) {
    out.append(text.slice(last, m.index));
    const kind = m[1] ? (m[2] ? 'name' : 'string') : m[3] ? 'word' : 'digits';
    out.append(h('span', { class: `j-${kind}` }, m[1] ?? m[0]));
    last = m.index + (m[1] ?? m[0]).length;
  }
  out.append(text.slice(last), '\n');
  into.replaceChildren(out);
}

export function file(box, { space, show, fail }) {
  let etag = '', loaded = null;
  const shade = h('pre', { 'aria-hidden': 'true' });
  const text = h('textarea', { spellcheck: 'false', wrap: 'off', 'aria-label': t('file'), oninput: () => { colour(text.value, shade); verdict(); },
    onscroll: () => { shade.scrollTop = text.scrollTop; shade.scrollLeft = text.scrollLeft; },
    onkeydown: (e) => { if ((e.ctrlKey || e.metaKey) && e.key === 's') { e.preventDefault(); save().catch(fail); } } });
  const note = h('span', { class: 'dim', role: 'status' });
  const saveButton = h('button', { class: 'primary', onclick: () => save().catch(fail) }, t('save'));
  const path = `/api/memory/file?${query({ space })}`;
  fill(box, h('div', { class: 'bar' }, saveButton, h('button', { onclick: () => load(true).catch(fail) }, t('reload')), note), h('div', { class: 'json' }, shade, text));

  const wrong = () => {
    try {
      JSON.parse(text.value);
      return '';
    } catch (e) {
      return e.message;
    }
  };
  const verdict = later(200, () => {
    const bad = wrong();
    note.className = bad ? 'bad' : 'dim';
    note.textContent = bad ? `${t('invalid')}: ${bad}` : t('valid');
    saveButton.disabled = !!bad;
  });

  async function load(force) {
    const res = await raw('GET', path);
    const now = await res.text();
    if (!force && loaded !== null && text.value !== loaded) return; // what somebody types stays
    etag = res.headers.get('ETag');
    loaded = text.value = now;
    colour(now, shade);
    verdict();
  }

  async function save() {
    const bad = wrong();
    if (bad) return say(`${t('invalid')}: ${bad}`);
    if (text.value === loaded) return say(t('fileSame'));
    try {
      const res = await (await raw('PUT', path, text.value, { 'Content-Type': 'application/json', 'If-Match': etag })).json();
      if (res.waiting.length) return say(t('fileWaits'), t('edits'), () => show('edits'));
      say(t('fileSaved'));
    } catch (e) {
      if (e.reason === 'FILE_CHANGED') return say(t('fileStale'));
      throw e;
    }
    await load(true);
  }

  load(true).catch(fail);
  return {
    changed: (e) => {
      if (e && e.space !== space) return;
      if (text.value === loaded && text.value.length <= most) load(false).catch(fail);
      else note.textContent = t('fileMoved');
    },
  };
}
