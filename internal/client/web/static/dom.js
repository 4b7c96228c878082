import { t } from './texts.js';

// Elements, lists and dialogs. Text becomes text nodes only, so the text of a memory cannot become an element.

// h makes an element: h('button', {class: 'x', onclick: f}, 'text', child).
export function h(name, attrs = {}, ...children) {
  const el = document.createElement(name);
  for (const [k, v] of Object.entries(attrs)) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
    else if (k === 'value' || k === 'checked' || k === 'selected') el[k] = v;
    else el.setAttribute(k, v === true ? '' : v);
  }
  el.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return el;
}

export function fill(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false));
  return el;
}

// reading reports whether a person has unfolded something in el. An update nobody asked for leaves it as it is, and
// looks again when its answers have come: meanwhile something may have been unfolded.
export const reading = (el) => el.querySelector('details[open]') !== null;

// later returns a function that calls f once it was not called for ms.
export function later(ms, f) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

// VirtualList shows any number of rows of equal height; it creates only the visible ones. A row for which
// heading is true cannot be opened. While choose is on, several rows can be chosen: by a click, by Space, from one to
// another with Shift, and all with Ctrl+A.
export class VirtualList {
  constructor({ height, row, label, onopen, heading = () => false }) {
    Object.assign(this, { height, row, onopen, heading, count: 0, selected: -1, made: new Map() });
    Object.assign(this, { choosing: false, from: -1, chosen: () => false, onchoose: () => {}, onall: () => {} });
    this.space = h('div', { class: 'vl-space' });
    this.el = h('div', { class: 'vl', tabindex: '0', role: 'listbox', 'aria-label': label }, this.space);
    this.el.addEventListener('scroll', () => this.draw(), { passive: true });
    this.el.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.el);
  }

  // set changes the number of rows; with keep, the scroll position and the selection stay. Without it a list that has the
  // focus selects its first row: somebody who went into it during a search presses Enter next.
  set(count, keep) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    if (!keep) {
      this.el.scrollTop = 0;
      this.selected = this.el === document.activeElement ? 0 : -1;
    }
    this.selected = Math.min(this.selected, count - 1);
    this.refresh();
    if (this.selected >= 0) this.mark(this.selected);
  }

  refresh() {
    this.made.clear();
    this.space.replaceChildren();
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.el.scrollTop / this.height) - 8);
    const last = Math.min(this.count, Math.ceil((this.el.scrollTop + this.el.clientHeight) / this.height) + 8);
    for (const [i, el] of this.made) {
      if (i < first || i >= last) {
        el.remove();
        this.made.delete(i);
      }
    }
    for (let i = first; i < last; i++) {
      if (this.made.has(i)) continue;
      const el = h(
        'div',
        {
          class: this.heading(i) ? 'vl-heading' : 'vl-row',
          role: 'option',
          id: `row-${i}`,
          'aria-setsize': this.count,
          'aria-posinset': i + 1,
          'aria-selected': String(this.choosing ? this.chosen(i) : i === this.selected),
          'aria-disabled': this.heading(i) ? 'true' : undefined,
        },
        this.row(i),
      );
      el.style.top = `${i * this.height}px`;
      el.style.height = `${this.height}px`;
      el.classList.toggle('current', this.choosing && i === this.selected);
      if (!this.heading(i)) el.addEventListener('click', (e) => this.clicked(i, e));
      this.made.set(i, el);
      this.space.append(el);
    }
  }

  mark(i) {
    const one = (k, on) => {
      if (this.choosing) this.made.get(k)?.classList.toggle('current', on);
      else this.made.get(k)?.setAttribute('aria-selected', String(on));
    };
    one(this.selected, false);
    this.selected = i;
    one(i, true);
    this.el.setAttribute('aria-activedescendant', `row-${i}`);
  }

  open(i) {
    this.mark(i);
    this.onopen(i);
  }

  clicked(i, e) {
    if (!this.choosing) return this.open(i);
    this.mark(i);
    this.chooseRow(i, e.shiftKey);
  }

  // choose begins or ends choosing several rows.
  choose(on) {
    this.choosing = on;
    this.from = -1;
    if (on) this.el.setAttribute('aria-multiselectable', 'true');
    else this.el.removeAttribute('aria-multiselectable');
  }

  // chooseRow chooses a row or lets it go; with through, it chooses all rows since the last one.
  chooseRow(i, through) {
    const from = through && this.from >= 0 ? this.from : i;
    this.from = i;
    this.onchoose(from, i);
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.el.clientHeight / this.height) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count }[
      e.key
    ];
    if (step) {
      e.preventDefault();
      if (!this.count) return;
      const i = Math.max(0, Math.min(this.count - 1, this.selected + step));
      const top = i * this.height;
      if (top < this.el.scrollTop) this.el.scrollTop = top;
      if (top + this.height > this.el.scrollTop + this.el.clientHeight)
        this.el.scrollTop = top + this.height - this.el.clientHeight;
      this.draw();
      this.mark(i);
    } else if (this.choosing && e.key === ' ' && this.selected >= 0) {
      e.preventDefault();
      this.chooseRow(this.selected, e.shiftKey);
    } else if (this.choosing && e.key.toLowerCase() === 'a' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      this.onall();
    } else if (e.key === 'Enter' && this.selected >= 0) {
      e.preventDefault();
      this.onopen(this.selected);
    }
  }
}

// ask shows a question and resolves to true for yes.
export function ask(text, yes, no, danger) {
  return new Promise((resolve) => {
    const dialog = h(
      'dialog',
      { 'aria-label': text },
      h('p', { class: 'pre' }, text),
      h(
        'div',
        { class: 'bar end' },
        h('button', { onclick: () => dialog.close('') }, no),
        h('button', { class: danger ? 'danger' : 'primary', onclick: () => dialog.close('yes') }, yes),
      ),
    );
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// askFor asks for a few texts and resolves to them by name, or to null. A field has a name, a label, and may have
// options to choose from.
export function askFor(title, fields) {
  return new Promise((resolve) => {
    const form = h(
      'form',
      { method: 'dialog' },
      h('h2', {}, title),
      fields.map((f) => [
        h(
          'label',
          {},
          h('span', {}, f.label),
          h('input', {
            name: f.name,
            required: f.required,
            list: f.options && `options-${f.name}`,
            autocomplete: 'off',
          }),
        ),
        f.options &&
          h(
            'datalist',
            { id: `options-${f.name}` },
            f.options.map((o) => h('option', { value: o })),
          ),
      ]),
      h(
        'div',
        { class: 'bar end' },
        h('button', { type: 'button', onclick: () => dialog.close('') }, t('cancel')),
        h('button', { class: 'primary', value: 'yes' }, t('save')),
      ),
    );
    const dialog = h('dialog', { 'aria-label': title }, form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? Object.fromEntries(new FormData(form)) : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// say shows a short message, with a button if there is an action.
export function say(text, action, onaction) {
  let box = document.getElementById('says');
  if (!box) document.body.append((box = h('div', { id: 'says', role: 'status', 'aria-live': 'polite' })));
  const note = h(
    'div',
    { class: 'say' },
    h('span', {}, text),
    action &&
      h(
        'button',
        {
          onclick: () => {
            note.remove();
            onaction();
          },
        },
        action,
      ),
  );
  box.append(note);
  setTimeout(() => note.remove(), action ? 12000 : 5000);
}

// wordDiff compares two texts by words (Chinese by characters), by their longest common subsequence: a list of
// [kind, text] with the kinds '=', '-' and '+'.
export function wordDiff(was, is) {
  const split = (s) => s.match(/[\p{Script=Han}]|[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}\s]/gu) ?? [];
  const a = split(was),
    b = split(is);
  if (a.length * b.length > 400000)
    return [
      ['-', was],
      ['+', is],
    ];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const out = [];
  const put = (kind, text) => {
    if (out.length && out.at(-1)[0] === kind) out.at(-1)[1] += text;
    else out.push([kind, text]);
  };
  let i = 0,
    j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      put('=', a[i]);
      i++;
      j++;
    } else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1]))
      put('-', a[i++]);
    else put('+', b[j++]);
  }
  return out;
}
