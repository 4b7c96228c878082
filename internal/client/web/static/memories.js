// Memories: the list, its filters and the search.
import { api, callAll, query } from './api.js';
import { h, fill, later, VirtualList } from './dom.js';
import { t, word, age, timesOf } from './texts.js';
import { categories, memoryDetail, star } from './memory.js';
import { memoryFilters } from './filters.js';
import { selection } from './selection.js';

const pageSize = 1000;

export function memories(box, { space, fail, show: go }, wanted, wantedSpace) {
  let rows = [],
    total = 0,
    found = null,
    spaces = [space],
    stop = new AbortController(),
    loading = false,
    behind = false;
  const first = Promise.withResolvers(); // the first memories are in the page; nothing else is asked for before

  const search = h('input', {
    type: 'search',
    placeholder: t(matchMedia('(max-width: 800px)').matches ? 'searchShort' : 'searchHint'),
    'aria-label': t('search'),
    oninput: (e) => {
      if (!e.isComposing) load(true);
    },
    oncompositionend: () => load(true),
    onkeydown: (e) => {
      if (e.key !== 'ArrowDown' || e.isComposing || !list.count) return;
      list.el.focus(); // from here on the arrows and Enter are the list's
      list.key(e);
    },
  }); // each key starts a search and cancels the one before
  const counted = h('span', { class: 'dim', 'aria-live': 'polite' });
  const empty = h('div', { class: 'empty', hidden: true });
  const filters = memoryFilters(() => load(true));
  const list = new VirtualList({
    height: 58,
    label: t('memories'),
    row: drawRow,
    heading: (i) => Boolean(rows[i]?.heading),
    onopen: (i) => {
      if (rows[i]?.log) go('logs', rows[i].log.date);
      else if (rows[i]?.memory) detail.show(rows[i].memory, rows[i].space).catch(fail);
    },
  });
  const chosen = selection({ list, rows: () => rows, spaces: () => spaces, reload: () => load(false), fail });
  const aside = h('aside', { class: 'detail', tabindex: '0', hidden: true, 'aria-label': t('content') });
  const detail = memoryDetail({
    detail: aside,
    home: space,
    hitOf: (id, of) => found?.find((r) => r.memory?.id === id && r.space === of),
    reload: () => load(false),
    leave: () => list.el.focus(),
    fail,
  });
  fill(
    box,
    h(
      'div',
      { class: 'bar' },
      search,
      filters.bar,
      chosen.button,
      h('button', { class: 'primary', onclick: () => detail.addNew() }, t('add')),
      counted,
    ),
    filters.more,
    chosen.bar,
    h('div', { class: 'split' }, h('div', { class: 'listbox' }, list.el, empty), aside),
  );

  const scoreOf = (r) => [
    h('span', { class: 'score' }, `${t('score')} ${r.score.toFixed(3)}`),
    r.strength !== 'unspecified' && h('span', { class: `strength ${r.strength}` }, t(r.strength)),
  ];

  function drawRow(i) {
    const r = rows[i];
    if (!r) return h('div', { class: 'dim' }, '…');
    if (r.heading) return h('div', {}, r.heading);
    if (r.log) {
      return [
        h(
          'div',
          { class: 'line' },
          h('span', { class: 'tag' }, t('logs')),
          h('span', { class: 'text' }, r.log.entry?.content || r.log.summary),
        ),
        h('div', { class: 'line dim' }, scoreOf(r), h('span', {}, r.log.date)),
      ];
    }
    const m = r.memory;
    return [
      h(
        'div',
        { class: 'line' },
        chosen.mark(r),
        m.salience >= star &&
          h(
            'span',
            { class: 'star', title: `${t('important')}: ${m.salience}`, role: 'img', 'aria-label': t('important') },
            '★',
          ),
        m.pinned && h('span', { class: 'pin', title: t('pinned'), role: 'img', 'aria-label': t('pinned') }, '⚑'),
        h('span', { class: 'tag' }, t(m.category)),
        m.title && h('strong', {}, m.title),
        h('span', { class: 'text' }, m.content),
      ),
      h(
        'div',
        { class: 'line dim' },
        r.score !== undefined && scoreOf(r),
        m.access_count > 0 && h('span', {}, `${t('accesses')} ${timesOf(m.access_count)}`),
        h('span', {}, age(m.content_at)),
        h('span', {}, word('source', m.source)),
        r.space !== space && h('span', {}, `${t('space')} ${r.space}`),
        m.tags.map((x) => h('span', {}, `#${x}`)),
      ),
    ];
  }

  async function load(fresh) {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    loading = true;
    try {
      filters.searching(Boolean(search.value.trim()));
      if (search.value.trim()) await find(signal, fresh);
      else await all(signal, fresh);
      chosen.keep();
    } catch (e) {
      if (!signal.aborted) fail(e);
    } finally {
      first.resolve();
      if (!signal.aborted) {
        loading = false;
        if (behind) reload();
      }
    }
  }

  // reload shows changes from elsewhere: now, or after the load in progress.
  function reload() {
    behind = loading;
    if (!loading && box.isConnected) load(false);
  }

  // A long list is not loaded again for each of many changes.
  const muchChanged = later(2000, reload);

  function draw(fresh, reason) {
    list.set(total, !fresh);
    first.resolve();
    counted.textContent = String(total - rows.filter((r) => r?.heading).length);
    empty.hidden = total > 0;
    if (found || filters.any() || total > 0) fill(empty, found ? `${t('noMatch')} ${reason ?? ''}` : t('nothing'));
    else if (!empty.querySelector('button')) fill(empty, t('noMemories'), begin());
  }

  // begin offers the ways to the first memory.
  function begin() {
    const way = (name, hint, f) =>
      h('button', { class: 'card', onclick: f }, h('strong', {}, t(name)), h('div', { class: 'dim' }, t(hint)));
    return h(
      'div',
      { class: 'begin' },
      way('beginConnect', 'beginConnectHint', () => go('hosts')),
      way('beginImport', 'beginImportHint', () => go('status', 'transfer')),
      way('add', 'beginAddHint', () => detail.addNew()),
    );
  }

  const searched = () => (filters.everywhere() ? spaces : [space]);

  async function find(signal, fresh) {
    const { results, reason } = await api(
      'POST',
      '/api/memory/search',
      { query: search.value, spaces: searched(), top_k: 100, explain: true, no_touch: true, ...filters.body() },
      signal,
    );
    found = filters.sorted(results);
    rows = withWeakApart(found);
    total = rows.length;
    draw(fresh, reason && word('reason', reason));
  }

  // withWeakApart puts weak hits last, below a row that says so: most of them are not relevant.
  function withWeakApart(hits) {
    const weak = hits.filter((r) => r.strength === 'weak');
    if (!weak.length) return hits;
    const better = hits.filter((r) => r.strength !== 'weak');
    return [...better, { heading: t(better.length ? 'weakBelow' : 'weakOnly') }, ...weak];
  }

  // all shows the first page at once and loads the rest page by page, one space after the other.
  async function all(signal, fresh) {
    found = null;
    const next = [];
    let top = fresh;
    for (const one of searched()) {
      if (filters.everywhere()) next.push({ heading: `${t('space')} ${one}` });
      const before = next.length;
      for (let token = ''; ;) {
        const params = { space: one, page_size: token || !fresh ? pageSize : 100, page_token: token };
        const path = `/api/memory/entries?${query([...Object.entries(params), ...filters.params()])}`;
        const page = await api('GET', path, undefined, signal);
        for (const m of page.memories) next.push({ memory: m, space: one });
        if (fresh) {
          rows = next;
          total = Math.max(before + page.total, next.length);
          draw(top);
          top = false;
        }
        token = page.next_page_token;
        if (!token) break;
      }
      if (filters.everywhere() && next.length === before) next.pop(); // nothing below its heading
    }
    rows = next;
    total = rows.length;
    draw(top);
  }

  async function count() {
    const stats = await callAll('MemoryService/Stats', 'spaces', {});
    spaces = [...new Set([space, ...stats.spaces.map((s) => s.name)])];
    const mine = stats.spaces.length > 1 ? await callAll('MemoryService/Stats', 'spaces', { spaces: [space] }) : stats;
    filters.offer(mine, [...new Set([...categories, ...Object.keys(mine.by_category)])]);
  }

  load(true);
  first.promise.then(count).catch(fail);
  if (wanted) detail.openById(wanted, wantedSpace).catch(fail);
  return {
    ready: first.promise,
    where: detail.where,
    dirty: detail.dirty,
    escape: () => {
      if (!chosen.escape()) detail.escape();
    },
    changed: () => {
      if (total <= pageSize) reload();
      else muchChanged();
      count().catch(fail);
      detail.changed();
    },
  };
}
