// The panel's frame: login, the choice of the view, and news of operations.
import { explain, login, hasToken, whenLost, listen, callAll } from './api.js';
import { h, fill, later, say, ask } from './dom.js';
import { t, setLanguage, language, countOf } from './texts.js';
import { memories } from './memories.js';

// The views by name. All but the first are loaded when they are needed, or when the page is idle.
const views = {
  memories: () => memories,
  recall: async () => (await import('./recall.js')).recall,
  changes: async () => (await import('./changes.js')).changes,
  logs: async () => (await import('./logs.js')).logs,
  sessions: async () => (await import('./sessions.js')).sessions,
  summary: async () => (await import('./summary.js')).summary,
  review: async () => (await import('./review.js')).review,
  graph: async () => (await import('./graph.js')).graph,
  files: async () => (await import('./files.js')).files,
  hosts: async () => (await import('./hosts.js')).hosts,
  status: async () => (await import('./status.js')).status,
};
const viewKeys = [...'1234567890-']; // of the views in their order
const app = document.getElementById('app');
const panel = { space: 'default', view: null, name: '', spaces: ['default'] };

// theme sets the theme: light, dark, or '' for that of the system.
function theme(next) {
  const now = next ?? localStorage.getItem('memsidecar.theme') ?? '';
  if (next !== undefined) localStorage.setItem('memsidecar.theme', next);
  if (now) document.documentElement.dataset.theme = now;
  else delete document.documentElement.dataset.theme;
}

function dark() {
  const now = document.documentElement.dataset.theme;
  return now ? now === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

// askToLogIn shows how to open the panel.
function askToLogIn(error) {
  fill(
    app,
    h(
      'main',
      { class: 'login' },
      h('img', { src: '/static/icon.svg', alt: '', width: 48, height: 48 }),
      h('h1', {}, 'memsidecar'),
      error && h('p', { class: 'bad' }, error),
      h('p', {}, t('loginNeeded')),
    ),
  );
}

function frame() {
  const nav = h(
    'nav',
    { 'aria-label': 'memsidecar' },
    Object.keys(views).map((name) =>
      h('button', { 'data-view': name, onclick: () => hasToken() && show(name) }, t(name)),
    ),
  );
  panel.menu = h('button', {
    class: 'menu',
    'aria-expanded': 'false',
    onclick: () => menu(!nav.classList.contains('open')),
  });
  const menu = (open) => {
    nav.classList.toggle('open', open);
    panel.menu.setAttribute('aria-expanded', String(open));
  };
  nav.addEventListener('click', () => menu(false));
  panel.dot = h('span', { class: 'dot', role: 'status' });
  panel.spaceBox = h('select', { 'aria-label': t('space'), onchange: chooseSpace });
  panel.main = h('main', { id: 'main' });
  fill(
    app,
    h(
      'header',
      {},
      panel.menu,
      h('img', { src: '/static/icon.svg', alt: '', width: 24, height: 24 }),
      h('h1', {}, 'memsidecar'),
      panel.spaceBox,
      h('span', { class: 'grow' }),
      panel.dot,
      h(
        'button',
        { 'aria-label': t('theme'), onclick: () => theme(dark() ? 'light' : 'dark') },
        '◐',
        h('span', { class: 'wide' }, ` ${t('theme')}`),
      ),
      h('button', { id: 'language', onclick: changeLanguage }, t('language')),
    ),
    nav,
    panel.main,
  );
  drawSpaces();
}

async function chooseSpace(e) {
  const was = panel.space;
  panel.space = e.target.value;
  countWaiting().catch(fail);
  if (!(await show(panel.name))) {
    panel.space = was;
    drawSpaces();
  }
}

// changeLanguage draws the panel again; it asks first if a text is not saved.
async function changeLanguage() {
  if (panel.view?.dirty?.() && !(await ask(t('leaveAsk'), t('leave'), t('stay'), true))) return;
  const where = panel.view?.where?.() ?? [];
  panel.view?.close?.();
  panel.view = null;
  const next = language() === 'zh' ? 'en' : 'zh';
  localStorage.setItem('memsidecar.language', next);
  setLanguage(next);
  frame();
  connected(panel.live);
  countWaiting().catch(fail);
  show(panel.name, ...where);
}

function drawSpaces() {
  fill(
    panel.spaceBox,
    panel.spaces.map((s) => h('option', { value: s, selected: s === panel.space }, s)),
  );
}

// countWaiting puts the number of things to decide beside the name of their view.
async function countWaiting() {
  const [{ proposals }, { edits }] = await Promise.all([
    callAll('FileService/ListProposals', 'proposals', { space: panel.space }),
    callAll('FileService/ListEdits', 'edits'),
  ]);
  const n = proposals.length + edits.length;
  const button = app.querySelector('nav button[data-view=review]');
  if (!button) return;
  fill(button, t('review'));
  button.title = n ? countOf(n, 'waiting') : '';
  if (n) button.append(' ', h('span', { class: 'badge' }, String(n)));
}

async function findSpaces() {
  const names = (await callAll('MemoryService/Stats', 'spaces')).spaces.map((s) => s.name);
  const next = [...new Set(['default', panel.space, ...names])];
  if (next.join('\n') !== panel.spaces.join('\n')) {
    panel.spaces = next;
    drawSpaces();
  }
}

function connected(live) {
  panel.live = live;
  panel.dot.className = live ? 'dot live' : 'dot';
  panel.dot.textContent = t(live ? 'connected' : 'lost');
}

// show opens a view and returns whether it did: it asks first if a text is not saved.
export async function show(name, ...args) {
  if (panel.view?.dirty?.() && !(await ask(t('leaveAsk'), t('leave'), t('stay'), true))) return false;
  panel.view?.close?.();
  if (!views[name]) name = 'memories';
  panel.name = name;
  history.replaceState(null, '', `#${name}`);
  for (const b of app.querySelectorAll('nav button'))
    b.setAttribute('aria-current', b.dataset.view === name ? 'page' : 'false');
  panel.menu.textContent = `☰ ${t(name)}`;
  const box = h('section', { class: `view ${name}`, 'aria-label': t(name) });
  fill(panel.main, box);
  panel.view = null;
  let make;
  try {
    make = await views[name]();
  } catch {
    fail(new Error(t('unreachable')));
    return true;
  }
  // Otherwise another view was chosen meanwhile.
  if (box.isConnected) panel.view = make(box, { space: panel.space, show, fail }, ...args) ?? {};
  return true;
}

// fail shows an error.
export async function fail(error) {
  if (error?.name !== 'AbortError') say(await explain(error));
}

let heard; // the operation since the view was updated; null for several or unknown ones
const tell = later(250, () => {
  const what = heard;
  heard = undefined;
  panel.view?.changed?.(what);
  findSpaces().catch(() => {});
  countWaiting().catch(() => {});
});
function changed(operation) {
  heard = heard === undefined ? operation : null;
  tell();
}

document.addEventListener('keydown', (e) => {
  if (document.querySelector('dialog[open]')) return; // keys belong to the open question
  const at = e.composedPath()[0]; // the element within the editor's shadow root
  const typing = at.isContentEditable || at.closest?.('input, textarea, select');
  if (e.key === '/' && !typing) {
    const box = document.querySelector('input[type=search]');
    if (box) {
      e.preventDefault();
      box.focus();
    }
  } else if (viewKeys.includes(e.key) && !typing && !e.ctrlKey && !e.metaKey && !e.altKey && hasToken()) {
    const name = Object.keys(views)[viewKeys.indexOf(e.key)];
    if (name) show(name);
  } else if (e.key === 'Escape' && !at.isContentEditable) {
    panel.view?.escape?.();
  }
});

addEventListener('beforeunload', (e) => {
  if (panel.view?.dirty?.()) e.preventDefault();
});

theme();
setLanguage(localStorage.getItem('memsidecar.language') ?? (navigator.language.startsWith('zh') ? 'zh' : 'en'));
const wanted = location.hash.includes('=') ? '' : location.hash.slice(1);
// The frame is drawn while the code is exchanged: it needs nothing of the daemon.
if (hasToken() || location.hash.includes('code=')) frame();
try {
  await login();
} catch (error) {
  askToLogIn(await explain(error));
}
if (hasToken()) {
  whenLost(() => (panel.view?.dirty?.() ? say(t('sessionExpired')) : askToLogIn()));
  listen(changed, connected);
  await show(wanted || 'memories');
  await panel.view?.ready; // what a view shows first comes before what stands around it
  findSpaces().catch(fail);
  countWaiting().catch(fail);
  // A view that fails to load now is loaded again when it is chosen.
  setTimeout(() => Promise.allSettled(Object.values(views).map((view) => view())), 1500);
} else if (!app.querySelector('.login')) {
  askToLogIn();
}
