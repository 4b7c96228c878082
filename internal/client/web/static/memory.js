// One memory: its text, facts, explanation and history, and what can be done with it.
import { api, call, explain, query } from './api.js';
import { h, fill, say, ask } from './dom.js';
import { t, word, age, reasonOf, stamp, timesOf } from './texts.js';
import { changesOf, numberOf, undo } from './operations.js';

export const categories = ['preferences', 'facts', 'tasks', 'reflections', 'procedural', 'general'];
export const star = 0.8; // least salience of an important memory

const path = (id, space, more = {}) => `/api/memory/entries/${encodeURIComponent(id)}?${query({ space, ...more })}`;

// placesText says what a purge would erase, one kind of place a line.
export const placesText = (places) =>
  places
    .filter((p) => p.count)
    .map((p) => `${word('place', p.kind)}: ${p.count}`)
    .join('\n');

// memoryDetail shows a memory in the element detail. home is the space of new memories; hitOf finds the search result
// of a memory; reload draws the list again and leave gives it the focus.
export function memoryDetail({ detail, home, hitOf, reload, leave, fail }) {
  let open = null;

  function hide() {
    open = null;
    detail.hidden = true;
    leave();
  }

  // show opens a memory beside the list.
  async function show(m, space, focus = true) {
    open = { id: m.id, space, revision: m.revision, editing: false };
    focus ||= detail.contains(document.activeElement); // the focused element is replaced
    detail.hidden = false;
    const hit = hitOf(m.id, space);
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
              `${numberOf(op.id)} · ${stamp(op.at)} · ${word('actor', op.actor)}${op.reason ? ` · ${reasonOf(op.reason)}` : ''}`,
            ),
            h('span', { class: 'grow' }),
            button('undo', () => undo(op.id)),
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

  async function again(id, space = open?.space ?? home) {
    show(await api('GET', path(id, space)), space, false).catch(fail);
    reload();
  }

  async function write(method, body, m) {
    const { space } = open;
    try {
      const res = await api(method, path(m.id, space, { expected_revision: m.revision }), body);
      say(savedText(res), res.operation_id ? t('undo') : undefined, () => undo(res.operation_id).catch(fail));
    } catch (e) {
      if (e.reason !== 'STALE_REVISION') throw e;
      say(t('stale'));
    }
    await again(m.id);
  }

  async function forget(m) {
    const { space } = open;
    const res = await api('DELETE', path(m.id, space, { expected_revision: m.revision }));
    say(t('forgotten'), t('undo'), () =>
      undo(res.operation_id)
        .then(() => again(m.id, space))
        .catch(fail),
    );
    hide();
    reload();
  }

  async function restore(m) {
    await call('MemoryService/Restore', { space: open.space, ids: [m.id] });
    await again(m.id);
  }

  async function purge(m) {
    const { space } = open;
    const dry = await call('MemoryService/Purge', { space, ids: [m.id], dry_run: true });
    if (!(await ask(`${t('purgeAsk')}\n\n${placesText(dry.places)}`, t('purge'), t('cancel'), true))) return;
    open = null; // the event of the purge must not load the memory
    try {
      await call('MemoryService/Purge', { space, ids: [m.id] });
    } catch (e) {
      await again(m.id, space);
      throw e;
    }
    say(t('purged'));
    hide();
    reload();
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
            }).catch(async (error) => {
              bad.textContent = error.reason === 'STALE_REVISION' ? t('staleForm') : await explain(error);
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
    const { space } = open;
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
          undo(res.result.operation_id)
            .then(() => again(m.id, space))
            .catch(fail),
        );
      }
      await again(m.id);
    });
  }

  function addNew() {
    open = { id: '', space: home, editing: true };
    form({ content: '', title: '', category: 'general', salience: 0.5, tags: [] }, async (v) => {
      const res = await api('POST', `/api/memory/entries?${query({ space: home })}`, v);
      if (res.redactions) say(savedText(res));
      await again(res.id);
    });
  }

  return {
    show,
    addNew,
    openById: async (id, space = home) => show(await api('GET', path(id, space)), space),
    where: () => (open?.id ? [open.id, open.space] : []),
    dirty: () => !!open?.editing && !!detail.querySelector('form')?.matches('.touched'),
    escape: () => {
      if (!detail.hidden && !open?.editing) hide();
    },
    // Changes from elsewhere are shown, except in a form that is being edited.
    changed: () => {
      if (!open?.id || open.editing) return;
      const { id, space, revision } = open;
      api('GET', path(id, space))
        .then((m) => {
          if (open?.id === id && !open.editing && m.revision !== revision) show(m, space, false).catch(fail);
        })
        .catch(() => hide());
    },
  };
}
