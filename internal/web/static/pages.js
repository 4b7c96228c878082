// Daily logs, sessions, the rolling summary, and edits that wait for a decision.
import { api, call, query } from './api.js';
import { h, fill, say } from './dom.js';
import { t, stamp } from './words.js';
import { changesOf } from './changes.js';

export function logs(box, { space, fail }) {
  const days = h('div', { class: 'cards' }), day = h('div', { class: 'detail', tabindex: '0' });
  let shown = '';
  fill(box, h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, days), day));

  async function load() {
    const res = await call('LogService/List', { space, page_size: 1000, include_deleted: true });
    let month = '';
    fill(days, res.days.length ? res.days.map((d) => {
      const heading = d.date.slice(0, 7) !== month && h('h3', {}, month = d.date.slice(0, 7));
      return [heading, h('button', { class: 'card', 'aria-current': String(d.date === shown), onclick: () => open(d.date).catch(fail) },
        h('strong', {}, d.date), ` ${d.entry_count} ${t('entries')}`, d.deleted_at ? ` · ${t('deleted')}` : d.archived ? ` · ${t('archived')}` : '', d.summary && h('div', { class: 'dim clip' }, d.summary))];
    }) : h('p', { class: 'empty' }, t('nothing')));
  }

  async function open(date) {
    shown = date;
    const res = await call('LogService/Get', { space, date });
    for (const b of days.querySelectorAll('button')) b.setAttribute('aria-current', String(b.firstChild.textContent === date));
    fill(day, h('h2', {}, date), res.day?.summary && h('p', { class: 'pre content' }, res.day.summary), res.entries.map((e) => h('div', { class: 'card' },
      h('div', { class: 'dim' }, [e.time, e.type, e.category && t(e.category), e.tool].filter(Boolean).join(' · ')), h('div', { class: 'pre' }, e.content), e.error && h('div', { class: 'bad' }, e.error))));
  }

  load().catch(fail);
  return { changed: () => { load().catch(fail); if (shown) open(shown).catch(fail); } };
}

export function sessions(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' }), detail = h('div', { class: 'detail', tabindex: '0' });
  let shown = '';
  fill(box, h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, list), detail));

  async function load() {
    const res = await call('SessionService/List', { space, page_size: 200 });
    fill(list, res.sessions.length ? res.sessions.map((s) => h('button', { class: 'card', onclick: () => open(s.id).catch(fail) },
      h('strong', {}, s.id), h('div', { class: 'dim' }, `${t(s.state)} · ${stamp(s.last_at)} · ${s.message_count} ${t('messages')}${s.host ? ` · ${s.host}` : ''}`), s.summary && h('div', { class: 'dim clip' }, s.summary)))
      : h('p', { class: 'empty' }, t('nothing')));
  }

  async function open(id) {
    shown = id;
    const res = await call('SessionService/Get', { space, session_id: id, include_messages: true, max_messages: 200 });
    const s = res.session, taught = h('div', {});
    fill(detail, h('h2', {}, s.id), h('p', { class: 'dim' }, [t(s.state), s.host, s.cwd, s.end_reason].filter(Boolean).join(' · ')), s.summary && h('p', { class: 'pre content' }, s.summary),
      s.reflected_operation > 0 && [h('h3', {}, t('taught')), taught],
      h('h3', {}, t('messages')), res.messages.map((m) => h('div', { class: 'card' }, h('div', { class: 'dim' }, [m.seq, m.role, m.tool?.name, stamp(m.at)].filter(Boolean).join(' · ')), h('div', { class: 'pre' }, m.content), m.tool && h('div', { class: m.tool.failed ? 'pre bad' : 'pre dim' }, m.tool.error || m.tool.result))));
    if (s.reflected_operation > 0) {
      try {
        const op = (await call('OperationService/Get', { number: String(s.reflected_operation) })).operation;
        fill(taught, changesOf({ changes: op.changes.filter((c) => c.memory) }, (memory) => show('memories', memory)));
      } catch (e) {
        fill(taught, h('p', { class: 'dim' }, e.message)); // the history may not reach back so far
      }
    }
  }

  load().catch(fail);
  return { changed: (e) => { load().catch(fail); if (shown && (!e || e.sessions.includes(shown))) open(shown).catch(fail); } };
}

export function summary(box, { space, fail }) {
  let loaded = '';
  const text = h('textarea', { rows: 14, 'aria-label': t('summary') });
  const path = `/api/memory/rolling-summary?${query({ space })}`;
  const note = h('p', { class: 'dim', role: 'status' });

  async function load() {
    const now = (await api('GET', path)).summary;
    if (text.value === loaded) text.value = now; // what somebody types stays
    else if (now !== loaded) note.textContent = t('stalePatch');
    loaded = now;
  }

  async function save() {
    const wanted = text.value;
    if ((await api('GET', path)).summary !== loaded) return void (note.textContent = t('stalePatch'));
    await api('PUT', path, { summary: wanted });
    loaded = wanted;
    note.textContent = '';
    say(t('saved'));
    text.value = loaded = (await api('GET', path)).summary; // secrets are taken out
  }

  fill(box, h('div', { class: 'page', tabindex: '0' }, h('h2', {}, t('summary')), text, note, h('div', { class: 'bar' }, h('button', { class: 'primary', onclick: () => save().catch(fail) }, t('save')),
    h('button', { onclick: () => { text.value = loaded; note.textContent = ''; load().catch(fail); } }, t('reload')))));
  load().catch(fail);
  return { changed: (e) => { if (!e || e.summary) load().catch(fail); } };
}

export function edits(box, { fail }) {
  const list = h('div', { class: 'cards' });
  fill(box, h('div', { class: 'page', tabindex: '0' }, h('h2', {}, t('edits')), h('p', { class: 'dim' }, t('decideHint')), list));

  async function load() {
    const res = await call('AdminService/ListEdits');
    const full = await Promise.all(res.edits.map((e) => call('AdminService/GetEdit', { id: e.id })));
    const decide = (e, accept) => h('button', { class: accept ? 'primary' : '', onclick: () => call('AdminService/ResolveEdit', { id: e.id, accept }).then(load).catch(fail) }, t(accept ? 'accept' : 'discard'));
    fill(list, full.length ? full.map(({ edit, changes }) => h('div', { class: 'card' },
      h('div', {}, h('strong', {}, edit.file), ` · ${t(edit.kind)} · ${stamp(edit.noticed_at)}`), h('div', { class: 'pre dim' }, edit.details.join('\n')), changesOf({ changes }),
      h('div', { class: 'bar' }, edit.kind !== 'refused' && decide(edit, true), decide(edit, false), h('span', { class: 'dim' }, edit.copy)))) : h('p', { class: 'empty' }, t('nothing')));
  }

  load().catch(fail);
  return { changed: () => load().catch(fail) };
}
