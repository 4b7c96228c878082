// The last calls of each host: what it asked for, what its sessions were told, and what was recorded of them.
import { h } from './dom.js';
import { t, word, stamp, countOf } from './texts.js';

const most = 20; // newest calls of a host that are shown

// callsByHost are the calls by the host's name in small letters, newest first, from what the daemon keeps: the sessions of the space, the recalls since
// its start, and what sessions got at their start.
export function callsByHost(sessions, recalls, starts) {
  const hostOf = new Map(sessions.map((s) => [s.id, s.host]));
  const all = [
    ...recalls.map((r) => ({
      at: r.at,
      session: r.session_id,
      what: r.explicit ? t('askedItself') : word('event', 'prompt'),
      text: r.query,
      result: countOf(r.memories.length, 'given'),
    })),
    ...starts.map(({ session, context }) => ({
      at: session.started_at,
      session: session.id,
      what: t('atStart'),
      result: context ? t('contextGiven') : t('toldNothing'),
    })),
    ...sessions
      .filter((s) => s.message_count)
      .map((s) => ({ at: s.last_at, session: s.id, what: t('recorded'), result: countOf(s.message_count, 'message') })),
  ].map((c) => ({ ...c, host: hostOf.get(c.session) }));
  return Map.groupBy(
    all.filter((c) => c.host).sort((a, b) => Date.parse(b.at) - Date.parse(a.at)),
    (c) => c.host.toLowerCase(),
  );
}

// callsBox is a fold with the calls of one host.
export const callsBox = (calls) =>
  h(
    'details',
    { class: 'calls' },
    h('summary', {}, `${t('lastCalls')} (${calls.length})`),
    h(
      'ol',
      {},
      calls
        .slice(0, most)
        .map((c) =>
          h(
            'li',
            {},
            h('span', { class: 'dim' }, `${stamp(c.at)} · ${c.what} · ${c.session} · `),
            c.text && h('q', { class: 'query' }, c.text),
            c.text && ' · ',
            c.result,
          ),
        ),
    ),
  );
