// On a phone: every view can be reached and fits, and a new store says how to begin.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, viewNames, withPanel } from './lib/panel.mjs';

// What a view has when it is complete, in both languages.
const seen = {
  changes: ['saved by a client', '客户端写入'],
  sessions: ['Please remember', 'Please remember'],
  review: ['It would lose a number', '会丢失数字'],
  files: ['Valid, saved', '有效，已保存'],
  hosts: ['Claude Code', 'Claude Code'],
  status: ['All settings', '全部设置'],
};
const longSpace = 'a-project-whose-directory-has-a-rather-long-name';

let browser, daemon, fresh;
before(async () => {
  [browser, daemon, fresh] = await Promise.all([
    launch(),
    Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE }),
    Daemon.open(),
  ]);
  await daemon.run('add', '--space', longSpace, 'A space with a name that is longer than a phone is wide');
});
after(async () => {
  await browser?.close();
  await Promise.all([daemon?.close(), fresh?.close()]);
});

const [width, height] = [360, 740]; // of the smallest phone in use

// outside names what of the page sticks out of its width. What has a bar of its own to scroll it sideways may be wider.
const outside = (page) =>
  page.evaluate((wide) => {
    const scrolls = (el) =>
      el && (/auto|scroll/.test(getComputedStyle(el).overflowX) ? el.id !== 'main' : scrolls(el.parentElement));
    const name = (el) => `${el.localName}.${el.className} ${el.textContent.slice(0, 30)}`;
    return [...document.querySelectorAll('#app *')]
      .filter((el) => {
        const box = el.getBoundingClientRect();
        return el.checkVisibility() && box.width > 1 && (box.left < 0 || box.right > wide + 0.5) && !scrolls(el);
      })
      .map(name);
  }, width);

for (const locale of ['en-US', 'zh-CN'])
  test(`every view is reached and fits on a small phone, ${locale}`, () =>
    withPanel(browser, daemon, { locale }, async (panel) => {
      const { page } = panel;
      const zh = locale === 'zh-CN';
      await page.setViewportSize({ width, height });
      const menu = page.locator('button.menu');
      await page.getByLabel(zh ? '空间' : 'Space', { exact: true }).selectOption(longSpace);
      await page.getByLabel(zh ? '空间' : 'Space', { exact: true }).selectOption('default');
      for (const name of viewNames) {
        await menu.click();
        assert.equal(await page.locator('nav button:visible').count(), viewNames.length);
        await panel.view(name, seen[name]?.[zh ? 1 : 0]);
        assert.equal(await page.locator('nav').isVisible(), false);
        assert.deepEqual(await outside(page), [], name);
        const head = await page.locator('header').boundingBox();
        assert.ok(head.height < 60, `the header of ${name} is ${head.height} high`);
        await panel.shot(`phone-${name}-${zh ? 'zh' : 'en'}`);
      }
      await menu.click();
      await panel.view('memories', 'Prefers small commits');
      const bar = await page.locator('.view.memories > .bar').first().boundingBox();
      assert.ok(bar.height < height / 6, `the bar is ${bar.height} high`);
      await panel.row('Prefers small commits').click();
      await panel.detail.getByText('Prefers small commits').first().waitFor();
      const [detail, main] = [await panel.detail.boundingBox(), await page.locator('main').boundingBox()];
      assert.deepEqual([detail.width, detail.height], [main.width, main.height]);
      assert.deepEqual(await outside(page), [], 'a memory');
      await panel.shot(`phone-${zh ? 'zh' : 'en'}`);
      await panel.detail.getByRole('button', { name: zh ? '关闭' : 'Close' }).click();
      await page.getByRole('button', { name: zh ? '选择' : 'Select', exact: true }).click();
      assert.deepEqual(await outside(page), [], 'choosing several');
      await panel.shot(`phone-select-${zh ? 'zh' : 'en'}`);
    }));

test('the bar of the memories leaves a small phone to the memories, in both languages', async () => {
  for (const locale of ['en-US', 'zh-CN'])
    await withPanel(browser, daemon, { locale }, async (panel) => {
      const { page } = panel;
      const zh = locale === 'zh-CN';
      await page.setViewportSize({ width: 360, height: 740 });
      await panel.see('Prefers small commits');
      const height = async () => {
        const box = await page.locator('section.view.memories').boundingBox();
        const list = await page.locator('section.view.memories .split').boundingBox();
        return list.y - box.y;
      };
      assert.ok((await height()) <= 120, `the list begins ${await height()} below the bar's top, ${locale}`);
      // All of the filters are a fold, which closes again; what it chose counts on its button.
      const filters = page.locator('button[aria-controls=filters]');
      await filters.click();
      await page.getByLabel(zh ? '分类' : 'Category', { exact: true }).selectOption('preferences');
      await panel.shot(`phone-open-${zh ? 'zh' : 'en'}`);
      assert.ok((await height()) <= 740 / 2, `the open filters take ${await height()}, ${locale}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `the open filters are ${width} wide`);
      await filters.click();
      assert.ok((await height()) <= 120);
      assert.match(await filters.innerText(), /\(1\)/);
      await panel.shot(`phone-bar-${zh ? 'zh' : 'en'}`);
      // The menu names the view that is shown, and its entry can be seen when the menu is open.
      await page.locator('button.menu').click();
      await page.locator('nav button[data-view=status]').click();
      await page.locator('button.menu').click();
      const chosen = await page.locator('nav button[aria-current=page]').boundingBox();
      assert.ok(chosen.y >= 0 && chosen.y + chosen.height <= 740, `the chosen view is at ${chosen.y}`);
      assert.match(await page.locator('button.menu').innerText(), zh ? /状态/ : /Status/);
    });
});

test('what waits for a decision is counted beside the name of its view', () =>
  withPanel(browser, daemon, {}, async (panel) => {
    const badge = panel.page.locator('nav button[data-view=review] .badge');
    await badge.getByText('2', { exact: true }).waitFor();
    await daemon.run('review', 'reject', (await daemon.json('review', 'list')).proposals[0].id);
    await badge.getByText('1', { exact: true }).waitFor();
  }));

test('an empty store says how to begin: connect, import with undo, add; then it is exported and backed up', () =>
  withPanel(browser, fresh, {}, async (panel) => {
    const { page } = panel;
    await panel.see('Three ways to begin');
    await panel.accessible('an empty store');
    await panel.shot('empty');
    await page.getByRole('button', { name: /Connect an agent/ }).click();
    await page.locator('section.view.hosts').waitFor();
    await panel.view('memories', 'Three ways to begin');
    await page.getByRole('button', { name: /Import a file/ }).click();
    const memories = Array.from({ length: 3 }, (_, i) => ({ id: `m${i}`, category: 'facts', content: `Fact ${i}` }));
    const buffer = Buffer.from(JSON.stringify({ version: 2, memories }));
    await page.locator('input[type=file]').setInputFiles({ name: 'memory.json', mimeType: 'application/json', buffer });
    await panel.see('memories: 3 new', 'dialog');
    assert.equal((await fresh.json('list')).memories.length, 0);
    await panel.answer('Import');
    await panel.see('Imported.', '#says');
    assert.equal((await fresh.json('list')).memories.length, 3);
    await panel.press('Undo', page.locator('#says'));
    await panel.answer('Undo');
    await panel.see('Undone.', '#says');
    assert.equal((await fresh.json('list')).memories.length, 0);
    await panel.view('memories', 'Three ways to begin');
    await page
      .locator('.begin')
      .getByRole('button', { name: /Add memory/ })
      .click();
    await page.getByLabel('Content').last().fill('The first memory of all');
    await panel.press('Save');
    await panel.row('The first memory of all').waitFor();

    await panel.view('status', 'Back up everything');
    await panel.see('Days until a daily log is archived', '#transfer');
    // The plots of a new store show a week, not ninety days.
    await page.getByText('As a table').first().click();
    assert.equal((await panel.texts('.figures[open] tbody tr')).length, 7);
    assert.match(await page.locator('#transfer').innerText(), /Log file of the daemon[^]*daemon.*\.log/);
    const save = async (name) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
      const path = join(fresh.dir, file.suggestedFilename());
      await file.saveAs(path);
      return path;
    };
    assert.match(await readFile(await save('Export all spaces'), 'utf8'), /The first memory of all/);
    assert.match(await readFile(await save('Export this space as memory.json'), 'utf8'), /The first memory of all/);
    const backup = await save('Back up everything');
    assert.match(await fresh.run('backup', 'verify', backup), /intact/);
    panel.expect(/400 .*import/);
    await writeFile(join(fresh.dir, 'foreign.json'), '[{"memory":"of another system"}]');
    await page.locator('input[type=file]').setInputFiles(join(fresh.dir, 'foreign.json'));
    await panel.see('memsidecar import foreign.json', '#says');
  }));
