// Plots of counts by day. Each has a table of the same numbers, for people who cannot see it or need the numbers.
import uPlot from './vendor/uplot.js';
import { h, fill } from './dom.js';
import { t, language } from './texts.js';

// The style sheet of the plots is loaded with them, before the panel's own, which changes parts of it.
document.head
  .querySelector('link[rel=stylesheet]')
  .before(h('link', { rel: 'stylesheet', href: '/static/vendor/uplot.css' }));

const day = 86400;
const seconds = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;
const dateOf = (s) => new Date(s * 1000).toISOString().slice(0, 10);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = (n) => n.toLocaleString(language());
export const hues = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6', '--c7', '--c8'];

// spread returns of(day) for each date from from to to, inclusive; a date without counts is undefined.
export function spread(days, from, to, of) {
  const by = new Map(days.map((d) => [d.date, d])),
    out = [];
  for (let s = seconds(from); s <= seconds(to); s += day) out.push(of(by.get(dateOf(s))));
  return out;
}

export const axis = (from, to) => {
  const out = [];
  for (let s = seconds(from); s <= seconds(to); s += day) out.push(s);
  return out;
};

// rows groups the numbers of a table by day, week or month, to about forty rows. A level is its last value, events
// are summed.
function rows(xs, series, level) {
  const kind = xs.length <= 40 ? 10 : xs.length <= 280 ? 'week' : 7;
  const key = (s) =>
    kind === 'week' ? dateOf(s - ((new Date(s * 1000).getUTCDay() + 6) % 7) * day) : dateOf(s).slice(0, kind);
  const out = new Map();
  xs.forEach((s, i) => {
    const row = out.get(key(s)) ?? series.map(() => 0);
    out.set(
      key(s),
      row.map((n, j) => (level ? series[j].values[i] : n + series[j].values[i])),
    );
  });
  return [...out].reverse();
}

// plot shows series over days: stacked areas for levels, bars side by side for events. It draws itself again when its
// width or the colours change.
export function plot({ label, xs, series, areas, note }) {
  const place = h('div', { class: 'plot', role: 'img', 'aria-label': `${label}. ${note}` });
  const sums = series.map((_, i) => xs.map((_, x) => series.slice(i).reduce((n, s) => n + s.values[x], 0)));
  const data = [xs, ...(areas ? sums : series.map((s) => s.values))];
  let drawn = null;

  const names = (s, long) =>
    new Date(s * 1000).toLocaleDateString(language(), {
      timeZone: 'UTC',
      ...(long
        ? { year: 'numeric', month: 'long', day: 'numeric' }
        : xs.length > 400
          ? { year: 'numeric', month: 'short' }
          : { month: 'short', day: 'numeric' }),
    });
  function options(width) {
    const ink = css('--dim'),
      grid = { stroke: css('--line'), width: 1 };
    return {
      width,
      height: 220,
      tzDate: (s) => uPlot.tzDate(new Date(s * 1000), 'UTC'),
      legend: { live: true },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(4, max * 1.08)] } },
      axes: [
        {
          stroke: ink,
          grid: { show: false },
          ticks: grid,
          values: (_, splits) => splits.map((s) => names(s)),
          space: 70,
        },
        {
          stroke: ink,
          grid,
          ticks: { show: false },
          size: 54,
          values: (_, splits) => splits.map((n) => (Number.isInteger(n) ? number(n) : '')),
        },
      ],
      series: [
        // Without a pointer over the plot, the legend has the last day.
        { label: t('day'), value: (_, s) => names(s ?? xs.at(-1), true) },
        ...series.map((s, i) => {
          const colour = css(s.colour ?? hues[i % hues.length]);
          return {
            label: s.label,
            stroke: colour,
            width: areas ? 1 : 0,
            fill: colour,
            points: { show: false },
            value: (_, __, ___, x) => number(s.values[x ?? xs.length - 1]),
            ...(areas
              ? {}
              : {
                  paths: uPlot.paths.bars({
                    size: [0.8 / series.length, 30],
                    align: series.length === 1 ? 0 : i ? 1 : -1,
                  }),
                }),
          };
        }),
      ],
    };
  }

  function draw() {
    const width = Math.floor(place.clientWidth);
    if (!place.isConnected || width < 50) return;
    drawn?.destroy();
    drawn = new uPlot(options(width), data, place);
  }

  const sizes = new ResizeObserver(() => {
    if (!place.isConnected) return;
    if (!drawn) draw();
    else if (drawn.width !== Math.floor(place.clientWidth))
      drawn.setSize({ width: Math.floor(place.clientWidth), height: 220 });
  });
  sizes.observe(place);
  const themes = new MutationObserver(draw),
    scheme = matchMedia('(prefers-color-scheme: dark)');
  themes.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  scheme.addEventListener('change', draw);
  const close = () => {
    sizes.disconnect();
    themes.disconnect();
    scheme.removeEventListener('change', draw);
    drawn?.destroy();
  };
  const table = h(
    'details',
    {
      class: 'figures',
      ontoggle: (e) => {
        if (e.target.open) fill(body, asTable(label, xs, series, areas));
      },
    },
    h('summary', {}, t('asTable')),
  );
  const body = h('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': label });
  table.append(body);
  return { el: h('figure', {}, h('figcaption', {}, label), place, table), close };
}

const asTable = (label, xs, series, level) =>
  h(
    'table',
    {},
    h('caption', { class: 'unseen' }, label),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('day')),
        series.map((s) => h('th', { scope: 'col', class: 'number' }, s.label)),
      ),
    ),
    h(
      'tbody',
      {},
      rows(xs, series, level).map(([name, values]) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, name),
          values.map((n) => h('td', { class: 'number' }, number(n))),
        ),
      ),
    ),
  );
