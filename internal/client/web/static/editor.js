// The editor of a file: CodeMirror, or a plain text field for a file that is too large. It is in a shadow root:
// CodeMirror then uses style sheets made by script, and needs no style element, which the page's policy forbids.
import {
  EditorState,
  EditorView,
  keymap,
  lineNumbers,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  drawSelection,
  rectangularSelection,
  defaultKeymap,
  history,
  historyKeymap,
  json,
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
  indentUnit,
  lintGutter,
  lintKeymap,
  setDiagnostics,
  search,
  searchKeymap,
  highlightSelectionMatches,
  tags,
} from './vendor/codemirror.js';
import { h } from './dom.js';
import { said } from './said.js';
import { language } from './texts.js';

// Most characters for CodeMirror; a text field takes more.
export const most = 20_000_000;

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--j-name)' },
  { tag: tags.string, color: 'var(--j-string)' },
  { tag: tags.number, color: 'var(--j-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--j-word)', fontWeight: '600' },
  { tag: tags.invalid, color: 'var(--bad)' },
  { tag: [tags.separator, tags.bracket], color: 'var(--dim)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--panel)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace',
    lineHeight: '1.55',
  },
  '.cm-content': { caretColor: 'var(--ink)', padding: '.5rem 0' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)', borderLeftWidth: '2px' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--dim)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--soft) 60%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--soft)', color: 'var(--ink)' },
  '& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    { backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)' },
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--star) 22%, transparent)' },
  '.cm-searchMatch': {
    backgroundColor: 'color-mix(in srgb, var(--star) 30%, transparent)',
    outline: '1px solid var(--star)',
  },
  '.cm-searchMatch-selected': { backgroundColor: 'color-mix(in srgb, var(--star) 60%, transparent)' },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent)',
    outline: '1px solid var(--accent)',
  },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--del)', outline: '1px solid var(--bad)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--soft)', border: '1px solid var(--line)', color: 'var(--dim)' },
  '.cm-panels': { backgroundColor: 'var(--bg)', color: 'var(--ink)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '.4rem 1.6rem .4rem .6rem' },
  '.cm-panel.cm-search label': { fontSize: '12px' },
  '.cm-panel.cm-search [name=close]': { fontSize: '18px', color: 'var(--dim)' },
  '.cm-textfield, .cm-button': {
    backgroundColor: 'var(--panel)',
    backgroundImage: 'none',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '.3rem',
    fontSize: '12px',
    padding: '.2rem .5rem',
  },
  '.cm-button:active': { backgroundImage: 'none', backgroundColor: 'var(--soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '.4rem',
    boxShadow: '0 4px 14px rgb(0 0 0 / .18)',
  },
  '.cm-diagnostic': { padding: '.35rem .6rem', maxWidth: '32rem' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--star)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad) 1px',
    textUnderlineOffset: '3px',
  },
  // The library uses data: images for these, which the page's policy forbids.
  '.cm-lint-marker': { width: '1em', height: '1em', lineHeight: '1' },
  '.cm-lint-marker-error': { content: 'normal', color: 'var(--bad)' },
  '.cm-lint-marker-warning': { content: 'normal', color: 'var(--star)' },
  '.cm-lint-marker-error::before': { content: '"●"' },
  '.cm-lint-marker-warning::before': { content: '"▲"' },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--star) 1px',
    textUnderlineOffset: '3px',
  },
});

// The texts of CodeMirror, in Chinese.
const phrases = {
  Find: '查找',
  Replace: '替换',
  next: '下一个',
  previous: '上一个',
  all: '全部',
  'match case': '区分大小写',
  regexp: '正则',
  'by word': '整词',
  replace: '替换',
  'replace all': '全部替换',
  close: '关闭',
  'Go to line': '跳到行',
  go: '跳转',
  Diagnostics: '问题',
  'No diagnostics': '没有问题',
  'Fold line': '折叠',
  'Unfold line': '展开',
  'folded code': '已折叠',
  unfold: '展开',
  to: '至',
  'current match': '当前匹配',
  'replaced $ matches': '已替换 $ 处',
  'replaced match on line $': '已替换第 $ 行',
  'on line': '位于行',
  'Control character': '控制字符',
  'Selection deleted': '已删除所选',
};

// editor makes an editor: el is its element, text and set read and write its text, show marks problems, go moves the
// cursor to a line and column.
export function editor({ label, text, onchange, onsave }) {
  return text.length > most ? plain({ label, text, onchange, onsave }) : rich({ label, text, onchange, onsave });
}

function rich({ label, text, onchange, onsave }) {
  const el = h('div', { class: 'editor' });
  const root = el.attachShadow({ mode: 'open' });
  const extensions = [
    lineNumbers(),
    foldGutter(),
    lintGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    rectangularSelection(),
    EditorState.allowMultipleSelections.of(true),
    bracketMatching(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches({ maxMatches: 100 }),
    search({ top: true }),
    indentUnit.of('  '),
    json(),
    syntaxHighlighting(colours),
    look,
    keymap.of([
      {
        key: 'Mod-s',
        preventDefault: true,
        run: () => {
          onsave();
          return true;
        },
      },
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...lintKeymap,
      ...defaultKeymap,
    ]),
    EditorView.contentAttributes.of({
      'aria-label': label,
      tabindex: '0',
      spellcheck: 'false',
      autocorrect: 'off',
      autocapitalize: 'off',
    }),
    EditorView.updateListener.of((u) => {
      if (u.docChanged) onchange();
    }),
    language() === 'zh' ? EditorState.phrases.of(phrases) : [],
  ];
  // Loading a file must not change it, so only a line feed ends a line.
  const state = (doc) => EditorState.create({ doc, extensions: [...extensions, EditorState.lineSeparator.of('\n')] });
  const view = new EditorView({ state: state(text), root, parent: root });

  // place converts a line and a column, in characters from 1, into an offset.
  const place = (line, column) => {
    const l = view.state.doc.line(Math.max(1, Math.min(view.state.doc.lines, line)));
    return l.from + [...l.text.slice(0, column * 2)].slice(0, Math.max(0, column - 1)).join('').length;
  };
  const mark = (p) => {
    if (!p.line) return { from: 0, to: 0, severity: p.refused ? 'error' : 'warning', message: said(p.message) };
    const from = place(p.line, p.column),
      rest = view.state.doc.lineAt(from).text.slice(from - view.state.doc.lineAt(from).from);
    return {
      from,
      to: from + (rest.match(/^(?:"(?:\\.|[^"\\])*"?|[^\s,\]}]+|.)/)?.[0].length ?? 0),
      severity: p.refused ? 'error' : 'warning',
      message: (p.path ? `${p.path}: ` : '') + said(p.message),
    };
  };
  return {
    el,
    text: () => view.state.doc.toString(),
    size: () => view.state.doc.length,
    set: (next) => {
      const { scrollTop, scrollLeft } = view.scrollDOM,
        head = view.state.selection.main.head;
      view.setState(state(next)); // with a new undo history
      view.dispatch({ selection: { anchor: Math.min(head, next.length) } });
      requestAnimationFrame(() => view.scrollDOM.scrollTo(scrollLeft, scrollTop));
    },
    show: (problems) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          problems.map(mark).sort((a, b) => a.from - b.from),
        ),
      ),
    go: (line, column) => {
      const at = place(line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      view.focus();
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

function plain({ label, text, onchange, onsave }) {
  const area = h('textarea', {
    class: 'plain-editor',
    spellcheck: 'false',
    wrap: 'off',
    'aria-label': label,
    value: text,
    oninput: onchange,
    onkeydown: (e) => {
      if ((e.ctrlKey || e.metaKey) && e.key === 's') {
        e.preventDefault();
        onsave();
      }
    },
  });
  return {
    el: area,
    text: () => area.value,
    size: () => area.value.length,
    set: (next) => {
      area.value = next;
    },
    show: () => {},
    go: (line, column) => {
      let at = 0;
      for (let i = 1; i < line; i++) at = area.value.indexOf('\n', at) + 1;
      area.focus();
      area.setSelectionRange(at + column - 1, at + column - 1);
    },
    focus: () => area.focus(),
    close: () => {},
  };
}
