// Changes: what happened in a space, newest first, with what each operation changed, and undo.
import { call } from './api.js';
import { h, fill, later, reading } from './dom.js';
import { t, word, stamp, reasonOf } from './texts.js';
import { changesOf, getOperation, gists, headline, kindsOf, numberOf, says, undo } from './operations.js';

const atOnce = 50; // cards that are shown before a person asks for more
const fewTexts = 3; // texts that a card shows folded

// Who made an operation, and what it changed, as a person would ask for it.
const makers = {
  client: ['client'],
  learned: ['reflect', 'consolidate'],
  session: ['session'],
  hand: ['edit', 'view'],
  daemon: ['archive', 'daemon', 'adopt', 'repair'],
  import: ['import'],
  undo: ['undo'],
};
const things = {
  memory: ['memory', 'forgotten', 'access'],
  log: ['entry', 'day', 'archive'],
  session: ['session', 'message'],
  summary: ['summary'],
};

// changes is the view that lists operations, newest first.
export function changes(box, { space, show, fail }) {
  const list = h('div', { class: 'cards' });
  const more = h('button', { hidden: true, onclick: () => load(next).catch(fail) }, t('more'));
  const counted = h('span', { class: 'dim', 'aria-live': 'polite' });
  const again = () => load('').catch(fail);
  const search = h('input', {
    type: 'search',
    placeholder: t('searchChanges'),
    'aria-label': t('searchChanges'),
    oninput: later(200, again),
  });
  const choice = (label, prefix, of) =>
    h(
      'select',
      { 'aria-label': t(label), onchange: again },
      ['', ...Object.keys(of)].map((k) => h('option', { value: k }, t(`${prefix}_${k || 'all'}`))),
    );
  const maker = choice('madeBy', 'maker', makers),
    thing = choice('whatChanged', 'thing', things);
  let next = '',
    run = 0,
    awaited = false; // somebody asked, and has no answer yet
  fill(
    box,
    h('div', { class: 'bar' }, search, maker, thing, counted),
    h('div', { class: 'scroll', tabindex: '0' }, list, more),
  );

  // load shows the next operations that are asked for. They are looked for page by page, because the daemon lists
  // operations by space only. What nobody asked for is not shown over a card in which somebody reads.
  async function load(token, unasked = false) {
    const mine = ++run;
    awaited ||= !unasked;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = words.length || maker.value || thing.value;
    const fits = (op) =>
      (!maker.value || makers[maker.value].includes(op.actor)) &&
      (!thing.value || things[thing.value].some((k) => kindsOf(op).has(k))) &&
      says(op, words);
    let cards = token ? [...list.children] : [];
    const already = cards.length;
    next = token;
    do {
      const page = await call('OperationService/List', {
        spaces: [space],
        page_size: chosen ? 200 : atOnce,
        page_token: next,
        include_changes: true,
      });
      if (mine !== run || !box.isConnected || (!awaited && reading(list))) return;
      cards = cards.concat(page.operations.filter(fits).map(card));
      next = page.next_page_token;
      if (chosen && next)
        counted.textContent = `${cards.length} · ${t('lookingBack')} ${stamp(page.operations.at(-1).at)}`;
    } while (next && cards.length - already < atOnce);
    fill(list, cards.length ? cards : h('p', { class: 'empty' }, t(chosen ? 'noMatch' : 'noChanges')));
    awaited = false;
    counted.textContent = `${cards.length}${next ? '+' : ''}`;
    more.hidden = !next;
  }

  function card(op) {
    const whole = h('div', {});
    return h(
      'article',
      { class: 'card operation', 'data-operation': op.id, 'aria-label': `${headline(op)}, ${numberOf(op.id)}` },
      h(
        'div',
        { class: 'bar' },
        h('strong', {}, headline(op)),
        h('span', { class: 'grow' }),
        h('button', { onclick: () => undo(op.id).catch(fail) }, t('undo')),
      ),
      h(
        'div',
        { class: 'dim' },
        [
          stamp(op.at),
          word('actor', op.actor),
          op.undoes_operation_id && `${t('undo')} ${numberOf(op.undoes_operation_id)}`,
          reasonOf(op.reason),
          numberOf(op.id),
        ]
          .filter(Boolean)
          .join(' · '),
      ),
      gists(op, fewTexts),
      h(
        'details',
        {
          ontoggle: async (e) => {
            if (!e.target.open || whole.childNodes.length) return;
            try {
              fill(
                whole,
                changesOf(await getOperation(op.id), (id) => show('memories', id)),
              );
            } catch (error) {
              fail(error);
            }
          },
        },
        h('summary', { class: 'dim' }, `${t('allChanges')} (${op.change_count})`),
        whole,
      ),
    );
  }

  again();
  return {
    // The list stays as it is while somebody reads in a card, or has gone back further than it began.
    changed: () => {
      if (!reading(list) && list.children.length <= atOnce) load('', true).catch(fail);
    },
  };
}
