// A field for a date in the language of the panel. The browser's own field speaks the language of the browser.
import { h } from './dom.js';
import { t } from './texts.js';

const dateText = /^(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?$/;

// isoOf is a typed date as YYYY-MM-DD; '' for an empty text, undefined for one that is no date.
function isoOf(text) {
  if (!text.trim()) return '';
  const m = dateText.exec(text.trim());
  if (!m) return undefined;
  const iso = `${m[1]}-${m[2].padStart(2, '0')}-${m[3].padStart(2, '0')}`;
  const at = new Date(`${iso}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 10) === iso ? iso : undefined;
}

// dateField makes the field. Its value is YYYY-MM-DD, or '' when it holds no date; onchange is called for each date that
// was typed or picked, and when the field is empty again.
export function dateField({ label, value = '', hidden = false, onchange }) {
  const text = h('input', {
    class: 'date-text',
    placeholder: t('datePattern'),
    'aria-label': t(label),
    autocomplete: 'off',
    inputmode: 'numeric',
    value,
    oninput: () => typed(),
    onchange: () => {
      const iso = isoOf(text.value);
      text.setAttribute('aria-invalid', String(iso === undefined));
      if (iso) text.value = iso;
    },
  });
  const calendar = h('input', {
    type: 'date',
    class: 'date-calendar',
    tabindex: '-1',
    'aria-hidden': 'true',
    onchange: () => {
      text.value = calendar.value;
      typed();
    },
  });
  const pick = h(
    'button',
    {
      class: 'icon',
      type: 'button',
      'aria-label': t('pickDate'),
      title: t('pickDate'),
      onclick: () => {
        calendar.value = isoOf(text.value) ?? '';
        calendar.showPicker();
      },
    },
    '▾',
  );
  let last = value;
  function typed() {
    const iso = isoOf(text.value);
    if (iso !== undefined) text.removeAttribute('aria-invalid');
    if (iso === undefined || iso === last) return;
    last = iso;
    onchange();
  }
  const el = h('span', { class: 'date', hidden }, text, calendar, pick);
  Object.defineProperty(el, 'value', {
    get: () => isoOf(text.value) ?? '',
    set: (v) => {
      text.value = last = v;
      text.removeAttribute('aria-invalid');
    },
  });
  return el;
}
