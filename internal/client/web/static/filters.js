// The filters and the order above the list of memories.
import { h, fill, later } from './dom.js';
import { dateField } from './date.js';
import { t, word } from './texts.js';

// How two memories are ordered, as the daemon orders a list.
const orders = {
  created: (a, b) => b.created_at.localeCompare(a.created_at),
  updated: (a, b) => b.updated_at.localeCompare(a.updated_at),
  salience: (a, b) => b.salience - a.salience,
  access: (a, b) => b.access_count - a.access_count,
};

const strengths = { '': [], fair: ['weak'], strong: ['weak', 'fair'] }; // what each choice leaves out

// memoryFilters makes the bar and the further filters below it; changed is called when one was chosen.
export function memoryFilters(changed) {
  const options = (select, list, now = select.value) =>
    fill(
      select,
      list.map(([value, text]) => h('option', { value, selected: value === now }, text)),
    );
  const select = (label, list, onchange = changed) =>
    options(h('select', { 'aria-label': t(label), onchange }), list, '');
  const category = select('category', [['', t('all')]]);
  const status = select(
    'status',
    ['active', 'superseded', 'retired'].map((s) => [s, t(s)]),
  );
  const named = Object.keys(orders).map((o) => [o, t(o)]);
  const order = select('order', named);
  const inLogs = h('input', { type: 'checkbox', onchange: changed });
  const source = select('source', [['', t('allSources')]]);
  const salience = select('leastImportance', [
    ['', t('anyImportance')],
    ['0.5', `${t('salience')} ≥ 0.5`],
    ['0.8', `${t('salience')} ≥ 0.8 ★`],
  ]);
  const strength = select('strength', [
    ['', t('anyStrength')],
    ['fair', t('fairOrStrong')],
    ['strong', t('onlyStrong')],
  ]);
  const tag = h('input', { placeholder: t('tags'), 'aria-label': t('tags'), oninput: later(250, changed) });
  const date = (label) => dateField({ label, onchange: changed });
  const from = date('createdFrom'),
    until = date('createdUntil');
  const everywhere = h('input', { type: 'checkbox', onchange: changed });
  const more = h(
    'div',
    { class: 'bar filters', hidden: true, id: 'filters' },
    tag,
    source,
    salience,
    strength,
    h('label', { class: 'inline' }, everywhere, t('allSpaces')),
    h('span', { class: 'inline from' }, `${t('createdFrom')} `, from),
    h('span', { class: 'inline until' }, `${t('createdUntil')} `, until),
    h('button', { onclick: clear }, t('clearFilters')),
  );
  const button = h(
    'button',
    {
      'aria-expanded': 'false',
      'aria-controls': 'filters',
      onclick: () => {
        more.hidden = !more.hidden;
        button.setAttribute('aria-expanded', String(!more.hidden));
        more.parentElement.classList.toggle('filtering', !more.hidden); // on a phone, all of them are shown then
      },
    },
    t('filters'),
  );

  function clear() {
    for (const el of [category, source, salience, strength, tag, from, until]) el.value = '';
    status.value = 'active';
    everywhere.checked = false;
    changed();
  }

  const tags = () =>
    tag.value
      .split(/[,，]/)
      .map((s) => s.trim().replace(/^#/, ''))
      .filter(Boolean);
  // start is the beginning of a day here, days after the date.
  const start = (value, days) => {
    if (!value) return undefined;
    const [y, m, d] = value.split('-').map(Number);
    return new Date(y, m - 1, d + days).toISOString();
  };
  const dates = () => ({ created_from: start(from.value, 0), created_before: start(until.value, 1) });
  const phone = matchMedia('(max-width: 800px)'); // where the bar's own choices are behind the button, too
  const inUse = () =>
    [source, salience, strength, tag, from, until, ...(phone.matches ? [category] : [])].filter((el) => el.value)
      .length +
    (everywhere.checked ? 1 : 0) +
    (phone.matches && status.value !== 'active' ? 1 : 0);

  let searching = false,
    listed = 'created'; // the order that was chosen when nothing was searched for

  return {
    bar: [
      h('label', { class: 'inline narrow' }, inLogs, t('inLogs')),
      ...[category, status, order].map((el) => {
        el.classList.add('narrow');
        return el;
      }),
      button,
    ],
    more,
    everywhere: () => everywhere.checked,
    any: () => Boolean(category.value || status.value !== 'active' || inUse()),

    // searching puts "Best match" among the orders, and chooses it, while something is searched for.
    searching(now) {
      button.textContent = inUse() ? `${t('filters')} (${inUse()})` : t('filters');
      strength.hidden = !now;
      if (now === searching) return;
      searching = now;
      if (now) {
        listed = order.value;
        options(order, [['match', t('match')], ...named], 'match');
      } else options(order, named, listed);
    },

    // offer fills in the categories and sources that there are.
    offer(stats, names) {
      options(category, [['', t('all')], ...names.map((c) => [c, `${t(c)} (${stats.by_category[c] ?? 0})`])]);
      options(source, [
        ['', t('allSources')],
        ...Object.keys(stats.by_source)
          .sort()
          .map((s) => [s, word('source', s)]),
      ]);
    },

    // params are the filters of a list.
    params: () => [
      ['category', category.value],
      ['status', status.value],
      ['order', order.value],
      ['source', source.value],
      ['min_salience', salience.value],
      ...Object.entries(dates()),
      ...tags().map((x) => ['tag', x]),
    ],

    // body is the same for a search.
    body: () => ({
      category: category.value,
      include_logs: inLogs.checked,
      tags: tags(),
      sources: source.value ? [source.value] : [],
      min_salience: Number(salience.value),
      ...dates(),
    }),

    // sorted leaves out hits that are too weak, and orders the rest. What was not graded stays.
    sorted(hits) {
      const rest = hits.filter((r) => !strengths[strength.value].includes(r.strength));
      if (order.value === 'match') return rest;
      const by = orders[order.value];
      return [...rest.filter((r) => r.memory).sort((a, b) => by(a.memory, b.memory)), ...rest.filter((r) => r.log)];
    },
  };
}
