// State: Doctor, figures, spaces, how long calls take.
import { api, call, query } from './api.js';
import { h, fill } from './dom.js';
import { t, stamp } from './words.js';

const ns = 'http://www.w3.org/2000/svg';
const svg = (name, attrs, ...children) => {
  const el = document.createElementNS(ns, name);
  for (const [k, v] of Object.entries(attrs)) el.setAttribute(k, v);
  el.append(...children);
  return el;
};

// bars is a plot of columns, which a table beside it says in words.
function bars(label, rows) {
  const most = Math.max(1, ...rows.map(([, n]) => n)), width = 100 / Math.max(1, rows.length);
  return svg('svg', { viewBox: '0 0 100 30', preserveAspectRatio: 'none', class: 'plot', role: 'img', 'aria-label': `${label}: ${rows.map(([k, n]) => `${k} ${n}`).join(', ')}` },
    ...rows.map(([k, n], i) => {
      const height = (n / most) * 29;
      const bar = svg('rect', { x: i * width + width * 0.1, y: 30 - height, width: width * 0.8, height });
      bar.append(svg('title', {}, `${k}: ${n}`));
      return bar;
    }));
}

const table = (head, rows) => h('table', {}, h('thead', {}, h('tr', {}, head.map((x) => h('th', { scope: 'col' }, x)))), h('tbody', {}, rows.map((r) => h('tr', {}, r.map((x, i) => h('td', { class: i ? 'number' : '' }, String(x)))))));
const ms = (s) => `${(s * 1000).toFixed(1)} ms`;

export function state(box, { space, fail }) {
  const page = h('div', { class: 'page', tabindex: '0' });
  fill(box, page);

  async function load() {
    const [doctor, stats, info] = await Promise.all([call('AdminService/Doctor'), call('MemoryService/Stats'), call('AdminService/Info')]);
    const growth = h('div', {});
    fill(page,
      h('h2', {}, t('doctor')), h('ul', { class: 'plain' }, doctor.findings.map((f) => h('li', { class: f.level }, h('span', { 'aria-label': f.level, role: 'img' }, { ok: '✓', warn: '!', fail: '✗' }[f.level]), ` ${f.name}: ${f.detail}`, f.remedy && h('div', { class: 'dim' }, f.remedy)))),
      h('h2', {}, t('figures')), h('dl', {}, [[t('total'), stats.total], [t('average'), stats.average_salience.toFixed(2)], [t('accesses'), stats.accesses], [t('sessions'), stats.sessions], [t('logs'), stats.days]].map(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))])),
      h('h3', {}, t('byCategory')), bars(t('byCategory'), Object.entries(stats.by_category)), table([t('category'), t('count')], Object.entries(stats.by_category).map(([k, v]) => [t(k), v])),
      h('h3', {}, t('growth')), growth,
      h('h3', {}, t('bySource')), table([t('source'), t('count')], Object.entries(stats.by_source)),
      h('h3', {}, t('spaces')), table([t('space'), t('active'), t('total')], stats.spaces.map((s) => [s.name, s.active, s.total])),
      h('h3', {}, t('latency')), table([t('method'), t('count'), 'p50', 'p99'], stats.latencies.map((l) => [l.method.replace('/memsidecar.v1.', ''), l.count, ms(l.p50), ms(l.p99)])),
      h('h2', {}, t('daemon')), h('dl', {}, [[t('version'), info.version], ['PID', info.pid], [t('data'), info.data_dir], [t('started'), stamp(info.started_at)]].map(([k, v]) => [h('dt', {}, k), h('dd', {}, String(v))])));
    await grow(growth);
  }

  // grow counts the newest thousand memories by week.
  async function grow(into) {
    const page = await api('GET', `/api/memory/entries?${query({ space, page_size: 1000 })}`);
    const weeks = new Map();
    for (let i = 11; i >= 0; i--) weeks.set(new Date(Date.now() - i * 604800000).toISOString().slice(0, 10), 0);
    const names = [...weeks.keys()];
    for (const m of page.memories) {
      const back = Math.floor((Date.now() - new Date(m.created_at)) / 604800000);
      if (back >= 0 && back < 12) weeks.set(names[11 - back], weeks.get(names[11 - back]) + 1);
    }
    fill(into, bars(t('growth'), [...weeks]));
  }

  load().catch(fail);
  return {};
}
