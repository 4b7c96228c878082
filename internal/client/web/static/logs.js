// Daily logs: a calendar of the days, and the log of the selected day.
import { call, getAll } from './api.js';
import { h, fill, later } from './dom.js';
import { dateField } from './date.js';
import { t, word, stamp, language, entriesOf } from './texts.js';

const utc = (date) => new Date(`${date}T00:00:00Z`);
const iso = (d) => d.toISOString().slice(0, 10);
const plus = (date, days) => iso(new Date(utc(date).getTime() + days * 86400000));
const monthOf = (date) => date.slice(0, 7);
const pageSize = 200; // entries

// months adds n months to a date; a day that the month does not have becomes its last.
function months(date, n) {
  const d = utc(date),
    day = d.getUTCDate();
  d.setUTCDate(1);
  d.setUTCMonth(d.getUTCMonth() + n);
  const last = new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 0)).getUTCDate();
  d.setUTCDate(Math.min(day, last));
  return iso(d);
}

const monday = (date) => plus(date, -((utc(date).getUTCDay() + 6) % 7));
const say = (date, options) => utc(date).toLocaleDateString(language(), { timeZone: 'UTC', ...options });
const level = (n) => (n === 0 ? 0 : n < 5 ? 1 : n < 15 ? 2 : n < 40 ? 3 : 4);

export function logs(box, { space, show, fail }, wanted) {
  const today = new Date().toLocaleDateString('sv');
  let at = wanted ?? today,
    chosen = '',
    byDate = new Map(),
    counts = new Map(),
    drawn = '';

  const heading = h('h2', { id: 'month', 'aria-live': 'polite' });
  const grid = h('table', { role: 'grid', class: 'calendar', 'aria-labelledby': 'month', onkeydown: key });
  const year = h('div', { class: 'year', role: 'group', 'aria-label': t('months') });
  const jump = dateField({
    label: 'jump',
    onchange: () => {
      if (jump.value) go(jump.value, { open: true });
    },
  });
  const day = h('div', { class: 'detail', tabindex: '0', role: 'region', 'aria-label': t('day') });
  const step = (label, sign, n) =>
    h('button', { class: 'icon', 'aria-label': t(label), title: t(label), onclick: () => go(months(at, n), {}) }, sign);
  fill(
    box,
    h(
      'div',
      { class: 'split log-split' },
      h(
        'div',
        { class: 'scroll month', tabindex: '-1' },
        h(
          'div',
          { class: 'month-head' },
          step('yearBefore', '«', -12),
          step('monthBefore', '‹', -1),
          heading,
          step('monthAfter', '›', 1),
          step('yearAfter', '»', 12),
        ),
        grid,
        h(
          'div',
          { class: 'legend' },
          h('span', {}, t('fewer')),
          [0, 1, 2, 3, 4].map((n) => h('span', { class: `swatch l${n}`, 'aria-hidden': 'true' })),
          h('span', {}, t('moreEntries')),
          h('span', { class: 'mark-archived' }, t('archived')),
          h('span', { class: 'mark-deleted' }, t('deleted')),
        ),
        year,
        h(
          'div',
          { class: 'bar' },
          h('button', { onclick: () => go(today, { open: true, focus: true }) }, t('goToday')),
          h('span', { class: 'inline' }, t('jump'), jump),
        ),
      ),
      day,
    ),
  );

  // loadMonth loads the days of the grid, without entries, and returns whether the month is still the one shown.
  async function loadMonth() {
    const asked = monthOf(at),
      first = monday(`${asked}-01`);
    const res = await call('LogService/List', {
      space,
      start_date: first,
      end_date: plus(first, 41),
      page_size: 100,
      include_deleted: true,
    });
    if (asked !== monthOf(at)) return false;
    byDate = new Map(res.days.map((d) => [d.date, d]));
    return true;
  }

  // loadCounts loads the number of entries of every month, for its shade.
  async function loadCounts() {
    const res = await getAll('/api/memory/usage', 'days', { space });
    counts = new Map();
    for (const d of res.days)
      if (d.log_entries) counts.set(monthOf(d.date), (counts.get(monthOf(d.date)) ?? 0) + d.log_entries);
    drawYear();
  }

  function cell(date) {
    const d = byDate.get(date),
      n = d?.entry_count ?? 0;
    const marks = [date === today && t('today'), d?.deleted_at ? t('deleted') : d?.archived && t('archived')].filter(
      Boolean,
    );
    const label = [
      say(date, { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }),
      d ? `${n} ${t('entries')}` : t('noEntries'),
      ...marks,
    ].join(', ');
    const other = monthOf(date) !== monthOf(at);
    const kind = [
      `l${d?.deleted_at || other ? 0 : level(n)}`,
      other && 'other',
      date === today && 'is-today',
      d?.deleted_at ? 'is-deleted' : d?.archived && 'is-archived',
    ]
      .filter(Boolean)
      .join(' ');
    return h(
      'td',
      {
        role: 'gridcell',
        'data-date': date,
        class: kind,
        tabindex: date === at ? '0' : '-1',
        'aria-label': label,
        'aria-selected': String(date === chosen),
        'aria-current': date === today && 'date',
        title: d?.summary,
        onclick: () => go(date, { open: true, focus: true }),
      },
      h('span', { class: 'num' }, String(utc(date).getUTCDate())),
      n > 0 && h('span', { class: 'count', 'data-count': n }),
    );
  }

  function draw() {
    heading.textContent = say(at, { year: 'numeric', month: 'long' });
    const first = monday(`${monthOf(at)}-01`);
    const weeks = [0, 1, 2, 3, 4, 5].filter((w) => w < 4 || monthOf(plus(first, w * 7)) === monthOf(at));
    fill(
      grid,
      h(
        'thead',
        {},
        h(
          'tr',
          { role: 'row' },
          [0, 1, 2, 3, 4, 5, 6].map((i) =>
            h(
              'th',
              { scope: 'col', role: 'columnheader', abbr: say(plus(first, i), { weekday: 'long' }) },
              say(plus(first, i), { weekday: 'short' }),
            ),
          ),
        ),
      ),
      h(
        'tbody',
        {},
        weeks.map((w) =>
          h(
            'tr',
            { role: 'row' },
            [0, 1, 2, 3, 4, 5, 6].map((i) => cell(plus(first, w * 7 + i))),
          ),
        ),
      ),
    );
    drawYear();
  }

  function drawYear() {
    const y = at.slice(0, 4),
      most = Math.max(1, ...[...counts].filter(([m]) => m.startsWith(y)).map(([, n]) => n));
    fill(
      year,
      Array.from({ length: 12 }, (_, i) => {
        const m = `${y}-${String(i + 1).padStart(2, '0')}`,
          n = counts.get(m) ?? 0;
        return h(
          'button',
          {
            class: `l${Math.ceil((4 * n) / most)}`,
            'aria-current': monthOf(at) === m && 'true',
            'aria-label': `${say(`${m}-01`, { year: 'numeric', month: 'short' })}, ${n} ${t('entries')}`,
            title: `${n} ${t('entries')}`,
            onclick: () => go(`${m}-01`, {}),
          },
          say(`${m}-01`, { month: 'short' }),
        );
      }),
    );
  }

  // go selects a date, and opens its log if open is true.
  async function go(date, { open: opening, focus }) {
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(utc(date).getTime())) return;
    at = date;
    if (opening) chosen = date;
    try {
      if (drawn !== monthOf(at)) {
        if (!(await loadMonth())) return; // another month was chosen meanwhile
        drawn = monthOf(at);
      }
      draw();
      if (focus) grid.querySelector('[tabindex="0"]')?.focus();
      if (opening) await open(date);
    } catch (e) {
      fail(e);
    }
  }
  const follow = later(180, () => go(at, { open: true, focus: document.activeElement?.closest?.('.calendar') }));

  function key(e) {
    const back = (utc(at).getUTCDay() + 6) % 7;
    const next = {
      ArrowLeft: () => plus(at, -1),
      ArrowRight: () => plus(at, 1),
      ArrowUp: () => plus(at, -7),
      ArrowDown: () => plus(at, 7),
      Home: () => plus(at, -back),
      End: () => plus(at, 6 - back),
      PageUp: () => months(at, e.shiftKey ? -12 : -1),
      PageDown: () => months(at, e.shiftKey ? 12 : 1),
      Enter: () => at,
      ' ': () => at,
    }[e.key]?.();
    if (!next || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    go(next, { focus: true, open: next === at });
    follow(); // opens the day on which the keys stop
  }

  function entry(e) {
    return h(
      'div',
      { class: 'card entry' },
      h(
        'div',
        { class: 'dim' },
        h('time', {}, e.time),
        h('span', { class: 'tag' }, word('type', e.type)),
        e.category && h('span', {}, t(e.category)),
        e.tool && h('code', {}, e.tool),
        e.session_id && h('span', {}, e.session_id),
      ),
      h('div', { class: 'pre' }, e.content),
      e.error && h('div', { class: 'pre bad' }, e.error),
    );
  }

  async function open(date) {
    chosen = date;
    const page = (token) => call('LogService/Get', { space, date, page_size: pageSize, page_token: token });
    const res = byDate.has(date) ? await page('') : { entries: [], archived: [], next_page_token: '' };
    if (chosen !== date) return;
    const d = res.day,
      gone = d?.deleted_at,
      kept = res.archived.at(-1);
    const marks = [date === today && t('today'), gone ? t('deleted') : d?.archived && t('archived')].filter(Boolean);
    const entries = h('div', { class: 'cards' }, res.entries.map(entry));
    let next = res.next_page_token;
    const loadMore = async () => {
      const rest = await page(next);
      entries.append(...rest.entries.map(entry));
      next = rest.next_page_token;
      more.hidden = !next;
    };
    const more = h('button', { hidden: !next, onclick: () => loadMore().catch(fail) }, t('more'));
    fill(
      day,
      h(
        'div',
        { class: 'bar' },
        h('h2', {}, say(date, { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' })),
        marks.map((m) => h('span', { class: 'tag' }, m)),
        h('span', { class: 'grow' }),
        d && !gone && h('button', { onclick: () => show('files', date) }, t('openFile')),
      ),
      gone &&
        h(
          'p',
          { class: 'notice' },
          [t('logDeleted'), kept && `${t('archived')} ${stamp(kept.archived_at)} · ${entriesOf(kept.entry_count)}`]
            .filter(Boolean)
            .join(' '),
        ),
      d?.summary &&
        h(
          'section',
          { class: 'summary-text', 'aria-label': t('daySummary') },
          h('h3', {}, t('daySummary')),
          h('p', { class: 'pre' }, d.summary),
        ),
      !d && h('p', { class: 'empty' }, t('noLog')),
      res.entries.length > 0 && h('h3', {}, entriesOf(d.entry_count)),
      entries,
      more,
    );
  }

  go(at, { open: true });
  loadCounts().catch(fail);
  return {
    where: () => [at],
    changed: (e) => {
      if (e && e.space !== space) return;
      loadMonth()
        .then((still) => {
          if (!still) return;
          drawn = monthOf(at);
          const focused = document.activeElement?.closest?.('.calendar');
          draw();
          if (focused) grid.querySelector('[tabindex="0"]')?.focus();
          return chosen && open(chosen);
        })
        .catch(fail);
      loadCounts().catch(fail);
    },
  };
}
