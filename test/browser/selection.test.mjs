// Several memories at once, and the filters above the list; each looked at from outside as well.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const panelTest = (name, f, options) => test(name, () => withPanel(browser, daemon, options, f));
const tags = async (...ids) => Promise.all(ids.map(async (id) => (await daemon.memory(id)).tags));

// select begins to choose, and chooses the rows that say the texts.
async function select(panel, ...texts) {
  await panel.page.getByRole('button', { name: 'Select', exact: true }).click();
  for (const text of texts) await panel.row(text).click();
  await panel.see(`${texts.length} selected`, '.chosen');
}

const bar = (panel, name) => panel.page.locator('.chosen').getByRole('button', { name, exact: true });

// fillIn answers a dialog with fields.
async function fillIn(panel, values) {
  const dialog = panel.page.locator('dialog[open]');
  for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function undo(panel) {
  await panel.page.locator('#says').getByRole('button', { name: 'Undo', exact: true }).last().click(); // the newest
  await panel.answer('Undo');
  await panel.see('Undone.', '#says');
}

panelTest('several memories are tagged in one operation, which one undo takes back', async (panel) => {
  await panel.see('Prefers small commits');
  await select(panel, 'Prefers small commits', 'Postgres 15', 'The API listens');
  await panel.accessible('choosing');
  await panel.shot('selection');
  const [before] = await daemon.newest();
  await bar(panel, 'Tags…').click();
  await fillIn(panel, { 'Tags to add, with commas': 'work, 项目', 'Tags to remove': 'git' });
  await panel.see('3 memories changed.', '#says');
  assert.deepEqual(await tags('commits', 'staging', 'api'), [
    ['style', 'work', '项目'],
    ['work', '项目'],
    ['work', '项目'],
  ]);
  const [operation, previous] = await daemon.newest(2);
  assert.deepEqual([operation.change_count, operation.actor, previous.id], [3, 'client', before.id]);
  await undo(panel);
  assert.deepEqual(await tags('commits', 'staging', 'api'), [['git', 'style'], [], []]);
});

panelTest(
  'several memories are moved to another space and back, pinned, put in a category, and forgotten',
  async (panel) => {
    await panel.see('Prefers small commits');
    await select(panel, 'Postgres 15', 'The API listens');
    await bar(panel, 'Move…').click();
    await fillIn(panel, { Space: 'work' });
    await panel.row('Postgres 15').waitFor({ state: 'detached' });
    assert.deepEqual(
      [(await daemon.memory('staging', 'work')).content, (await daemon.memory('staging')).status],
      ['The staging database is Postgres 15', 'retired'],
    );
    await undo(panel);
    await panel.row('Postgres 15').waitFor();
    assert.equal((await daemon.memory('api')).status, 'active');
    assert.equal((await daemon.json('list', '--space', 'work')).memories.length, 1);

    await select(panel, 'Postgres 15', 'The API listens');
    await bar(panel, 'Pin').click();
    await panel.row('Postgres 15').getByRole('img', { name: 'Pinned' }).waitFor();
    assert.deepEqual([(await daemon.memory('staging')).pinned, (await daemon.memory('api')).pinned], [true, true]);
    await select(panel, 'Postgres 15', 'The API listens');
    await bar(panel, 'Category…').click();
    await fillIn(panel, { Category: 'general' });
    await panel.row('Postgres 15').getByText('General').waitFor();
    await select(panel, 'Postgres 15', 'The API listens');
    await bar(panel, 'Forget').click();
    await panel.row('Postgres 15').waitFor({ state: 'detached' });
    assert.equal((await daemon.newest())[0].change_count, 4); // two memories, and that both are not learnt again
    await undo(panel);
    await panel.row('Postgres 15').waitFor();
  },
);

panelTest('a memory that changed meanwhile is left as it is, and that is said', async (panel) => {
  await panel.see('Prefers small commits');
  await select(panel, 'Explaining the plan', 'Renew the certificate');
  await panel.page.route(
    '**/api/memory/changes?*',
    async (route) => {
      await daemon.run('update', 'plan', '--salience', '0.6');
      await route.continue();
    },
    { times: 1 },
  );
  await bar(panel, 'Pin').click();
  await panel.see('1 memory changed.\n1 left as it is: changed meanwhile', '#says');
  assert.deepEqual([(await daemon.memory('plan')).pinned, (await daemon.memory('certificate')).pinned], [false, true]);
});

panelTest('several memories are purged after a preview', async (panel) => {
  await daemon.run('add', 'Zebra one', '--id', 'zebra1');
  await daemon.run('add', 'Zebra two', '--id', 'zebra2');
  await panel.row('Zebra two').waitFor();
  await select(panel, 'Zebra one', 'Zebra two');
  await bar(panel, 'Purge…').click();
  await panel.see(/memories: 2/, 'dialog');
  await panel.answer('Cancel');
  assert.equal((await daemon.memory('zebra1')).status, 'active');
  await bar(panel, 'Purge…').click();
  await panel.answer('Purge…');
  await panel.row('Zebra two').waitFor({ state: 'detached' });
  await assert.rejects(daemon.run('get', 'zebra1'));
});

panelTest('rows are chosen without a mouse', async (panel) => {
  await panel.see('Prefers small commits');
  await panel.page.getByRole('button', { name: 'Select', exact: true }).click();
  const list = panel.page.getByRole('listbox', { name: 'Memories' });
  await list.focus();
  for (const key of ['Home', 'Space', 'ArrowDown', 'ArrowDown', 'Shift+Space']) await panel.page.keyboard.press(key);
  await panel.see('3 selected', '.chosen');
  assert.equal(await panel.page.locator('.vl-row[aria-selected=true]').count(), 3);
  await panel.page.keyboard.press('Space');
  await panel.see('2 selected', '.chosen');
  await panel.page.keyboard.press('Control+A');
  await panel.see('12 selected', '.chosen');
  await panel.page.keyboard.press('Escape');
  await panel.page.locator('.chosen').waitFor({ state: 'hidden' });
  assert.equal(await list.getAttribute('aria-multiselectable'), null);
});

panelTest('filters narrow the list and the search, and the order follows the search', async (panel) => {
  const count = (n) => panel.until((k) => document.querySelector('.bar > .dim')?.textContent === String(k), n);
  const { page } = panel;
  await count(12);
  await page.getByRole('button', { name: 'Filters' }).click();
  await page.getByLabel('Tags', { exact: true }).fill('git');
  await count(1);
  await panel.see('Prefers small commits');
  await page.getByLabel('Tags', { exact: true }).fill('');
  await count(12);
  await page.getByLabel('Source', { exact: true }).selectOption({ label: 'learned from a session' });
  await panel.until(() => Number(document.querySelector('.bar > .dim').textContent) < 4);
  await panel.see('Invoices are sent on Tuesdays');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await count(12);
  await page.getByLabel('Least importance').selectOption('0.8');
  await panel.until(() => Number(document.querySelector('.bar > .dim').textContent) < 6);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('Created from').fill('2100-01-01');
  await panel.see('Nothing here.', '.empty');
  await page.getByLabel('Created from').fill('2020-01-01');
  await count(12);
  await page.getByLabel('Created from').fill('');
  await page.getByLabel('all spaces').check();
  await count(13);
  await panel.row('The quarterly report is due on Friday').getByText('Space work').waitFor();
  await page.getByRole('searchbox').fill('when is the quarterly report due');
  await panel.until(() => document.querySelector('.vl-row .score'));
  await panel.row('The quarterly report is due on Friday').click();
  await panel.see('The quarterly report is due on Friday', '.detail .content');
  const order = page.getByLabel('Order', { exact: true });
  assert.equal(await order.inputValue(), 'match');
  await page.getByLabel('Strength', { exact: true }).selectOption('strong');
  await panel.until(() => ![...document.querySelectorAll('.vl-row .strength')].some((s) => s.textContent !== 'strong'));
  await order.selectOption('salience');
  await page.getByRole('searchbox').fill('');
  await count(13);
  assert.equal(await order.inputValue(), 'created');
});
