// Memories: the list, the search, and the actions on one memory.
import { api, call, query } from './api.js';
import { h, fill, later, say, ask, VirtualList } from './dom.js';
import { t, word, age, stamp, timesOf } from './texts.js';
import { changesOf, numberOf, undo } from './operations.js';

const categories = ['preferences', 'facts', 'tasks', 'reflections', 'procedural', 'general'];
const pageSize = 1000;
const star = 0.8; // least salience of an important memory

export function memories(box, { space, fail, show: go }, wanted) {
  let rows = [],
    total = 0,
    found = null,
    open = null,
    stop = new AbortController(),
    loading = false,
    behind = false;
  const path = (id, more = {}) => `/api/memory/entries/${encodeURIComponent(id)}?${query({ space, ...more })}`;

  const search = h('input', {
    type: 'search',
    placeholder: t('searchHint'),
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
  const category = h('select', { 'aria-label': t('category'), onchange: () => load(true) });
  const status = h(
    'select',
    { 'aria-label': t('status'), onchange: () => load(true) },
    ['active', 'superseded', 'retired'].map((s) => h('option', { value: s }, t(s))),
  );
  const order = h(
    'select',
    { 'aria-label': t('order'), onchange: () => load(true) },
    ['created', 'updated', 'salience', 'access'].map((o) => h('option', { value: o }, t(o))),
  );
  const inLogs = h('input', { type: 'checkbox', onchange: () => load(true) });
  const counted = h('span', { class: 'dim', 'aria-live': 'polite' });
  const empty = h('p', { class: 'empty', hidden: true });
  const list = new VirtualList({
    height: 58,
    label: t('memories'),
    row: drawRow,
    heading: (i) => Boolean(rows[i]?.heading),
    onopen: (i) => {
      if (rows[i]?.log) go('logs', rows[i].log.date);
      else if (rows[i]?.memory) show(rows[i].memory).catch(fail);
    },
  });
  const scoreOf = (r) => [
    h('span', { class: 'score' }, `${t('score')} ${r.score.toFixed(3)}`),
    r.strength !== 'unspecified' && h('span', { class: `strength ${r.strength}` }, t(r.strength)),
  ];
  const detail = h('aside', { class: 'detail', tabindex: '0', hidden: true, 'aria-label': t('content') });
  fill(
    box,
    h(
      'div',
      { class: 'bar' },
      search,
      h('label', { class: 'inline' }, inLogs, t('inLogs')),
      category,
      status,
      order,
      h('button', { class: 'primary', onclick: addNew }, t('add')),
      counted,
    ),
    h('div', { class: 'split' }, h('div', { class: 'listbox' }, list.el, empty), detail),
  );

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
        h(
          'div',
          { class: 'line dim' },
          scoreOf(r),
          h('span', {}, r.log.date),
        ),
      ];
    }
    const m = r.memory;
    return [
      h(
        'div',
        { class: 'line' },
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
      if (search.value.trim()) await find(signal, fresh);
      else await all(signal, fresh);
    } catch (e) {
      if (!signal.aborted) fail(e);
    } finally {
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

  function draw(fresh) {
    list.set(total, !fresh);
    counted.textContent = String(rows.some((r) => r?.heading) ? total - 1 : total);
    empty.hidden = total > 0;
    empty.textContent = found
      ? `${t('noMatch')} ${found.reason}`
      : t(category.value || status.value !== 'active' ? 'nothing' : 'noMemories');
  }

  async function find(signal, fresh) {
    found = await api(
      'POST',
      '/api/memory/search',
      {
        query: search.value,
        category: category.value,
        space,
        top_k: 100,
        explain: true,
        no_touch: true,
        include_logs: inLogs.checked,
      },
      signal,
    );
    rows = withWeakApart(found.results);
    total = rows.length;
    draw(fresh);
  }

  // withWeakApart puts weak hits last, below a row that says so: most of them are not relevant.
  function withWeakApart(hits) {
    const weak = hits.filter((r) => r.strength === 'weak');
    if (!weak.length) return hits;
    const better = hits.filter((r) => r.strength !== 'weak');
    return [...better, { heading: t(better.length ? 'weakBelow' : 'weakOnly') }, ...weak];
  }

  // all shows the first page at once and loads the rest page by page.
  async function all(signal, fresh) {
    found = null;
    const next = [];
    for (let token = ''; ;) {
      const params = {
        space,
        category: category.value,
        status: status.value,
        order: order.value,
        page_size: token || !fresh ? pageSize : 100,
        page_token: token,
      };
      const page = await api('GET', `/api/memory/entries?${query(params)}`, undefined, signal);
      for (const m of page.memories) next.push({ memory: m });
      if (fresh || !page.next_page_token) {
        const first = fresh && rows !== next;
        rows = next;
        total = Math.max(page.total, next.length);
        draw(first);
      }
      token = page.next_page_token;
      if (!token) break;
    }
    total = rows.length;
    draw(false);
  }

  async function count() {
    const stats = await call('MemoryService/Stats', { spaces: [space] });
    const names = [...new Set([...categories, ...Object.keys(stats.by_category)])];
    const now = category.value;
    fill(
      category,
      h('option', { value: '' }, t('all')),
      names.map((c) => h('option', { value: c, selected: c === now }, `${t(c)} (${stats.by_category[c] ?? 0})`)),
    );
  }

  function hide() {
    open = null;
    detail.hidden = true;
    list.el.focus();
  }

  // show opens a memory beside the list.
  async function show(m, focus = true) {
    open = { id: m.id, revision: m.revision, editing: false };
    focus ||= detail.contains(document.activeElement); // the focused element is replaced
    detail.hidden = false;
    const hit = found?.results.find((r) => r.memory?.id === m.id);
    const button = (word, f, cls) => h('button', { onclick: () => f().catch(fail), class: cls }, t(word));
    const history = h('div', {});
    const heading = h(
      'h2',
      { tabindex: '-1' },
      m.salience >= star && h('span', { class: 'star', 'aria-hidden': 'true' }, '★ '),
      m.title || t(m.category),
    );
    fill(
      detail,
      h(
        'div',
        { class: 'bar' },
        heading,
        h('span', { class: 'grow' }),
        button('close', async () => hide()),
      ),
      h('p', { class: 'pre content' }, m.content),
      h(
        'div',
        { class: 'bar' },
        button('edit', async () => change(m), 'primary'),
        button(m.pinned ? 'unpin' : 'pin', () => write('PATCH', { pinned: !m.pinned }, m)),
        m.status === 'active' ? button('forget', () => forget(m)) : button('restore', () => restore(m)),
        button('purge', () => purge(m), 'danger'),
      ),
      facts(m),
      hit && why(hit),
      h('h3', {}, t('history')),
      history,
    );
    if (focus) heading.focus();
    const res = await call('MemoryService/History', { space, id: m.id, page_size: 50 });
    if (open?.id !== m.id) return;
    fill(
      history,
      res.operations.map((op) =>
        h(
          'div',
          { class: 'card' },
          h(
            'div',
            { class: 'bar' },
            h(
              'span',
              { class: 'dim' },
              `${numberOf(op.id)} · ${stamp(op.at)} · ${word('actor', op.actor)}${op.reason ? ` · ${op.reason}` : ''}`,
            ),
            h('span', { class: 'grow' }),
            button('undo', () => undo(op)),
          ),
          changesOf(op),
        ),
      ),
    );
  }

  const facts = (m) =>
    h(
      'dl',
      {},
      [
        ['category', t(m.category)],
        ['salience', m.salience],
        ['confidence', m.confidence],
        ['accesses', `${timesOf(m.access_count)}, ${age(m.last_accessed)}`],
        ['source', word('source', m.source)],
        ['tags', m.tags.join(', ')],
        ['status', t(m.status)],
        ['createdAt', stamp(m.created_at)],
        ['updated', stamp(m.updated_at)],
        ...Object.entries(m.context ?? {}).filter(([k]) => k !== 'signature'),
        ['id', m.id],
      ]
        .filter(([, v]) => v !== '' && v !== 0 && v !== undefined)
        .map(([k, v]) => [h('dt', {}, t(k)), h('dd', {}, String(v))]),
    );

  const why = (hit) =>
    h(
      'details',
      { open: true },
      h('summary', {}, `${t('why')}: ${hit.score.toFixed(4)}`),
      h(
        'table',
        {},
        h(
          'tbody',
          {},
          hit.components.map((c) => h('tr', {}, h('td', {}, c.name), h('td', { class: 'number' }, c.value.toFixed(4)))),
        ),
      ),
    );

  // What was taken out of a text is named by kind and place; characters count from 1, as people do.
  const savedText = (outcome) =>
    [
      t('saved'),
      ...(outcome.redactions ?? []).map((r) => `${t('takenOut')}: ${r.kind}, ${r.field} ${r.start + 1}–${r.end}`),
    ].join('\n');

  async function again(id) {
    show(await api('GET', path(id)), false).catch(fail);
    load(false);
  }

  async function write(method, body, m) {
    try {
      const res = await api(method, path(m.id, { expected_revision: m.revision }), body);
      say(savedText(res), res.operation_id ? t('undo') : undefined, () => undo({ id: res.operation_id }).catch(fail));
    } catch (e) {
      if (e.reason !== 'STALE_REVISION') throw e;
      say(t('stale'));
    }
    await again(m.id);
  }

  async function forget(m) {
    const res = await api('DELETE', path(m.id, { expected_revision: m.revision }));
    say(t('forgotten'), t('undo'), () =>
      undo({ id: res.operation_id })
        .then(() => again(m.id))
        .catch(fail),
    );
    hide();
    load(false);
  }

  async function restore(m) {
    await call('MemoryService/Restore', { space, ids: [m.id] });
    await again(m.id);
  }

  async function purge(m) {
    const dry = await call('MemoryService/Purge', { space, ids: [m.id], dry_run: true });
    const what = dry.places
      .filter((p) => p.count)
      .map((p) => `${word('place', p.kind)}: ${p.count}`)
      .join('\n');
    if (!(await ask(`${t('purgeAsk')}\n\n${what}`, t('purge'), t('cancel'), true))) return;
    open = null; // the event of the purge must not load the memory
    try {
      await call('MemoryService/Purge', { space, ids: [m.id] });
    } catch (e) {
      await again(m.id);
      throw e;
    }
    say(t('purged'));
    hide();
    load(false);
  }

  // form edits a memory, or a new one.
  function form(m, save) {
    detail.hidden = false;
    const field = (name, el) => h('label', {}, h('span', {}, t(name)), el);
    const content = h('textarea', { rows: 8, value: m.content, required: true });
    const title = h('input', { value: m.title, maxlength: 200 });
    const kind = h('input', { value: m.category, list: 'categories', required: true });
    const salience = h('input', { type: 'number', min: 0, max: 1, step: 'any', value: m.salience, required: true });
    const tags = h('input', { value: m.tags.join(', ') });
    const bad = h('p', { class: 'bad', role: 'alert' });
    fill(
      detail,
      h(
        'form',
        {
          oninput: (e) => e.currentTarget.classList.add('touched'),
          onsubmit: (e) => {
            e.preventDefault();
            save({
              content: content.value,
              title: title.value,
              category: kind.value.trim(),
              salience: Number(salience.value),
              tags: tags.value
                .split(/[,，]/)
                .map((s) => s.trim())
                .filter(Boolean),
            }).catch((error) => {
              if (error.reason === 'STALE_REVISION') bad.textContent = t('staleForm');
              else
                bad.textContent = [
                  error.message,
                  ...(error.violations ?? []).map((v) => `${v.field}: ${v.description}`),
                ].join('\n');
            });
          },
          onkeydown: (e) => {
            if ((e.ctrlKey || e.metaKey) && (e.key === 'Enter' || e.key === 's')) {
              e.preventDefault();
              e.currentTarget.requestSubmit();
            }
          },
        },
        field('content', content),
        field('title', title),
        field('category', kind),
        h(
          'datalist',
          { id: 'categories' },
          categories.map((c) => h('option', { value: c })),
        ),
        field('salience', salience),
        field('tags', tags),
        bad,
        h(
          'div',
          { class: 'bar' },
          h('button', { class: 'primary', type: 'submit' }, t('save')),
          h('button', { type: 'button', onclick: () => (m.id ? again(m.id).catch(fail) : hide()) }, t('cancel')),
        ),
      ),
    );
    content.focus();
  }

  function change(m) {
    open = { ...open, editing: true };
    form(m, async (v) => {
      const patch = Object.fromEntries(
        Object.entries(v).filter(([k, x]) => JSON.stringify(x) !== JSON.stringify(m[k])),
      );
      const paths = Object.keys(patch);
      if (paths.length) {
        // Without a mask, an empty list would mean "unchanged".
        const res = await call('MemoryService/Update', {
          space,
          id: m.id,
          patch,
          update_mask: paths.join(','),
          expected_revision: String(m.revision),
        });
        say(savedText(res.result.outcomes[0]), t('undo'), () =>
          undo({ id: res.result.operation_id })
            .then(() => again(m.id))
            .catch(fail),
        );
      }
      await again(m.id);
    });
  }

  function addNew() {
    open = { id: '', editing: true };
    form({ content: '', title: '', category: 'general', salience: 0.5, tags: [] }, async (v) => {
      const res = await api('POST', `/api/memory/entries?${query({ space })}`, v);
      if (res.redactions) say(savedText(res));
      await again(res.id);
    });
  }

  load(true);
  count().catch(fail);
  if (wanted)
    api('GET', path(wanted))
      .then((m) => show(m))
      .catch(fail);
  return {
    where: () => (open?.id ? [open.id] : []),
    dirty: () => !!open?.editing && !!detail.querySelector('form')?.matches('.touched'),
    escape: () => {
      if (!detail.hidden && !open?.editing) hide();
    },
    // Changes from elsewhere are shown, except in a form that is being edited.
    changed: () => {
      if (total <= pageSize) {
        reload();
      } else {
        muchChanged();
      }
      count().catch(fail);
      if (open?.id && !open.editing) {
        const { id, revision } = open;
        api('GET', path(id))
          .then((m) => {
            if (open?.id === id && !open.editing && m.revision !== revision) show(m, false).catch(fail);
          })
          .catch(() => hide());
      }
    },
  };
}
