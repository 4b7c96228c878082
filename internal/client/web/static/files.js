// Files: memory.json and the daily logs as they are on disk. The text is checked while it is edited and saved like
// an edit by hand.
import { raw, call, query } from './api.js';
import { h, fill, later, say, ask } from './dom.js';
import { dateField } from './date.js';
import { said } from './said.js';
import { t, stamp, entriesOf } from './texts.js';

const mostChecked = 15 * 1024 * 1024; // bytes that the daemon checks without saving them

// place is the line and column at which the browser failed to parse JSON.
function place(text, message) {
  const at = Number(message.match(/position (\d+)/)?.[1] ?? -1);
  if (at < 0) return { line: 0, column: 0 };
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

// files is the view of the editor.
export function files(box, { space, show, fail }, wanted) {
  let date = wanted ?? '',
    etag = '',
    loaded = null,
    ed = null,
    problems = [],
    checking = new AbortController(),
    gone = false,
    moved = false,
    last = ['', '']; // the verdict that was given
  const path = (more = '') => `/api/memory/file${more}?${query({ space, date })}`;
  const name = () => (date ? `logs/${date}.json` : 'memory.json');

  const which = h(
    'select',
    {
      'aria-label': t('whichFile'),
      onchange: () => pick(which.value === 'log' ? day.value || days[0] || today() : ''),
    },
    h('option', { value: 'memory', selected: !date }, 'memory.json'),
    h('option', { value: 'log', selected: !!date }, t('logFile')),
  );
  const day = dateField({
    label: 'day',
    value: date,
    hidden: !date,
    onchange: () => {
      if (day.value) pick(day.value);
    },
  });
  const note = h('span', { class: 'verdict', role: 'status' });
  const list = h('ul', { class: 'problems', 'aria-label': t('problems'), hidden: true });
  const saveButton = h('button', { class: 'primary', disabled: true, onclick: () => save().catch(fail) }, t('save'));
  const pane = h('div', { class: 'json' });
  let days = [];
  fill(
    box,
    h('div', { class: 'bar' }, which, day, saveButton, h('button', { onclick: () => reload() }, t('reload')), note),
    list,
    pane,
  );

  const today = () => new Date().toLocaleDateString('sv');
  const dirty = () => ed !== null && loaded !== null && (ed.size() !== loaded.length || ed.text() !== loaded);

  async function pick(next) {
    if (dirty() && !(await leave())) {
      which.value = date ? 'log' : 'memory';
      day.value = date;
      return;
    }
    date = next;
    which.value = date ? 'log' : 'memory';
    day.hidden = !date;
    day.value = date;
    drop();
    load(true).catch(fail);
  }

  const leave = () => ask(t('leaveAsk'), t('leave'), t('stay'), true);
  const reload = async () => {
    if (!dirty() || (await leave())) load(true).catch(fail);
  };

  function drop() {
    ed?.close();
    ed = loaded = null;
    problems = [];
    moved = false;
  }

  // verdict shows whether the text is valid, its problems, and whether the memories have changed since it was loaded.
  function verdict(state, text) {
    last = [state, text];
    note.className = `verdict ${state}`;
    note.textContent = moved ? `${text} · ${t('fileMoved')}` : text;
    saveButton.disabled = gone || state === 'bad' || !dirty();
    list.hidden = problems.length === 0;
    fill(
      list,
      problems.map((p) =>
        h(
          'li',
          { class: p.refused ? 'fail' : 'warn' },
          p.line
            ? h(
                'button',
                { class: 'link', onclick: () => ed.go(p.line, p.column) },
                `${t('line')} ${p.line}, ${t('column')} ${p.column}`,
              )
            : t('wholeFile'),
          p.path && h('code', {}, ` ${p.path}`),
          `: ${said(p.message)}`,
        ),
      ),
    );
  }

  function hasMoved() {
    moved = true;
    verdict(...last);
  }

  // check lets the daemon check the text: it finds more than JSON errors.
  async function check() {
    if (!ed) return;
    checking.abort();
    checking = new AbortController();
    const { signal } = checking,
      text = ed.text();
    const sent = new Blob([text]);
    try {
      if (sent.size <= mostChecked)
        problems = (
          await (await raw('POST', path('/check'), sent, { 'Content-Type': 'application/json' }, signal)).json()
        ).problems;
      else JSON.parse(text);
    } catch (e) {
      if (signal.aborted) return;
      if (!(e instanceof SyntaxError)) throw e;
      problems = [{ ...place(text, e.message), path: '', message: e.message, refused: true }];
    }
    if (signal.aborted || !ed) return;
    ed.show(problems);
    if (problems.some((p) => p.refused))
      verdict('bad', `${t('invalid')}: ${said(problems.find((p) => p.refused).message)}`);
    else if (problems.length) verdict('warn', t('wouldWait'));
    else verdict('ok', t(dirty() ? 'validChanged' : 'valid'));
  }
  const soon = later(250, () => check().catch(fail)),
    less = later(1500, () => check().catch(fail));

  function touched() {
    problems = [];
    checking.abort();
    verdict('', t('checking'));
    if (ed.size() < 1_000_000) soon();
    else less();
  }

  async function load(force) {
    const asked = date;
    if (date) {
      const listed = (await call('LogService/List', { space, start_date: date, end_date: date, include_deleted: true }))
        .days[0];
      if (asked !== date) return; // another file was chosen meanwhile
      if (!listed || listed.deleted_at) return missing(!!listed);
    }
    let res;
    try {
      res = await raw('GET', path());
    } catch (e) {
      if (asked !== date) return;
      if (e.status === 404) return missing(e.reason === 'LOG_DELETED');
      throw e;
    }
    const now = await res.text();
    if (asked !== date || !box.isConnected) return;
    gone = false;
    if (!force && dirty()) return hasMoved(); // text that was typed stays
    etag = res.headers.get('ETag');
    moved = false;
    if (ed && now === loaded && !dirty()) return check();
    const { editor, most } = await import('./editor.js');
    if (asked !== date || !box.isConnected) return;
    loaded = now;
    problems = [];
    if (ed && now.length > most === (ed.el.localName === 'textarea')) {
      ed.set(now);
    } else {
      ed?.close();
      ed = editor({ label: name(), text: now, onchange: touched, onsave: () => save().catch(fail) });
      fill(pane, ed.el, now.length > most && h('p', { class: 'dim' }, t('tooLarge')));
    }
    await check();
  }

  // missing shows that a file does not exist, and the summary of a deleted log.
  async function missing(deleted) {
    const asked = date;
    drop();
    gone = true;
    const kept = deleted && (await call('LogService/Get', { space, date, page_size: 1 })).archived.at(-1);
    if (asked !== date) return;
    fill(
      pane,
      h(
        'div',
        { class: 'empty' },
        h('p', {}, t(deleted ? 'logDeleted' : date ? 'noLog' : 'noFile')),
        kept && [
          h('p', { class: 'dim' }, `${t('archived')} ${stamp(kept.archived_at)} · ${entriesOf(kept.entry_count)}`),
          kept.summary && h('p', { class: 'pre summary-text' }, kept.summary),
        ],
        date && h('button', { onclick: () => show('logs', date) }, t('openCalendar')),
      ),
    );
    verdict('', name());
  }

  const put = () => raw('PUT', path(), ed.text(), { 'Content-Type': 'application/json', 'If-Match': etag });

  async function save() {
    if (!ed || gone) return;
    if (!dirty()) return say(t('fileSame'));
    let res;
    try {
      res = await (await put()).json();
    } catch (e) {
      if (e.reason === 'FILE_CHANGED') return say(t('fileStale'), t('merge'), () => merge().catch(fail));
      throw e;
    }
    await taken(res);
  }

  // merge saves the text with the ETag of the new file. The changes in that file are not lost: the text names the
  // revision that it was made from, and the daemon applies only its differences from that revision.
  async function merge() {
    etag = (await raw('GET', path())).headers.get('ETag');
    await taken(await (await put()).json());
  }

  async function taken(res) {
    if (res.waiting.length) {
      loaded = ed.text();
      verdict('warn', t('fileWaits'));
      return say(t('fileWaits'), t('review'), () => show('review'));
    }
    say(t('fileSaved'));
    await load(true);
  }

  load(true).catch(fail);
  call('LogService/List', { space, page_size: 1 })
    .then((res) => {
      days = res.days.map((d) => d.date);
    })
    .catch(fail);
  return {
    where: () => [date],
    dirty,
    close: drop,
    changed: (e) => {
      if (e && e.space !== space) return;
      if (!dirty() && (!ed || ed.size() <= 2_000_000)) load(false).catch(fail);
      else hasMoved();
    },
  };
}
