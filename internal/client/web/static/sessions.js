// Sessions: their messages and what was learned from them.
import { call } from './api.js';
import { h, fill } from './dom.js';
import { t, word, stamp } from './texts.js';
import { changesOf, getOperation } from './changes.js';

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

// sessions is the view of the sessions and of the one that is selected.
export function sessions(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' }),
    detail = h('div', { class: 'detail', tabindex: '0' });
  let shown = '';
  fill(box, h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, list), detail));

  async function load() {
    const res = await call('SessionService/List', { space, page_size: 200 });
    fill(
      list,
      res.sessions.length
        ? res.sessions.map((s) =>
            h(
              'button',
              { class: 'card', onclick: () => open(s.id).catch(fail) },
              h('strong', {}, s.id),
              h(
                'div',
                { class: 'dim' },
                [t(s.state), stamp(s.last_at), `${s.message_count} ${t('messages')}`, s.host]
                  .filter(Boolean)
                  .join(' · '),
              ),
              s.summary && h('div', { class: 'dim clip' }, s.summary),
            ),
          )
        : h('p', { class: 'empty' }, t('noSessions')),
    );
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
    fill(
      detail,
      h('h2', {}, s.id),
      h('p', { class: 'dim' }, [t(s.state), s.host, s.cwd, s.end_reason].filter(Boolean).join(' · ')),
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
        fill(learned, h('p', { class: 'dim' }, e.message)); // the history may not reach back that far
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
