// What internal/client/web/static/editor.js needs of CodeMirror.
export { EditorState, Compartment, StateEffect, Transaction } from '@codemirror/state';
export {
  EditorView,
  keymap,
  lineNumbers,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  drawSelection,
  rectangularSelection,
} from '@codemirror/view';
export { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
export { json } from '@codemirror/lang-json';
export {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  syntaxHighlighting,
  indentUnit,
} from '@codemirror/language';
export { lintGutter, lintKeymap, setDiagnostics, openLintPanel } from '@codemirror/lint';
export { search, searchKeymap, highlightSelectionMatches } from '@codemirror/search';
export { tags } from '@lezer/highlight';
