// Graph: entities, what is known of each, and how they are related, as lists with a drawing of the neighbourhood.
import { api, query } from './api.js';
import { h, fill, later } from './dom.js';
import { t, countOf } from './texts.js';

const mostDrawn = 12; // neighbours in the drawing; the list has all
const svg = (name, attrs, ...children) => {
  const el = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attrs)) el.setAttribute(k, v);
  el.append(...children);
  return el;
};
const cut = (s, n) => (s.length > n ? `${s.slice(0, n - 1)}…` : s);

// graph is the view.
export function graph(box, { space, fail }, wanted = '') {
  let entities = [],
    relations = [],
    chosen = wanted;
  const search = h('input', {
    type: 'search',
    'aria-label': t('searchEntities'),
    placeholder: t('searchEntities'),
    oninput: later(200, () => load().catch(fail)),
  });
  const counted = h('span', { class: 'dim', 'aria-live': 'polite' });
  const list = h('div', { class: 'cards' }),
    detail = h('div', { class: 'detail', tabindex: '0' });
  fill(
    box,
    h('div', { class: 'bar' }, search, counted),
    h('div', { class: 'split' }, h('div', { class: 'scroll', tabindex: '0' }, list), detail),
  );

  async function load() {
    const got = await api('GET', `/api/memory/graph?${query({ space, contains: search.value.trim() })}`);
    if (!box.isConnected) return;
    ({ entities, relations } = got);
    const degree = new Map();
    for (const r of relations)
      for (const name of new Set([r.from_entity, r.to_entity])) degree.set(name, (degree.get(name) ?? 0) + 1);
    entities.sort((a, b) => (degree.get(b.name) ?? 0) - (degree.get(a.name) ?? 0) || a.name.localeCompare(b.name));
    counted.textContent = [
      countOf(entities.length, 'entity'),
      countOf(relations.length, 'relation'),
      got.omitted && `+${got.omitted}`,
    ]
      .filter(Boolean)
      .join(' · ');
    fill(
      list,
      entities.length
        ? entities.map((e) =>
            h(
              'button',
              { class: 'card', 'data-entity': e.name, onclick: () => show(e.name) },
              h('strong', {}, e.name),
              h(
                'div',
                { class: 'dim' },
                [
                  e.entity_type,
                  countOf(degree.get(e.name) ?? 0, 'relation'),
                  countOf(e.observations.length, 'observation'),
                ]
                  .filter(Boolean)
                  .join(' · '),
              ),
            ),
          )
        : h('p', { class: 'empty' }, t(search.value ? 'noMatch' : 'noGraph')),
    );
    show(entities.some((e) => e.name === chosen) ? chosen : (entities[0]?.name ?? ''), false);
  }

  // show shows an entity beside the list.
  function show(name, focus = true) {
    chosen = name;
    for (const el of list.querySelectorAll('button'))
      el.setAttribute('aria-current', el.dataset.entity === name ? 'true' : 'false');
    const entity = entities.find((e) => e.name === name);
    const mine = relations.filter((r) => r.from_entity === name || r.to_entity === name);
    if (!entity && !mine.length) return void fill(detail);
    const link = (to) => (to === name ? to : h('button', { class: 'link', onclick: () => show(to) }, to));
    const heading = h('h2', { tabindex: '-1' }, name);
    fill(
      detail,
      heading,
      entity?.entity_type && h('p', { class: 'dim' }, entity.entity_type),
      mine.length > 0 && drawing(name, mine),
      entity?.observations.length > 0 && [
        h('h3', {}, t('observations')),
        h(
          'ul',
          {},
          entity.observations.map((o) => h('li', {}, o)),
        ),
      ],
      mine.length > 0 && [
        h('h3', {}, t('relations')),
        h(
          'ul',
          { class: 'relations' },
          mine.map((r) =>
            h('li', {}, link(r.from_entity), h('span', { class: 'dim' }, ` ${r.relation_type} → `), link(r.to_entity)),
          ),
        ),
      ],
    );
    if (focus) heading.focus();
  }

  // drawing puts an entity in the middle and its neighbours around it.
  function drawing(name, mine) {
    const around = [...new Set(mine.flatMap((r) => [r.from_entity, r.to_entity]))].filter((n) => n !== name);
    const shown = around.slice(0, mostDrawn);
    const [w, hgt, rx, ry] = [520, 300, 190, 115];
    const at = (i) => {
      const angle = (2 * Math.PI * i) / shown.length - Math.PI / 2;
      return [w / 2 + rx * Math.cos(angle), hgt / 2 + ry * Math.sin(angle)];
    };
    const node = ([x, y], text, kind) =>
      svg(
        'g',
        { class: `node ${kind}` },
        svg('circle', { cx: x, cy: y, r: kind === 'middle' ? 9 : 6 }),
        svg('text', { x, y: y - 12, 'text-anchor': 'middle' }, cut(text, 22)),
      );
    const edges = shown.map((n, i) => {
      const [x, y] = at(i);
      const words = mine.filter((r) => r.from_entity === n || r.to_entity === n).map((r) => r.relation_type);
      return svg(
        'g',
        { class: 'edge' },
        svg('line', { x1: w / 2, y1: hgt / 2, x2: x, y2: y }),
        svg(
          'text',
          { x: (w / 2 + x * 1.4) / 2.4, y: (hgt / 2 + y * 1.4) / 2.4, 'text-anchor': 'middle' },
          cut([...new Set(words)].join(', '), 20),
        ),
      );
    });
    return svg(
      'svg',
      {
        class: 'neighbours',
        viewBox: `0 0 ${w} ${hgt}`,
        role: 'img',
        'aria-label': `${name}: ${countOf(around.length, 'neighbour')}`,
      },
      ...edges,
      node([w / 2, hgt / 2], name, 'middle'),
      ...shown.map((n, i) => node(at(i), n, '')),
    );
  }

  load().catch(fail);
  return { where: () => [chosen], changed: () => load().catch(fail) };
}
