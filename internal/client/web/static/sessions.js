// Sessions: their messages and what was learned from them.
import { call, explain } from './api.js';
import { h, fill } from './dom.js';
import { t, word, stamp, countOf, valueOf } from './texts.js';
import { changesOf, getOperation } from './operations.js';

const pageSize = 200; // messages

// message shows a message of a session.
const message = (m) =>
  h(
    'div',
    { class: 'card' },
    h('div', { class: 'dim' }, [m.seq, word('role', m.role), m.tool?.name, stamp(m.at)].filter(Boolean).join(' · ')),
    h('div', { class: 'pre' }, m.content),
    m.tool && h('div', { class: m.tool.failed ? 'pre bad' : 'pre dim' }, m.tool.error || m.tool.result),
  );

// requestOf is the first line of what the user asked for first; '' when there is none.
async function requestOf(space, session) {
  const page = await call('SessionService/ListMessages', { space, session_id: session.id, page_size: 20 });
  const first = page.messages.find((m) => m.role === 'user' && m.content.trim());
  return first ? first.content.trim().split('\n', 1)[0].slice(0, 300) : '';
}

// sessions is the view of the sessions and of the one that is selected.
export function sessions(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' }),
    detail = h('div', { class: 'detail', tabindex: '0' });
  let shown = '';
  const requests = new Map(); // what was asked first, by session
  // Only the sessions that can be seen are asked for their first request.
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) name(target).catch(fail);
  });

  async function name(card) {
    seen.unobserve(card);
    const session = card.session;
    if (!requests.get(session.id)) requests.set(session.id, await requestOf(space, session));
    card.querySelector('strong').textContent = titleOf(session);
  }
  const titleOf = (s) => requests.get(s.id) || s.summary.split('\n', 1)[0] || t('noRequest');
  fill(box, h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, list), detail));

  async function load() {
    const res = await call('SessionService/List', { space, page_size: 200 });
    seen.disconnect();
    fill(list, res.sessions.length ? res.sessions.map(card) : h('p', { class: 'empty' }, t('noSessions')));
    for (const el of list.querySelectorAll('button.card')) seen.observe(el);
  }

  function card(s) {
    const el = h(
      'button',
      { class: 'card', 'data-session': s.id, onclick: () => open(s.id).catch(fail) },
      h('strong', { class: 'clip' }, titleOf(s)),
      h(
        'div',
        { class: 'dim' },
        [t(s.state), stamp(s.last_at), countOf(s.message_count, 'message'), s.host].filter(Boolean).join(' · '),
      ),
      s.summary && h('div', { class: 'dim clip' }, s.summary),
    );
    el.session = s;
    return el;
  }

  async function open(id) {
    shown = id;
    const [{ session: s }, page] = await Promise.all([
      call('SessionService/Get', { space, session_id: id }),
      call('SessionService/ListMessages', { space, session_id: id, page_size: pageSize }),
    ]);
    const learned = h('div', {}),
      messages = h('div', {}, page.messages.map(message)),
      more = h('button', { hidden: !page.next_page_token, onclick: () => loadMore().catch(fail) }, t('more'));
    let next = page.next_page_token;
    const loadMore = async () => {
      const rest = { space, session_id: id, page_size: pageSize, page_token: next };
      const { messages: list, next_page_token: token } = await call('SessionService/ListMessages', rest);
      messages.append(...list.map(message));
      next = token;
      more.hidden = !next;
    };
    const first = page.messages
      .find((m) => m.role === 'user')
      ?.content.trim()
      .split('\n', 1)[0];
    fill(
      detail,
      h('h2', { class: 'clip' }, first || s.summary || t('noRequest')),
      h(
        'p',
        { class: 'dim' },
        [t(s.state), s.host, s.cwd, valueOf('end_reason', s.end_reason), s.id].filter(Boolean).join(' · '),
      ),
      s.summary && h('p', { class: 'pre content' }, s.summary),
      s.reflected_operation_id && [h('h3', {}, t('learned')), learned],
      h('h3', {}, t('messages')),
      messages,
      more,
    );
    if (s.reflected_operation_id) {
      try {
        const op = await getOperation(s.reflected_operation_id);
        fill(
          learned,
          changesOf({ changes: op.changes.filter((c) => c.memory) }, (memory) => show('memories', memory)),
        );
      } catch (e) {
        fill(learned, h('p', { class: 'dim' }, await explain(e))); // the history may not reach back that far
      }
    }
  }

  load().catch(fail);
  return {
    changed: (e) => {
      load().catch(fail);
      if (shown && (!e || e.sessions.includes(shown))) open(shown).catch(fail);
    },
  };
}
