// Several memories at once: choosing them in the list, and what can be done with all of them.
import { api, call, query } from './api.js';
import { h, fill, say, ask, askFor } from './dom.js';
import { t, word, countOf } from './texts.js';
import { categories, placesText } from './memory.js';
import { undo } from './operations.js';

const atOnce = 500; // memories in one request; a request holds 3 MiB

// selection makes the button that begins to choose, and the bar with what can be done. rows are those of the list.
export function selection({ list, rows, spaces, reload, fail }) {
  const chosen = new Map(); // rows by space and id
  const keyOf = (r) => `${r.space} ${r.memory.id}`;
  const button = h('button', { 'aria-pressed': 'false', onclick: () => choose(!list.choosing) }, t('select'));
  const counted = h('strong', { 'aria-live': 'polite' });
  const act = (name, f, cls) => h('button', { class: cls, onclick: () => f().catch(fail) }, t(name));
  const forActive = [
    act('tagThem', tag),
    act('categoryThem', category),
    act('spaceThem', move),
    act('pin', () => change(() => ({ pinned: true }))),
    act('unpin', () => change(() => ({ pinned: false }))),
    act('forget', forget),
  ];
  const forRetired = act('restore', restore);
  const bar = h(
    'div',
    { class: 'bar chosen', hidden: true, role: 'toolbar', 'aria-label': t('select') },
    counted,
    h('button', { onclick: all }, t('selectAll')),
    forActive,
    forRetired,
    act('purge', purge, 'danger'),
    h('span', { class: 'grow' }),
    h('button', { onclick: () => choose(false) }, t('done')),
  );
  list.chosen = (i) => Boolean(rows()[i]?.memory) && chosen.has(keyOf(rows()[i]));
  list.onchoose = (i, to) => {
    for (let k = Math.min(i, to); k <= Math.max(i, to); k++) put(rows()[k], i === to ? !list.chosen(k) : true);
    draw();
  };
  list.onall = all;

  function put(r, on) {
    if (!r?.memory) return;
    if (on) chosen.set(keyOf(r), r);
    else chosen.delete(keyOf(r));
  }

  function all() {
    choose(true);
    for (const r of rows()) put(r, true);
    draw();
  }

  function choose(on) {
    list.choose(on);
    button.setAttribute('aria-pressed', String(on));
    bar.hidden = !on;
    if (!on) chosen.clear();
    draw();
  }

  function draw() {
    counted.textContent = countOf(chosen.size, 'chosen');
    const list_ = [...chosen.values()];
    for (const b of bar.querySelectorAll('button')) b.disabled = false;
    for (const b of [...forActive, forRetired, bar.querySelector('.danger')]) b.disabled = !chosen.size;
    for (const b of forActive) b.hidden = list_.some((r) => r.memory.status !== 'active');
    forRetired.hidden = !list_.some((r) => r.memory.status !== 'active');
    list.refresh();
  }

  // parts are the chosen memories by space, so many in a part that each is one request.
  function parts() {
    const bySpace = Map.groupBy(chosen.values(), (r) => r.space);
    return [...bySpace].flatMap(([space, of]) =>
      Array.from({ length: Math.ceil(of.length / atOnce) }, (_, i) => ({
        space,
        memories: of.slice(i * atOnce, (i + 1) * atOnce).map((r) => r.memory),
      })),
    );
  }

  // run makes a request for each part, says what was done, and offers one undo for all of it.
  async function run(request) {
    const operations = [],
      outcomes = [];
    try {
      for (const part of parts()) {
        const res = await request(part);
        operations.push(...(res.operation_ids ?? [res.result.operation_id].filter(Boolean)));
        outcomes.push(...(res.outcomes ?? res.result.outcomes));
      }
    } finally {
      report(operations, outcomes);
    }
  }

  function report(operations, outcomes) {
    const refused = outcomes.filter((o) => o.status === 'rejected');
    const reasons = [...Map.groupBy(refused, (o) => o.reason)];
    const text = [
      countOf(outcomes.filter((o) => o.status === 'applied').length, 'done'),
      ...reasons.map(([reason, of]) => `${countOf(of.length, 'left')}: ${word('outcome', reason)}`),
    ].join('\n');
    if (outcomes.length) say(text, operations.length ? t('undo') : undefined, () => undo(...operations).catch(fail));
    choose(false);
    reload();
  }

  // change changes each memory that differs: patchOf returns the new values, or null for none.
  const change = (patchOf) =>
    run(async ({ space, memories }) => {
      const changes = memories.flatMap((m) => {
        const patch = patchOf(m);
        if (!patch) return [];
        const update = { id: m.id, expected_revision: m.revision, patch, update_mask: Object.keys(patch).join(',') };
        return [{ update }];
      });
      if (!changes.length) return { operation_ids: [], outcomes: [] };
      return api('POST', `/api/memory/changes?${query({ space })}`, { changes });
    });

  const listOf = (s) =>
    s
      .split(/[,，]/)
      .map((x) => x.trim().replace(/^#/, ''))
      .filter(Boolean);

  async function tag() {
    const known = [...new Set([...chosen.values()].flatMap((r) => r.memory.tags))].sort();
    const v = await askFor(t('tagThem'), [
      { name: 'add', label: t('addTags') },
      { name: 'remove', label: t('removeTags'), options: known },
    ]);
    if (!v) return;
    const [add, remove] = [listOf(v.add), new Set(listOf(v.remove))];
    await change((m) => {
      const tags = [...new Set([...m.tags.filter((x) => !remove.has(x)), ...add])];
      return tags.join('\n') === m.tags.join('\n') ? null : { tags };
    });
  }

  async function category() {
    const v = await askFor(t('categoryThem'), [
      { name: 'category', label: t('category'), options: categories, required: true },
    ]);
    if (v) await change((m) => (m.category === v.category.trim() ? null : { category: v.category.trim() }));
  }

  async function move() {
    const v = await askFor(t('spaceThem'), [{ name: 'to', label: t('space'), options: spaces(), required: true }]);
    if (!v) return;
    const to = v.to.trim();
    await run(({ space, memories }) =>
      space === to
        ? { operation_ids: [], outcomes: [] }
        : api('POST', '/api/memory/move', {
            space,
            to,
            memories: memories.map((m) => ({ id: m.id, revision: m.revision })),
          }),
    );
  }

  const ids = ({ space, memories }) => ({ space, ids: memories.map((m) => m.id) });
  function forget() {
    return run((part) => call('MemoryService/Delete', ids(part)));
  }

  function restore() {
    return run((part) => call('MemoryService/Restore', ids(part)));
  }

  async function purge() {
    const places = new Map();
    for (const part of parts()) {
      const dry = await call('MemoryService/Purge', { ...ids(part), dry_run: true });
      for (const p of dry.places) places.set(p.kind, (places.get(p.kind) ?? 0) + p.count);
    }
    const what = placesText([...places].map(([kind, count]) => ({ kind, count })));
    if (!(await ask(`${t('purgeAsk')}\n\n${what}`, t('purge'), t('cancel'), true))) return;
    for (const part of parts()) await call('MemoryService/Purge', ids(part));
    say(t('purged'));
    choose(false);
    reload();
  }

  return {
    button,
    bar,
    mark: (r) =>
      list.choosing && h('span', { class: 'check', 'aria-hidden': 'true' }, chosen.has(keyOf(r)) ? '☑' : '☐'),
    // keep forgets choices that the list no longer shows: nothing is done to what cannot be seen.
    keep() {
      if (!list.choosing) return;
      const there = new Map(
        rows()
          .filter((r) => r?.memory)
          .map((r) => [keyOf(r), r]),
      );
      for (const key of chosen.keys()) {
        if (there.has(key)) chosen.set(key, there.get(key));
        else chosen.delete(key);
      }
      draw();
    },
    // escape ends the choosing, and reports whether there was one.
    escape() {
      const was = list.choosing;
      if (was) choose(false);
      return was;
    },
  };
}
