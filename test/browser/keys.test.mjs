// Everything can be done from the keyboard, and one always knows where one is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, viewNames, withPanel } from './lib/panel.mjs';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const panelTest = (name, f) => test(name, () => withPanel(browser, daemon, {}, f));

// focused says what has the focus: its role or tag, its name, and whether one can see it.
const focused = (panel) =>
  panel.page.evaluate(() => {
    const e = document.activeElement,
      style = getComputedStyle(e);
    return {
      what: e.getAttribute('role') ?? e.localName,
      name: e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent,
      seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    };
  });

panelTest('the tabulator goes through the page in its order, and shows where it is', async (panel) => {
  await panel.see('Prefers small commits');
  const order = [];
  for (let i = 0; i < 12 + viewNames.length; i++) {
    await panel.page.keyboard.press('Tab');
    const f = await focused(panel);
    assert.ok(f.seen, `nobody sees that ${f.what} ${f.name} has the focus`);
    assert.ok(f.name.trim(), `${f.what} has no name`);
    order.push(f.name);
  }
  assert.deepEqual(order, [
    'Space',
    'Theme',
    '中文',
    ...(await panel.texts('nav button')),
    'Search',
    'also in logs',
    'Category',
    'Status',
    'Order',
    'Filters',
    'Select',
    'Add memory',
    'Memories',
  ]);
});

panelTest('figures choose views and a slash the search, but not while one types', async (panel) => {
  for (const [i, name] of viewNames.entries()) {
    await panel.page.locator('h1').click(); // out of a field that a view begins in
    await panel.page.keyboard.press('1234567890-'[i]);
    await panel.page.locator(`section.view.${name}`).waitFor();
    assert.equal(await panel.page.locator(`nav button[data-view=${name}]`).getAttribute('aria-current'), 'page');
    assert.equal(await panel.page.locator('nav button[aria-current=page]').count(), 1);
  }
  await panel.page.keyboard.press('1');
  await panel.see('Prefers small commits');
  await panel.page.keyboard.press('/');
  assert.equal((await focused(panel)).name, 'Search');
  await panel.page.keyboard.type('2/3 commits');
  assert.equal(await panel.page.getByRole('searchbox').inputValue(), '2/3 commits');
  await panel.page.locator('section.view.memories').waitFor();
});

panelTest('the list goes by arrows, and the focus goes into a memory and back', async (panel) => {
  await panel.see('Prefers small commits');
  await panel.page.getByRole('listbox', { name: 'Memories' }).focus();
  const selected = () =>
    panel.page.evaluate(() => {
      const row = document.getElementById(document.activeElement.getAttribute('aria-activedescendant'));
      return {
        at: Number(row.getAttribute('aria-posinset')),
        of: Number(row.getAttribute('aria-setsize')),
        selected: row.getAttribute('aria-selected'),
      };
    });
  for (const [key, at] of [
    ['ArrowDown', 1],
    ['ArrowDown', 2],
    ['ArrowUp', 1],
    ['End', 12],
    ['Home', 1],
    ['ArrowDown', 2],
    ['PageUp', 1],
    ['ArrowDown', 2],
  ]) {
    await panel.page.keyboard.press(key);
    assert.deepEqual(await selected(), { at, of: 12, selected: 'true' }, key);
  }
  await panel.page.keyboard.press('PageDown');
  assert.ok((await selected()).at > 5);
  await panel.page.keyboard.press('Home');
  await panel.page.keyboard.press('ArrowDown');
  await panel.page.keyboard.press('Enter');
  await panel.see('The office closes at six', '.detail .content');
  assert.equal((await focused(panel)).what, 'h2');
  await panel.detail.locator('.change').first().waitFor();
  await panel.page.keyboard.press('Escape');
  await panel.detail.waitFor({ state: 'hidden' });
  assert.equal((await focused(panel)).what, 'listbox');
  assert.equal((await selected()).at, 2);
});

panelTest('from the search an arrow goes into the list, and Enter opens', async (panel) => {
  await panel.see('Prefers small commits');
  await panel.page.keyboard.press('/');
  await panel.page.keyboard.type('office closes');
  await panel.page.locator('.vl [aria-setsize="1"]').waitFor();
  await panel.page.keyboard.press('ArrowDown');
  assert.equal((await focused(panel)).what, 'listbox');
  await panel.page.keyboard.press('Enter');
  await panel.see('The office closes at six', '.detail .content');
});

panelTest('an answer that comes after the arrow leaves a row to open', async (panel) => {
  await panel.see('Prefers small commits');
  const whole = 'office closes';
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await panel.page.route('**/api/memory/search', async (route) => {
    if (route.request().postDataJSON().query === whole) await held;
    await route.continue();
  });
  await panel.page.keyboard.press('/');
  await panel.page.keyboard.type(whole.slice(0, -1));
  await panel.page.locator('.vl [aria-setsize="1"]').waitFor();
  await panel.page.keyboard.type(whole.at(-1));
  await panel.page.keyboard.press('ArrowDown');
  const answered = panel.page.waitForResponse((r) => r.request().postDataJSON()?.query === whole);
  answer();
  await (await answered).finished();
  await panel.page.locator('.vl:focus [aria-selected="true"]').waitFor();
  await panel.page.keyboard.press('Enter');
  await panel.see('The office closes at six', '.detail .content');
});

panelTest('a memory is changed without a mouse, and the focus is never lost', async (panel) => {
  await panel.openMemory('Renew the certificate');
  await panel.detail.getByRole('button', { name: 'Edit' }).focus();
  await panel.page.keyboard.press('Enter');
  assert.equal((await focused(panel)).name, 'Content');
  await panel.page.keyboard.press('Control+A');
  await panel.page.keyboard.type('Renew the certificate 1/2/3');
  await panel.page.keyboard.press('Control+Enter');
  await panel.see('Renew the certificate 1/2/3', '.detail .content');
  assert.equal((await focused(panel)).what, 'h2');
  assert.equal((await daemon.memory('certificate')).content, 'Renew the certificate 1/2/3');
  await panel.detail.getByRole('button', { name: 'Pin' }).focus();
  await panel.page.keyboard.press('Space');
  await panel.detail.getByRole('button', { name: 'Unpin' }).waitFor();
  assert.equal((await focused(panel)).what, 'h2');
  await panel.detail.getByRole('button', { name: 'Edit' }).focus();
  await panel.page.keyboard.press('Enter');
  await panel.page.keyboard.type('Nothing of this stays: ');
  await panel.page.keyboard.press('Escape'); // does not throw away what is being written
  assert.match(await panel.page.getByLabel('Content').last().inputValue(), /Nothing of this stays/);
  await panel.detail.getByRole('button', { name: 'Cancel' }).focus();
  await panel.page.keyboard.press('Enter');
  await panel.see('Renew the certificate 1/2/3', '.detail .content');
  assert.equal((await focused(panel)).what, 'h2');
});

panelTest('a question keeps the focus, and gives it back', async (panel) => {
  await panel.openMemory('Prefers small commits');
  const purge = panel.detail.getByRole('button', { name: 'Purge…' });
  for (const leave of ['Escape', 'Enter']) {
    await purge.focus();
    await panel.page.keyboard.press('Enter');
    await panel.page.locator('dialog[open]').waitFor();
    assert.equal((await focused(panel)).name, 'Cancel'); // the harmless answer comes first
    for (let i = 0; i < 5; i++) {
      await panel.page.keyboard.press('Tab');
      assert.equal(
        await panel.page.evaluate(
          () => document.activeElement === document.body || !!document.activeElement.closest('dialog'),
        ),
        true,
        'the focus left the question',
      );
    }
    await panel.page.keyboard.press('1'); // is no shortcut in here
    await panel.page.locator('dialog[open]').getByRole('button', { name: 'Cancel' }).focus();
    await panel.page.keyboard.press(leave);
    await panel.page.locator('dialog[open]').waitFor({ state: 'detached' });
    assert.equal((await focused(panel)).name, 'Purge…');
    await panel.see('Prefers small commits', '.detail .content');
  }
  assert.equal((await daemon.memory('commits')).status, 'active');
});

panelTest('language and theme are chosen and kept', async (panel) => {
  const background = () => panel.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await panel.page.getByRole('button', { name: 'Theme' }).click();
  const dark = await background();
  assert.notEqual(dark, light);
  await panel.page.getByRole('button', { name: '中文' }).click();
  await panel.see('添加记忆');
  assert.equal(await panel.page.locator('html').getAttribute('lang'), 'zh');
  await panel.see('实时', 'header');
  await panel.page.reload();
  await panel.page.locator('.dot.live').waitFor();
  await panel.see('添加记忆');
  assert.equal(await background(), dark);
  await panel.page.getByRole('button', { name: 'English' }).click();
  await panel.page.getByRole('button', { name: 'Theme' }).click();
  await panel.see('Add memory');
  assert.equal(await background(), light);
});
