// Hosts: the programs that run agents, whether they are connected, when they last called, and what they were told.
import { api, call, callAll, query } from './api.js';
import { callsBox, callsByHost } from './calls.js';
import { h, fill, reading, say } from './dom.js';
import { t, word, stamp, countOf } from './texts.js';

const recalls = 50; // newest ones that are shown

// outcomes are those of a hook that have words; any other outcome is the text of an error.
const outcomes = { ok: 'ok', 'no daemon was running': 'noDaemon', 'timed out': 'timeout', paused: 'paused' };

// resultOf says in words how the last call of a part ended, or what is wrong with its registration. What a program
// said itself follows as it said it.
function resultOf(p) {
  const said = (text) => h('code', { class: 'said', lang: 'en' }, text);
  if (p.problem) return [t('badRegistration'), said(p.problem)];
  if (!p.outcome) return [];
  return outcomes[p.outcome] ? [word('call', outcomes[p.outcome])] : [t('call_failed'), said(p.outcome)];
}

// hosts is the view.
export function hosts(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' }, h('p', { class: 'dim' }, t('lookingAtHosts'))),
    others = h('div', { class: 'cards' }),
    told = h('div', { class: 'cards' });
  let paused = [], // names of paused hosts
    calls = new Map(); // by host, newest first
  fill(
    box,
    h(
      'div',
      { class: 'page', tabindex: '0' },
      h(
        'div',
        { class: 'bar' },
        h('h2', {}, t('hosts')),
        h('span', { class: 'grow' }),
        h('button', { onclick: () => load().catch(fail) }, t('lookAgain')),
      ),
      list,
      others,
      h('h2', {}, t('toldLately')),
      h('p', { class: 'dim' }, t('toldLatelyHint')),
      told,
    ),
  );

  // stateOf is one word for a host: paused, problem, untrusted, connected, never, absent or apart.
  function stateOf(host) {
    if (isPaused(host.name)) return 'paused';
    if (host.parts.some((p) => p.problem)) return 'problem';
    if (!host.parts.length) return host.present ? 'apart' : 'absent';
    if (host.parts.some((p) => p.trust && p.trust !== 'trusted')) return 'untrusted';
    return host.parts.some((p) => p.last_called) ? 'connected' : 'never';
  }

  const isPaused = (name) => paused.some((p) => p.toLowerCase() === name.toLowerCase());

  // pauseButton pauses a host, or resumes it.
  function pauseButton(name, title) {
    const now = isPaused(name);
    const press = async () => {
      await call(now ? 'AdminService/Resume' : 'AdminService/Pause', { host: name });
      say(t(now ? 'hostResumedNow' : 'hostPausedNow').replace('{}', title));
      await load();
      document.querySelector(`[data-host="${CSS.escape(name)}"] button`)?.focus(); // where the focus was
    };
    const text = t(now ? 'resumeHost' : 'pauseHost');
    return h('button', { 'aria-label': `${text}: ${title}`, onclick: () => press().catch(fail) }, text);
  }

  const callsOf = (name) => calls.get(name.toLowerCase()) ?? [];

  // otherCard is a program that is none of the hosts that are known: it called, or is paused.
  const otherCard = (name) =>
    h(
      'article',
      { class: `card host ${isPaused(name) ? 'paused' : ''}`, 'data-host': name, 'aria-label': name },
      h(
        'div',
        { class: 'bar' },
        h('h3', {}, name),
        isPaused(name) && h('span', { class: 'tag' }, t('host_paused')),
        h('span', { class: 'grow' }),
        pauseButton(name, name),
      ),
      callsOf(name).length > 0 && callsBox(callsOf(name)),
    );

  function hostCard(host) {
    const state = stateOf(host);
    return h(
      'article',
      { class: `card host ${state}`, 'data-host': host.name, 'aria-label': host.title },
      h(
        'div',
        { class: 'bar' },
        h('h3', {}, host.title),
        h('span', { class: 'tag' }, word('host', state)),
        h('span', { class: 'grow' }),
        pauseButton(host.name, host.title),
      ),
      state === 'paused' && h('p', { class: 'notice' }, t('hostIsPaused')),
      h(
        'p',
        { class: 'dim' },
        [host.told_at_start && t('toldAtStart'), t(host.told_with_prompt ? 'toldWithPrompt' : 'notWithPrompt')]
          .filter(Boolean)
          .join(' '),
      ),
      ['problem', 'apart', 'absent'].includes(state) && h('p', {}, `${t('connectIt')} `, h('code', {}, host.command)),
      state === 'untrusted' && h('p', { class: 'notice' }, t('trustIt')),
      host.parts.length > 0 && table(host.parts),
      callsOf(host.name).length > 0 && callsBox(callsOf(host.name)),
    );
  }

  const partName = (p) => word('event', p.part.replaceAll('-', '_'));
  const table = (parts) =>
    h(
      'div',
      { class: 'table-box', tabindex: '0', role: 'group', 'aria-label': t('registered') },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['registered', 'lastCall', 'outcome', 'where'].map((k) => h('th', { scope: 'col' }, t(k))),
          ),
        ),
        h(
          'tbody',
          {},
          parts.map((p) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, partName(p)),
              h(
                'td',
                {},
                p.last_called ? stamp(p.last_called) : ['mcp', 'instructions'].includes(p.part) ? '' : t('never'),
              ),
              h(
                'td',
                { class: p.problem || (p.outcome && !['ok', 'paused'].includes(p.outcome)) ? 'bad' : '' },
                [
                  ...resultOf(p),
                  p.trust && word('trust', p.trust),
                  p.times > 1 && `×${p.times}`,
                  p.gave_up > 0 && countOf(p.gave_up, 'timeout'),
                ]
                  .filter(Boolean)
                  .flatMap((x, i) => (i ? [', ', x] : [x])),
              ),
              h('td', { class: 'dim' }, p.path || t('byPlugin')),
            ),
          ),
        ),
      ),
    );

  // loadTold shows what agents were told. What nobody asked for is not shown over a card in which somebody reads.
  async function loadTold(unasked = false) {
    const [{ recalls: traces }, sessions, { starts }] = await Promise.all([
      call('SearchService/ListRecalls', { page_size: recalls }),
      callAll('SessionService/List', 'sessions', { space, page_size: 1000 }),
      api('GET', `/api/memory/session-starts?${query({ space })}`),
    ]);
    const hostOf = new Map(sessions.sessions.map((s) => [s.id, s.host]));
    calls = callsByHost(sessions.sessions, traces, starts);
    const texts = new Map();
    const bySpace = Map.groupBy(
      traces.flatMap((r) => r.memories),
      (m) => m.space,
    );
    for (const [of, memories] of bySpace) {
      const ids = [...new Set(memories.map((m) => m.id))];
      // Of purged memories there is nothing left to show.
      const found = await callAll('MemoryService/Get', 'memories', { space: of, ids }).catch(() => ({ memories: [] }));
      for (const m of found.memories) texts.set(`${of} ${m.id}`, m);
    }
    const line = (m) => {
      const memory = texts.get(`${m.space} ${m.id}`);
      return h(
        'li',
        {},
        h(
          'button',
          { class: 'link', onclick: () => show('memories', m.id, m.space) },
          memory?.title || memory?.content || m.id,
        ),
      );
    };
    const recallCard = (r) =>
      h(
        'article',
        { class: 'card told' },
        h('strong', { class: 'clip' }, r.query),
        h(
          'div',
          { class: 'dim' },
          [stamp(r.at), hostOf.get(r.session_id), r.explicit && t('askedItself'), r.session_id]
            .filter(Boolean)
            .join(' · '),
        ),
        h('ul', {}, r.memories.map(line)),
      );
    const cards = [
      ...traces.map((r) => [r.at, recallCard(r)]),
      ...starts.map((s) => [s.session.started_at, startCard(s)]),
    ].sort(([a], [b]) => Date.parse(b) - Date.parse(a));
    if (unasked && reading(told)) return;
    fill(told, cards.length ? cards.map(([, el]) => el) : h('p', { class: 'empty' }, t('nothingTold')));
  }

  const startCard = ({ session, context, request }) =>
    h(
      'article',
      { class: 'card told start' },
      h('strong', { class: 'clip' }, request || session.summary.split('\n', 1)[0] || t('noRequest')),
      h(
        'div',
        { class: 'dim' },
        [t('atStart'), stamp(session.started_at), session.host, session.id].filter(Boolean).join(' · '),
      ),
      h('details', {}, h('summary', {}, t('asGiven')), h('pre', { class: 'pre', tabindex: '0' }, context)),
    );

  async function load() {
    const [{ hosts: found }, info] = await Promise.all([
      api('GET', '/api/hosts'),
      call('AdminService/Info'),
      loadTold(),
    ]);
    paused = info.paused_hosts;
    const known = found.map((host) => host.name.toLowerCase());
    const names = new Map([...[...calls.values()].map(([c]) => c.host), ...paused].map((n) => [n.toLowerCase(), n]));
    const rest = [...names].filter(([lower]) => !known.includes(lower)).map(([, name]) => name);
    fill(others, rest.length > 0 && h('h2', {}, t('otherPrograms')), rest.map(otherCard));
    const order = ['paused', 'problem', 'untrusted', 'never', 'connected', 'apart', 'absent'];
    const rank = (host) => order.indexOf(stateOf(host));
    fill(list, found.toSorted((a, b) => rank(a) - rank(b)).map(hostCard));
  }

  load().catch(fail);
  return { changed: () => loadTold(true).catch(fail) };
}
