// The rolling summary of a space.
import { api, query } from './api.js';
import { h, fill, say } from './dom.js';
import { t } from './texts.js';

// summary is the view in which the rolling summary is read and edited.
export function summary(box, { space, fail }) {
  let loaded = '',
    shown = '';
  const text = h('textarea', { rows: 14, 'aria-label': t('summary') });
  const path = `/api/memory/rolling-summary?${query({ space })}`;
  const note = h('p', { class: 'dim', role: 'status' });

  async function load() {
    const now = (await api('GET', path)).summary;
    if (text.value === shown) {
      // text that was typed stays
      text.value = now;
      shown = text.value; // a text area changes the line ends
    } else if (now !== loaded) {
      note.textContent = t('staleForm');
    }
    loaded = now;
  }

  async function save() {
    const wanted = text.value;
    if ((await api('GET', path)).summary !== loaded) return void (note.textContent = t('staleForm'));
    await api('PUT', path, { summary: wanted });
    loaded = wanted;
    note.textContent = '';
    say(t('saved'));
    text.value = loaded = (await api('GET', path)).summary; // without secrets
    shown = text.value;
  }

  fill(
    box,
    h(
      'div',
      { class: 'page', tabindex: '0' },
      h('h2', {}, t('summary')),
      text,
      note,
      h(
        'div',
        { class: 'bar' },
        h('button', { class: 'primary', onclick: () => save().catch(fail) }, t('save')),
        h(
          'button',
          {
            onclick: () => {
              text.value = shown = loaded;
              note.textContent = '';
              load().catch(fail);
            },
          },
          t('reload'),
        ),
      ),
    ),
  );
  load().catch(fail);
  return {
    dirty: () => text.value !== shown,
    changed: (e) => {
      if (!e || e.summary) load().catch(fail);
    },
  };
}
