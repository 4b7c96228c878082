// Backup, export and import, with progress; and the settings that say what is kept and where.
import { api, download, query, upload } from './api.js';
import { h, fill, say, ask } from './dom.js';
import { t, word, language } from './texts.js';
import { undo } from './operations.js';

const kept = [
  'history_days',
  'memory_archive_days',
  'memory_delete_days',
  'session_idle',
  'memory_session_reflect_enabled',
];
const size = (n) => `${(n / 1e6).toLocaleString(language(), { maximumFractionDigits: 1 })} MB`;

// transferSection makes the section.
export function transferSection({ space, fail }) {
  const state = h('p', { class: 'dim', role: 'status' });
  const progress = h('progress', { hidden: true, 'aria-label': t('progress') });
  const file = h('input', {
    type: 'file',
    hidden: true,
    accept: '.json,.jsonl',
    onchange: () => importing().catch(fail),
  });
  const settings = h('div', {});
  const buttons = [
    h('button', { class: 'primary', onclick: () => save('/api/backup') }, t('makeBackup')),
    h('button', { onclick: () => save('/api/export') }, t('exportAll')),
    h('button', { onclick: () => save(`/api/export?${query({ space, format: 'memory.json' })}`) }, t('exportSpace')),
    h('button', { id: 'import', onclick: () => file.click() }, t('importFile')),
  ];

  // busy runs f while the buttons wait; f says how far it is by part, 0 to 1 or undefined, and bytes.
  async function busy(f) {
    for (const b of buttons) b.disabled = true;
    progress.hidden = false;
    progress.removeAttribute('value');
    try {
      return await f((part, bytes) => {
        if (part !== undefined) progress.value = part;
        state.textContent = size(bytes);
      });
    } finally {
      for (const b of buttons) b.disabled = false;
      progress.hidden = true;
    }
  }

  async function save(path) {
    try {
      const { name, bytes } = await busy((at) => download(path, at));
      state.textContent = `${t('savedAs')} ${name} (${size(bytes)})`;
    } catch (e) {
      state.textContent = '';
      fail(e);
    }
  }

  const rowsOf = (res) =>
    res.counts
      .map((c) =>
        [
          `${c.space}, ${word('imported', c.kind)}: ${c.added} ${t('importAdded')}`,
          c.unchanged && `${c.unchanged} ${t('importKnown')}`,
          c.merged && `${c.merged} ${t('importMerged')}`,
          c.skipped && `${c.skipped} ${t('importSkipped')}`,
        ]
          .filter(Boolean)
          .join(', '),
      )
      .join('\n');

  // importing shows first what would be imported, and imports after a question.
  async function importing() {
    const chosen = file.files[0];
    file.value = '';
    if (!chosen) return;
    state.textContent = chosen.name;
    const send = (dry) => busy((at) => upload(`/api/import?${query({ dry_run: dry })}`, chosen, at));
    try {
      const dry = await send(true);
      if (!(await ask(`${t('importAsk')} ${chosen.name}?\n\n${rowsOf(dry)}`, t('importNow'), t('cancel')))) {
        state.textContent = '';
        return;
      }
      const res = await send(false);
      state.textContent = `${t('importDone')}\n${rowsOf(res)}`;
      const operations = res.operation_ids;
      say(t('importDone'), operations.length ? t('undo') : undefined, () => undo(...operations).catch(fail));
    } catch (e) {
      state.textContent = '';
      if (e.status === 400) e.hint = `${t('importElsewhere')} memsidecar import ${chosen.name}`;
      throw e;
    }
  }

  async function loadSettings() {
    const { log_file: log, settings: all } = await api('GET', '/api/settings');
    const row = (s) => [h('dt', {}, word('setting', s.name)), h('dd', {}, s.value || '–')];
    fill(
      settings,
      h(
        'dl',
        {},
        all.filter((s) => kept.includes(s.name)).map(row),
        log && [h('dt', {}, t('logFileOf')), h('dd', {}, log)],
      ),
      h(
        'details',
        {},
        h('summary', { class: 'dim' }, `${t('allSettings')} (${all.length})`),
        h('p', { class: 'dim' }, t('settingsHint')),
        h(
          'dl',
          { class: 'settings' },
          all.map((s) => [h('dt', {}, s.name), h('dd', {}, s.value, ' ', h('span', { class: 'dim' }, s.origin))]),
        ),
      ),
    );
  }

  loadSettings().catch(fail);
  return h(
    'section',
    { id: 'transfer' },
    h('h2', {}, t('transfer')),
    h('div', { class: 'bar' }, buttons, file),
    progress,
    state,
    h('h2', {}, t('retention')),
    settings,
  );
}
