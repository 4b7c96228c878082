// Status: doctor, statistics over time, spaces, duration of calls.
import { call, callAll, getAll } from './api.js';
import { h, fill, later } from './dom.js';
import { transferSection } from './transfer.js';
import { t, word, stamp, language } from './texts.js';
import { findingWords } from './words.findings.js';

const categories = ['preferences', 'facts', 'tasks', 'reflections', 'procedural', 'general'];
const spans = { month: 30, quarter: 90, yearSpan: 365, everything: 0 };
const number = (n) => n.toLocaleString(language());
const table = (head, rows) =>
  h(
    'div',
    { class: 'table-box' },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head.map((x, i) => (x ? h('th', { scope: 'col', class: i && 'number' }, x) : h('td'))),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((r) =>
          h(
            'tr',
            {},
            r.map((x, i) =>
              i
                ? h('td', { class: 'number' }, x instanceof Node ? x : String(x))
                : h('th', { scope: 'row' }, String(x)),
            ),
          ),
        ),
      ),
    ),
  );
const ms = (s) => `${(s * 1000).toFixed(s < 0.001 ? 2 : 1)} ms`;

// saying is what Doctor found, in the language of the panel. A text that the panel does not know stays as it is.
function saying(texts, english) {
  if (language() !== 'zh') return english;
  const put = ({ form, args }) => {
    const rest = [...args];
    return (findingWords[form] ?? form).replaceAll('{}', () => rest.shift() ?? '');
  };
  return texts.map(put).join('；');
}

// bar is a length beside a number, for the eye only.
function bar(part, kind = '') {
  const el = h('span', { class: `length ${kind}`, 'aria-hidden': 'true' });
  el.style.width = `${Math.max(1, Math.min(100, part * 100))}%`;
  return h('span', { class: 'track', 'aria-hidden': 'true' }, el);
}

// long maps a time from 10 µs to 10 s to 0 to 1, on a logarithmic scale.
const long = (s) => Math.log10(Math.max(1e-5, s) / 1e-5) / 6;

// status is the view; it loads the statistics and the plots at the same time.
export function status(box, { space, fail }, part) {
  const page = h('div', { class: 'page', tabindex: '0' });
  const doctorBox = h('div', {}),
    figuresBox = h('div', {}),
    plotsBox = h('div', { class: 'plots' }),
    restBox = h('div', {});
  const span = h(
    'select',
    {
      'aria-label': t('timeSpan'),
      onchange: () => {
        localStorage.setItem('memsidecar.span', span.value);
        drawPlots().catch(fail);
      },
    },
    Object.keys(spans).map((s) =>
      h('option', { value: s, selected: s === (localStorage.getItem('memsidecar.span') ?? 'quarter') }, t(s)),
    ),
  );
  let plots = [],
    days = null;
  fill(box, page);
  fill(
    page,
    h('div', { class: 'bar' }, h('h2', {}, t('statistics')), h('span', { class: 'grow' }), span),
    figuresBox,
    plotsBox,
    doctorBox,
    transferSection({ space, fail }),
    restBox,
  );

  async function load() {
    const [doctor, stats, info] = await Promise.all([
      call('AdminService/Doctor'),
      callAll('MemoryService/Stats', 'spaces'),
      call('AdminService/Info'),
    ]);
    const worst = doctor.findings.some((f) => f.level === 'fail')
      ? 'fail'
      : doctor.findings.some((f) => f.level === 'warn')
        ? 'warn'
        : 'ok';
    fill(
      doctorBox,
      h('h2', {}, t('doctor')),
      h('p', { class: `verdict-line ${worst}` }, t(`doctor_${worst}`)),
      h(
        'ul',
        { class: 'plain findings' },
        doctor.findings.map((f) =>
          h(
            'li',
            { class: f.level },
            h(
              'span',
              { class: 'light', 'aria-label': t(`level_${f.level}`), role: 'img' },
              { ok: '✓', warn: '!', fail: '✗' }[f.level],
            ),
            h(
              'div',
              {},
              h('strong', {}, word('finding', f.name)),
              ` ${saying(f.detail_texts, f.detail)}`,
              f.remedy && h('div', { class: 'dim' }, saying(f.remedy_texts, f.remedy)),
            ),
          ),
        ),
      ),
    );
    fill(
      figuresBox,
      h(
        'div',
        { class: 'tiles' },
        [
          [t('total'), number(stats.total)],
          [t('active'), number(stats.active)],
          [t('average'), stats.average_salience.toFixed(2)],
          [t('accesses'), number(stats.accesses)],
          [t('sessions'), number(stats.sessions)],
          [t('logs'), number(stats.days)],
        ].map(([k, v]) => h('div', { class: 'tile' }, h('div', { class: 'big' }, v), h('div', { class: 'dim' }, k))),
      ),
    );
    const most = Math.max(1, ...Object.values(stats.by_category)),
      largest = (o) => Object.entries(o).sort((a, b) => b[1] - a[1]);
    fill(
      restBox,
      h(
        'div',
        { class: 'columns' },
        h(
          'section',
          {},
          h('h3', {}, t('byCategory')),
          table(
            [t('category'), t('count'), ''],
            largest(stats.by_category).map(([k, v]) => [t(k), number(v), bar(v / most)]),
          ),
        ),
        h(
          'section',
          {},
          h('h3', {}, t('bySource')),
          table(
            [t('source'), t('count')],
            largest(stats.by_source).map(([k, v]) => [word('source', k), number(v)]),
          ),
          h('h3', {}, t('spaces')),
          table(
            [t('space'), t('active'), t('total')],
            stats.spaces.map((s) => [s.name, number(s.active), number(s.total)]),
          ),
        ),
      ),
      h('h3', {}, t('latency')),
      stats.latencies.length
        ? table(
            [t('method'), t('count'), 'p50', 'p99', ''],
            stats.latencies
              .slice()
              .sort((a, b) => b.count - a.count)
              .map((l) => [
                l.method.replace('/memsidecar.v1.', ''),
                number(l.count),
                ms(l.p50),
                ms(l.p99),
                h('span', { class: 'both' }, bar(long(l.p99), 'p99'), bar(long(l.p50), 'p50')),
              ]),
          )
        : h('p', { class: 'empty' }, t('nothing')),
      h('p', { class: 'dim' }, t('scaleHint')),
      h('h2', {}, t('daemon')),
      h(
        'dl',
        {},
        [
          [t('version'), info.version],
          ['PID', info.pid],
          [t('data'), info.data_dir],
          [t('started'), stamp(info.started_at)],
        ].map(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))]),
      ),
    );
  }

  async function loadDays() {
    days = await getAll('/api/memory/usage', 'days', { space });
    days.days.reverse(); // oldest first
    await drawPlots();
  }

  // levels is the number of active memories of a category at the end of each day: those active now, minus those added
  // later, plus those removed later.
  function levels(all, category) {
    let n = days.active[category] ?? 0;
    return all
      .toReversed()
      .map((d) => {
        const now = n;
        n += (d?.removed[category] ?? 0) - (d?.added[category] ?? 0);
        return Math.max(0, now);
      })
      .reverse();
  }

  async function drawPlots() {
    const { plot, spread, axis, hues } = await import('./plots.js');
    if (!box.isConnected || !days) return;
    for (const p of plots) p.close();
    plots = [];
    const today = new Date().toLocaleDateString('sv'),
      last = days.days.at(-1)?.date > today ? days.days.at(-1).date : today;
    if (!days.days.length) return void fill(plotsBox, h('p', { class: 'empty' }, t('noUsage')));
    const first = days.days[0].date,
      before = (n) => new Date(Date.parse(`${last}T00:00:00Z`) - (n - 1) * 86400000).toISOString().slice(0, 10);
    // The days that there are, within the period; at least a week, for a plot of one day shows nothing.
    const begun = [first, before(7)].sort()[0];
    const from = spans[span.value] ? [before(spans[span.value]), begun].sort()[1] : begun;
    const all = spread(days.days, [first, from].sort()[0], last, (d) => d),
      xs = axis(from, last),
      cut = all.length - xs.length;
    const names = [...new Set([...categories, ...days.days.flatMap((d) => Object.keys(d.added))])].filter((c) =>
      days.days.some((d) => d.added[c] || d.removed[c]),
    );
    const growth = names.map((c, i) => ({
      label: t(c),
      values: levels(all, c).slice(cut),
      colour: hues[(categories.includes(c) ? categories.indexOf(c) : i) % hues.length],
    }));
    const events = (of) => all.slice(cut).map((d) => (d ? of(d) : 0));
    const sum = (o) => Object.values(o).reduce((a, b) => a + b, 0),
      total = (list) => list.reduce((a, b) => a + b, 0);
    const at = (i) => number(total(growth.map((s) => s.values.at(i))));
    const came = [
      { label: t('addedDay'), values: events((d) => sum(d.added)), colour: '--c1' },
      { label: t('removedDay'), values: events((d) => sum(d.removed)), colour: '--c4' },
    ];
    const one = (label, list) =>
      plot({ label, xs, series: list, note: list.map((s) => `${s.label}: ${number(total(s.values))}`).join(', ') });
    plots = [
      plot({ label: t('growthPlot'), xs, series: growth, areas: true, note: `${from}: ${at(0)}, ${last}: ${at(-1)}` }),
      one(t('cameAndWent'), came),
      one(t('usedPlot'), [{ label: t('accesses'), values: events((d) => d.accesses), colour: '--c2' }]),
      one(t('donePlot'), [
        { label: t('changes'), values: events((d) => sum(d.operations)), colour: '--c5' },
        { label: t('logEntries'), values: events((d) => d.log_entries), colour: '--c3' },
      ]),
    ];
    fill(
      plotsBox,
      plots.map((p) => p.el),
      days.history_start_date && h('p', { class: 'dim' }, `${t('historySince')} ${days.history_start_date}`),
    );
  }

  if (part) box.querySelector(`#${part}`)?.scrollIntoView();
  load()
    .then(() => part && box.querySelector(`#${part}`)?.scrollIntoView())
    .catch(fail);
  loadDays().catch(fail);
  const again = later(3000, () => {
    if (box.isConnected) {
      load().catch(fail);
      loadDays().catch(fail);
    }
  });
  return {
    changed: again,
    close: () => plots.forEach((p) => p.close()),
  };
}
