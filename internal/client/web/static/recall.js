// Recall: what an agent would be told for a prompt, why, and what would be left out. Nothing is counted or recorded.
import { api } from './api.js';
import { h, fill, later, reading } from './dom.js';
import { t, word, age, countOf } from './texts.js';

// recall is the view.
export function recall(box, { space, show, fail }) {
  const prompt = h('textarea', { id: 'prompt', rows: 3, placeholder: t('promptHint'), 'aria-label': t('prompt') });
  const tools = h('input', { placeholder: t('toolsHint'), 'aria-label': t('toolsInUse') });
  const result = h('div', { 'aria-live': 'polite' });
  let stop = new AbortController(),
    awaited = false; // somebody asked, and has no answer yet
  const run = () => preview().catch(fail);
  const soon = later(400, run);
  const update = later(400, () => preview(true).catch(fail));
  for (const el of [prompt, tools]) el.addEventListener('input', soon);
  fill(
    box,
    h(
      'div',
      { class: 'page', tabindex: '0' },
      h('h2', {}, t('recallTitle')),
      h('p', { class: 'dim' }, t('recallHint')),
      h(
        'form',
        {
          class: 'prompt',
          onsubmit: (e) => {
            e.preventDefault();
            run();
          },
          onkeydown: (e) => {
            if ((e.ctrlKey || e.metaKey) && e.key === 'Enter') run();
          },
        },
        prompt,
        h('div', { class: 'bar' }, tools, h('button', { class: 'primary' }, t('preview'))),
      ),
      result,
    ),
  );

  // preview shows what the prompt is answered with. What nobody asked for is not shown over a text in which somebody
  // reads.
  async function preview(unasked = false) {
    awaited ||= !unasked;
    if (!awaited && reading(result)) return;
    stop.abort();
    stop = new AbortController();
    if (!prompt.value.trim()) return void fill(result);
    const { signal } = stop;
    const body = {
      spaces: [space],
      text: prompt.value,
      working_tools: tools.value
        .split(/[,，]/)
        .map((s) => s.trim())
        .filter(Boolean),
    };
    const ask = (explicit) => api('POST', '/api/memory/recall-preview', { ...body, explicit }, signal);
    const [told, asked, { hosts }] = await Promise.all([
      ask(false),
      ask(true),
      api('GET', '/api/hosts', undefined, signal),
    ]);
    if (signal.aborted || (!awaited && reading(result))) return;
    awaited = false;
    const names = (which) => hosts.filter(which).map((host) => host.title);
    fill(
      result,
      h(
        'section',
        { class: 'told' },
        h('h3', {}, t('withPrompt')),
        names((x) => x.told_with_prompt).length > 0 &&
          h('p', { class: 'dim' }, `${t('toldTo')}: ${names((x) => x.told_with_prompt).join(', ')}`),
        names((x) => !x.told_with_prompt).length > 0 &&
          h('p', { class: 'dim' }, `${t('notToldTo')}: ${names((x) => !x.told_with_prompt).join(', ')}`),
        itemsOf(told.recall),
      ),
      h('section', { class: 'asked' }, h('h3', {}, t('whenAsked')), itemsOf(asked.recall)),
      h(
        'section',
        { class: 'left-out' },
        h('h3', {}, t('leftOut')),
        told.left_out.length
          ? told.left_out.map((l) =>
              card(l.memory, l.space, l.memory.content, [
                word('left', l.reason),
                l.strength !== 'unspecified' && t(l.strength),
                l.score > 0 && `${t('score')} ${l.score.toFixed(3)}`,
              ]),
            )
          : h('p', { class: 'dim' }, t('nothingLeftOut')),
      ),
    );
  }

  function card(memory, of, text, why) {
    return h(
      'div',
      { class: 'card' },
      h(
        'button',
        { class: 'link', onclick: () => show('memories', memory.id, of) },
        memory.title || t(memory.category),
      ),
      h('div', { class: 'pre clip' }, text),
      h('div', { class: 'dim' }, why.filter(Boolean).join(' · ')),
    );
  }

  const itemsOf = (r) =>
    r.items.length
      ? [
          r.items.map((it) =>
            card(it.memory, it.space, it.text, [
              it.tool
                ? `${t('ruleAbout')} ${it.tool}`
                : it.strength !== 'unspecified' && `${t('strength')}: ${t(it.strength)}`,
              it.score > 0 && `${t('score')} ${it.score.toFixed(3)}`,
              age(it.memory.content_at),
              it.caveat && t('withCaveat'),
              it.truncated && t('shortened'),
            ]),
          ),
          h(
            'details',
            {},
            h('summary', { class: 'dim' }, `${t('asGiven')} (${countOf(r.tokens, 'token')})`),
            h('pre', { class: 'pre', tabindex: '0' }, r.block),
          ),
        ]
      : h('p', { class: 'notice' }, `${t('toldNothing')} ${r.reason ? word('reason', r.reason) : ''}`);

  prompt.focus();
  return { changed: update };
}
