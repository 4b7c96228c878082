// How one gets in, and what one sees when one does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { House } from './lib/house.mjs';
import { launch, Panel, withPanel } from './lib/panel.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

// withHouse runs a test on a daemon of its own.
async function withHouse(options, f) {
  const house = await House.open({ store: process.env.MEMSIDECAR_TEST_STORE, ...options });
  try {
    await f(house);
  } finally {
    await house.close();
  }
}

test('an address lets one tab in, once', () => withHouse({}, async (house) => {
  const address = await house.address();
  await withPanel(browser, house, { address }, async (panel) => {
    await panel.see('Prefers small commits');
    assert.equal(await panel.page.evaluate(() => location.hash), '#memories'); // the code is gone from the address
    const other = await panel.context.newPage();
    panel.expect(/status of 401/);
    await other.goto(address);
    await other.getByText('this address was used before').waitFor();
    assert.equal(await other.locator('nav').count(), 0);
    assert.doesNotMatch(await other.content(), /Prefers small commits/);
    const plain = await panel.context.newPage();
    await plain.goto(`${house.url}/`);
    await plain.getByText('in a terminal').waitFor();
    await panel.page.bringToFront();
    await house.run('add', 'The first tab goes on');
    await panel.see('The first tab goes on');
  });
}));

test('without HTTP the command serves the panel itself', () => withHouse({ more: { MEMSIDECAR_HTTP_LISTEN: '' } }, async (house) => {
  const ui = spawn(process.env.MEMSIDECAR_PROGRAM, ['ui', '--no-open', '--data', house.data], { env: house.env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(ui, 'exit');
  try {
    let printed = '';
    for await (const chunk of ui.stdout) if ((printed += chunk).includes('\n')) break;
    const address = printed.trim();
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/#code=[a-z0-9]+$/);
    house.url = new URL(address).origin;
    await withPanel(browser, house, { address }, async (panel) => {
      await panel.openMemory('Prefers small commits');
      await panel.press('Pin');
      await panel.detail.getByRole('button', { name: 'Unpin' }).waitFor();
      assert.equal((await house.memory('commits')).pinned, true);
    });
  } finally {
    ui.kill('SIGINT');
    await ended;
  }
}));

test('a daemon that has gone is told of, and what was typed stays', () => withHouse({}, async (house) => {
  const panel = await Panel.open(browser, house, {});
  await panel.openMemory('Prefers small commits');
  await panel.press('Edit');
  const box = panel.page.getByLabel('Content').last();
  await box.fill('Typed while the daemon goes');
  await house.stop();
  await panel.see('not connected', 'header');
  await panel.press('Save');
  await panel.see('The daemon does not answer', '[role=alert]');
  assert.equal(await box.inputValue(), 'Typed while the daemon goes');
  await panel.shot('gone');
  // It comes back at the same address, with another token.
  house.env.MEMSIDECAR_HTTP_LISTEN = new URL(house.url).host;
  await house.start();
  await panel.see('no longer let in', '#says');
  assert.equal(await box.inputValue(), 'Typed while the daemon goes');
  panel.expect(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|status of 401/);
  await panel.close();
  assert.equal((await house.memory('commits')).content, 'Prefers small commits');
}));
