// Sessions, the rolling summary, and what waits for a decision.
import { api, call, query } from './api.js';
import { h, fill, say } from './dom.js';
import { t, stamp } from './words.js';
import { changesOf, differenceOf } from './changes.js';

export function sessions(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' }), detail = h('div', { class: 'detail', tabindex: '0' });
  let shown = '';
  fill(box, h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, list), detail));

  async function load() {
    const res = await call('SessionService/List', { space, page_size: 200 });
    fill(list, res.sessions.length ? res.sessions.map((s) => h('button', { class: 'card', onclick: () => open(s.id).catch(fail) },
      h('strong', {}, s.id), h('div', { class: 'dim' }, `${t(s.state)} · ${stamp(s.last_at)} · ${s.message_count} ${t('messages')}${s.host ? ` · ${s.host}` : ''}`), s.summary && h('div', { class: 'dim clip' }, s.summary)))
      : h('p', { class: 'empty' }, t('noSessions')));
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
  let loaded = '', shown = '';
  const text = h('textarea', { rows: 14, 'aria-label': t('summary') });
  const path = `/api/memory/rolling-summary?${query({ space })}`;
  const note = h('p', { class: 'dim', role: 'status' });

  async function load() {
    const now = (await api('GET', path)).summary;
    if (text.value === shown) { // what somebody types stays
      text.value = now;
      shown = text.value; // with the ends of lines that a text area has
    } else if (now !== loaded) {
      note.textContent = t('stalePatch');
    }
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
    shown = text.value;
  }

  fill(box, h('div', { class: 'page', tabindex: '0' }, h('h2', {}, t('summary')), text, note, h('div', { class: 'bar' }, h('button', { class: 'primary', onclick: () => save().catch(fail) }, t('save')),
    h('button', { onclick: () => { text.value = shown = loaded; note.textContent = ''; load().catch(fail); } }, t('reload')))));
  load().catch(fail);
  return { dirty: () => text.value !== shown, changed: (e) => { if (!e || e.summary) load().catch(fail); } };
}

// edits shows what waits for a person: proposals that were not carried out, and edits of files that were not taken over.
export function edits(box, { space, show, fail }) {
  const proposals = h('div', { class: 'cards' }), list = h('div', { class: 'cards' });
  fill(box, h('div', { class: 'page', tabindex: '0' }, h('h2', {}, t('proposals')), h('p', { class: 'dim' }, t('proposalsHint')), proposals, h('h2', {}, t('fileEdits')), h('p', { class: 'dim' }, t('decideHint')), list));
  const button = (word, f, cls) => h('button', { class: cls, onclick: () => f().then(load).catch(fail) }, t(word));
  const none = () => h('p', { class: 'empty' }, t('noneWaits'));

  function proposal(p) {
    const resolve = (accept) => () => call('ReviewService/Resolve', { space, id: p.id, accept });
    const after = p.proposed && { ...p.proposed, content: p.proposed.content || p.before };
    return h('div', { class: 'card' },
      h('div', {}, h('strong', {}, t(p.reason)), ` · ${p.proposed_by} · ${stamp(p.proposed_at)} · `, h('button', { class: 'link', onclick: () => show('memories', p.target_id) }, p.target_id)),
      p.action === 'delete' ? h('div', { class: 'diff' }, h('del', {}, p.before)) : h('div', { class: 'diff' }, differenceOf(p.before, after?.content ?? '')),
      p.stale && h('p', { class: 'bad' }, t('proposalStale')),
      h('div', { class: 'bar' }, !p.stale && button('accept', resolve(true), 'primary'), button('discard', resolve(false))));
  }

  function edit({ edit: e, changes }) {
    const decide = (accept) => () => call('AdminService/ResolveEdit', { id: e.id, accept });
    return h('div', { class: 'card' },
      h('div', {}, h('strong', {}, e.file), ` · ${t(e.kind)} · ${stamp(e.noticed_at)}`), h('div', { class: 'pre dim' }, e.details.join('\n')), changesOf({ changes }),
      h('div', { class: 'bar' }, e.kind !== 'refused' && button('accept', decide(true), 'primary'), button('discard', decide(false)), h('span', { class: 'dim' }, e.copy)));
  }

  async function load() {
    const [waiting, found] = await Promise.all([call('ReviewService/List', { space }), call('AdminService/ListEdits')]);
    const full = (await Promise.all(found.edits.map((e) => call('AdminService/GetEdit', { id: e.id }).catch((error) => {
      if (error.status !== 404) throw error; // else it was decided meanwhile
    })))).filter(Boolean);
    fill(proposals, waiting.items.length ? waiting.items.map(proposal) : none());
    fill(list, full.length ? full.map(edit) : none());
  }

  load().catch(fail);
  return { changed: () => load().catch(fail) };
}
