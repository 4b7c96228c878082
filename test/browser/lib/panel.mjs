// The panel in Chromium, watched: what it says on the console, what it asks for and from whom, and what its policy
// stops.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const launch = (...args) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
    ],
  });

export const viewNames = [
  'memories',
  'recall',
  'changes',
  'logs',
  'sessions',
  'summary',
  'review',
  'graph',
  'files',
  'hosts',
  'status',
];

export class Panel {
  // open lets a new tab in and waits until it is live.
  static async open(browser, daemon, { locale = 'en-US', colorScheme = 'light', address } = {}) {
    const panel = new Panel();
    panel.daemon = daemon;
    panel.context = await browser.newContext({
      locale,
      colorScheme,
      timezoneId: process.env.TZ,
      viewport: { width: 1280, height: 800 },
    });
    panel.problems = [];
    panel.expected = [];
    panel.context.on('request', (r) => {
      if (new URL(r.url()).origin !== daemon.url) panel.problems.push(`asked for ${r.url()}`);
    });
    panel.page = await panel.context.newPage();
    panel.page.setDefaultTimeout(30000);
    panel.context.on('console', (m) => {
      if (['error', 'warning', 'assert'].includes(m.type()))
        panel.problems.push(`${m.type()}: ${m.text()} (${m.location().url})`);
    });
    panel.context.on('weberror', (e) => panel.problems.push(`uncaught: ${e.error().message} ${e.error().stack}`));
    await panel.context.addInitScript(() =>
      addEventListener('securitypolicyviolation', (e) =>
        console.error(`policy: ${e.violatedDirective} stopped ${e.blockedURI}`),
      ),
    );
    await panel.page.goto(address ?? (await daemon.address()));
    await panel.page.locator('.dot.live').waitFor();
    return panel;
  }

  // expect names something that the console will say and that is right, such as a refused request.
  expect(pattern) {
    this.expected.push(pattern);
  }

  // close checks that nothing was said, asked or stopped that should not have been.
  async close() {
    await this.context.close();
    assert.deepEqual(
      this.problems.filter((p) => !this.expected.some((e) => e.test(p))),
      [],
    );
  }

  // view goes to a view by its button and waits until something of it can be seen.
  async view(name, seen) {
    await this.page.locator(`nav button[data-view=${name}]`).click();
    await this.page.locator(`section.view.${name}`).waitFor();
    if (seen) await this.see(seen);
  }

  // see waits for a text within a part of the page.
  async see(text, within = '#app') {
    await this.page.locator(within).getByText(text).first().waitFor();
  }

  async gone(text, within = '#app') {
    await this.page.locator(within).getByText(text).first().waitFor({ state: 'hidden' });
  }

  row(text) {
    return this.page.locator('.vl-row').filter({ hasText: text });
  }

  get detail() {
    return this.page.locator('.detail');
  }

  // openMemory opens the one row that says a text.
  async openMemory(text) {
    await this.row(text).click();
    await this.detail.getByText(text).first().waitFor();
    await this.detail.locator('.change').first().waitFor(); // its history
  }

  // press presses one of the buttons beside a memory.
  press(name, within = this.detail) {
    return within.getByRole('button', { name, exact: true }).first().click();
  }

  // answer answers the question that is asked, and waits until it is gone.
  async answer(name) {
    const dialog = this.page.locator('dialog[open]');
    await dialog.getByRole('button', { name, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  // texts are the texts of all that fit a selector.
  texts(selector) {
    return this.page.locator(selector).allInnerTexts();
  }

  // hold keeps the answers to requests of a path back. Of what it returns, asked is a promise of the next request, and
  // release lets all answers come and returns when that to the first was drawn.
  async hold(path) {
    let release;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    const asked = this.page.waitForRequest(path);
    await this.page.route(path, async (route) => {
      await held;
      await route.continue();
    });
    return {
      asked,
      release: async () => {
        const late = this.page.waitForResponse(path);
        release();
        await (await late).finished();
        await this.page.evaluate(() => new Promise((done) => setTimeout(done)));
      },
    };
  }

  // until waits for a condition in the page.
  until(f, arg) {
    return this.page.waitForFunction(f, arg);
  }

  async accessible(where) {
    await this.page.evaluate(axe);
    const faults = await this.page.evaluate(async () =>
      (await globalThis.axe.run()).violations
        .filter((v) => v.impact === 'serious' || v.impact === 'critical')
        .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(' | ')}`),
    );
    assert.deepEqual(faults, [], where);
  }

  // image writes a small picture for the documentation, when a directory is named for it.
  async image(name) {
    const dir = process.env.MEMSIDECAR_DOC_IMAGES;
    if (!dir) return;
    await this.page.setViewportSize({ width: 1000, height: 620 });
    await this.page.evaluate(() => document.activeElement?.blur());
    const session = await this.context.newCDPSession(this.page);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 60 });
    await writeFile(join(dir, `${name}.webp`), Buffer.from(data, 'base64'));
    await this.page.setViewportSize({ width: 1280, height: 800 });
  }

  async shot(name) {
    const dir = process.env.MEMSIDECAR_SCREENSHOTS;
    if (!dir) return;
    await mkdir(dir, { recursive: true });
    await this.page.screenshot({ path: join(dir, `${name}.png`) });
  }
}

// watching checks the panel when a test is through with it, also when the test failed.
export async function withPanel(browser, daemon, options, f) {
  const panel = await Panel.open(browser, daemon, options);
  let failed = true;
  try {
    await f(panel);
    failed = false;
  } catch (error) {
    await panel.shot(`failed-${process.pid}-${Date.now()}`).catch(() => {});
    error.message += `\nthe page's problems: ${JSON.stringify(panel.problems)}`;
    throw error;
  } finally {
    if (failed) await panel.context.close();
    else await panel.close();
  }
}
