// Every view shows what is in the store, in both languages and both themes, and nothing in it keeps anybody out.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, viewNames, withPanel } from './lib/panel.mjs';
import { day, summary } from './lib/seed.mjs';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

// What tells that a view has drawn its own content, in any language.
const seen = {
  memories: 'Prefers small commits',
  recall: null,
  changes: /Invoices are sent on Tuesdays/,
  logs: 'timetable service',
  sessions: 'Please remember',
  summary: null,
  review: /It would lose a number|会丢失数字/,
  graph: /No entities yet|还没有实体/,
  files: null,
  hosts: 'memsidecar install claude-code',
  status: 'AdminService/Info',
};

// Pictures of the documentation: view, language and theme.
const pictures = {
  'memories-en-light': 'panel',
  'changes-en-dark': 'panel-changes',
  'recall-zh-light': 'panel-recall-zh',
  'sessions-zh-dark': 'panel-sessions-zh',
};

async function settle(panel, name) {
  await panel.view(name, seen[name]);
  if (name === 'memories') await panel.openMemory('Prefers small commits');
  if (name === 'review') await panel.see(`logs/${day(3)}.json`);
  if (name === 'sessions')
    await panel.page
      .locator('button[data-session=lesson]')
      .click()
      .then(() => panel.see('I will.'));
  if (name === 'recall') {
    await panel.page.locator('#prompt').fill('How small should commits be?');
    await panel.see('Prefers small commits', '.told');
  }
  if (name === 'summary') await panel.until((text) => document.querySelector('textarea')?.value === text, summary);
  if (name === 'changes')
    await panel.page
      .locator('summary')
      .first()
      .click()
      .then(() => panel.page.locator('.change').first().waitFor());
  if (name === 'files') await panel.page.locator('.verdict.ok').waitFor();
  if (name === 'status') await panel.page.locator('.plot canvas').nth(3).waitFor();
}

for (const locale of ['en-US', 'zh-CN']) {
  for (const colorScheme of ['light', 'dark']) {
    // English light and Chinese dark show each view in each language and each theme; the other two are for the pictures.
    if (!process.env.MEMSIDECAR_DOC_IMAGES && (locale === 'zh-CN') !== (colorScheme === 'dark')) continue;
    test(`all views, ${locale}, ${colorScheme}`, () =>
      withPanel(browser, daemon, { locale, colorScheme }, async (panel) => {
        const background = await panel.page.evaluate(() =>
          getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number),
        );
        assert.equal(
          background.every((c) => c > 128),
          colorScheme === 'light',
          `background ${background}`,
        );
        const zh = locale === 'zh-CN';
        assert.equal(await panel.page.locator('html').getAttribute('lang'), zh ? 'zh' : 'en');
        const names = await panel.texts('nav button');
        assert.equal(names[0], zh ? '记忆' : 'Memories');
        assert.equal(
          names.every((n) => /\p{Script=Han}/u.test(n) === zh),
          true,
          names.join(),
        );
        for (const name of viewNames) {
          await settle(panel, name);
          if (zh === (colorScheme === 'dark')) await panel.accessible(`${name}, ${locale}, ${colorScheme}`); // each view in each language and each theme
          const picture = `${name}-${zh ? 'zh' : 'en'}-${colorScheme}`;
          await panel.shot(picture);
          if (pictures[picture]) await panel.image(pictures[picture]);
        }
      }));
  }
}
