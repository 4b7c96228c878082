// How one gets in, and what one sees when one does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, Panel, withPanel } from './lib/panel.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

// withDaemon runs a test on a daemon of its own.
async function withDaemon(options, f) {
  const daemon = await Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE, ...options });
  try {
    await f(daemon);
  } finally {
    await daemon.close();
  }
}

test('an address lets one tab in, once', () =>
  withDaemon({}, async (daemon) => {
    const address = await daemon.address();
    await withPanel(browser, daemon, { address }, async (panel) => {
      await panel.see('Prefers small commits');
      assert.equal(await panel.page.evaluate(() => location.hash), '#memories'); // the code is gone from the address
      const other = await panel.context.newPage();
      panel.expect(/status of 401/);
      await other.goto(address);
      await other.getByText('this address was used').waitFor();
      assert.equal(await other.locator('nav').count(), 0);
      assert.doesNotMatch(await other.content(), /Prefers small commits/);
      const plain = await panel.context.newPage();
      await plain.goto(`${daemon.url}/`);
      await plain.getByText('in a terminal').waitFor();
      await panel.page.bringToFront();
      await daemon.run('add', 'The first tab goes on');
      await panel.see('The first tab goes on');
    });
  }));

test('without HTTP the command serves the panel itself', () =>
  withDaemon({ more: { MEMSIDECAR_HTTP_LISTEN: '' } }, async (daemon) => {
    const ui = spawn(process.env.MEMSIDECAR_PROGRAM, ['ui', '--no-open', '--data', daemon.data], {
      env: daemon.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(ui, 'exit');
    try {
      let printed = '';
      for await (const chunk of ui.stdout) if ((printed += chunk).includes('\n')) break;
      const address = printed.trim();
      assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/#code=[a-z0-9]+$/);
      daemon.url = new URL(address).origin;
      await withPanel(browser, daemon, { address }, async (panel) => {
        await panel.openMemory('Prefers small commits');
        await panel.press('Pin');
        await panel.detail.getByRole('button', { name: 'Unpin' }).waitFor();
        assert.equal((await daemon.memory('commits')).pinned, true);
      });
    } finally {
      ui.kill('SIGINT');
      await ended;
    }
  }));

test('a daemon that has gone is told of, and what was typed stays', () =>
  withDaemon({}, async (daemon) => {
    const panel = await Panel.open(browser, daemon, {});
    await panel.openMemory('Prefers small commits');
    await panel.press('Edit');
    const box = panel.page.getByLabel('Content').last();
    await box.fill('Typed while the daemon goes');
    await daemon.stop();
    await panel.see('Not connected', 'header');
    await panel.press('Save');
    await panel.see('The daemon does not answer', '[role=alert]');
    assert.equal(await box.inputValue(), 'Typed while the daemon goes');
    await panel.shot('gone');
    // It comes back at the same address, with another token.
    daemon.env.MEMSIDECAR_HTTP_LISTEN = new URL(daemon.url).host;
    await daemon.start();
    await panel.see('has lost its access', '#says');
    assert.equal(await box.inputValue(), 'Typed while the daemon goes');
    panel.expect(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|status of 401/);
    await panel.close();
    assert.equal((await daemon.memory('commits')).content, 'Prefers small commits');
  }));
