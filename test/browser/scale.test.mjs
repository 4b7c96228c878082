// Ten thousand memories: the page holds what can be seen of them, and no more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';

const n = 10000;
let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_MANY })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

test('ten thousand memories', () =>
  withPanel(browser, daemon, {}, async (panel) => {
    const { page } = panel;
    const most = async (where) => {
      const rows = await page.locator('.vl-row').count();
      assert.ok(rows > 0 && rows < 50, `${rows} rows in the page ${where}`);
    };
    const counted = (text) => panel.until((t) => document.querySelector('.bar > .dim')?.textContent === t, text);
    await panel.row('Memory 9999:').waitFor();
    await counted(String(n));
    await panel.until(
      () => performance.getEntriesByType('resource').filter((r) => r.name.includes('/entries?')).length >= 11,
    ); // all pages
    await most('at the beginning');
    assert.equal(
      await page.evaluate(
        () => document.querySelector('.vl-space').offsetHeight / document.querySelector('.vl-row').offsetHeight,
      ),
      n,
    );
    for (const at of [0.25, 0.5, 0.75, 1]) {
      await page.evaluate((part) => {
        const list = document.querySelector('.vl');
        list.scrollTop = list.scrollHeight * part;
      }, at);
      const first = Math.min(n - 12, Math.floor(at * n));
      await panel.row(`Memory ${n - 1 - first}:`).waitFor();
      await most(`at ${at}`);
      assert.equal(
        (await panel.texts('.vl-row')).some((t) => t.trim() === '…'),
        false,
      );
    }
    await page.getByRole('listbox').focus();
    await page.keyboard.press('Home');
    await panel.row('Memory 9999:').waitFor();
    await page.keyboard.press('End');
    await panel.row('Memory 0:').waitFor();
    await most('after End');
    await panel.shot('many');

    await page.getByLabel('Category', { exact: true }).selectOption('procedural');
    await counted(String(Math.ceil((n - 4) / 6)));
    await most('of one category');
    await page.getByLabel('Category', { exact: true }).selectOption('');
    await page.getByRole('searchbox').fill('needle haystack');
    await panel.until(
      () =>
        document.querySelector('.vl-row .score') &&
        document.querySelector('.vl-row')?.textContent.includes('A needle lies in the haystack'),
    );
    await most('found');
    await page.getByRole('searchbox').fill('');
    await counted(String(n));
    await daemon.run('add', 'One more than ten thousand');
    await panel.row('One more than ten thousand').waitFor();
    await counted(String(n + 1));
    await most('after one more');
  }));
