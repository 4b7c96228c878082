// How long the panel takes on ten thousand memories, beside the targets. Nothing fails here: the figures are of the
// machine as it is.
import { createServer } from 'node:http';
import { Daemon } from './lib/daemon.mjs';
import { launch, Panel } from './lib/panel.mjs';

const loads = 7,
  queries = ['needle', 'haystack behind', 'invoice meeting', '会议', 'what does the customer report say', 'asteroid'];
const at = (list, part) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];
const say = (what, list, target) =>
  console.log(
    `${what.padEnd(44)} p50 ${at(list, 0.5).toFixed(0).padStart(5)} ms   p95 ${at(list, 0.95).toFixed(0).padStart(5)} ms   most ${Math.max(
      ...list,
    )
      .toFixed(0)
      .padStart(5)} ms   n ${String(list.length).padStart(3)}${target ? `   target ≤ ${target} ms` : ''}`,
  );

const [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_MANY })]);

// watch notes when the first row is in the page, and for each key in the search when the next frame has its results.
function watch() {
  globalThis.marks = { rows: 0, keys: [] };
  let waiting = 0;
  const frame = (f) => requestAnimationFrame(() => setTimeout(f)); // when that frame is on the screen
  addEventListener(
    'input',
    (e) => {
      if (e.target.type === 'search') waiting = e.timeStamp;
    },
    true,
  );
  new MutationObserver((list) => {
    if (!list.some((m) => m.target.matches?.('.vl-space, .view.memories > .bar > .dim'))) return; // the list, or its count, which is written even when it stays the same
    if (!globalThis.marks.rows && document.querySelector('.vl-row .text'))
      frame(() => {
        globalThis.marks.rows ||= performance.now();
      });
    if (waiting) {
      const began = waiting;
      waiting = 0;
      frame(() => globalThis.marks.keys.push(performance.now() - began));
    }
  }).observe(document, { childList: true, subtree: true });
}

// startStatic serves a page of one file: as many bytes as the panel loads until it shows memories, and as many rows.
async function startStatic(bytes) {
  const row = '<p>A memory of the list, as long as most of them are, with words of no meaning.</p>';
  const head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>static</title><body>';
  const page = head + row.repeat(14) + `<!--${'x'.repeat(Math.max(0, bytes - head.length - 14 * row.length))}-->`;
  const server = createServer((req, res) => res.setHeader('Content-Type', 'text/html; charset=utf-8').end(page));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

// paint is the first paint of the page that a context opens at an address.
async function paint(address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(address);
  const at = await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const value = await at.jsonValue();
  await context.close();
  return value;
}

let fixed; // the server of the static page
const staticPaint = [];
const firstPaint = [],
  firstRows = [],
  all = [],
  keys = [],
  scrolls = [];
try {
  for (let n = 0; n < loads; n++) {
    const panel = new Panel();
    const context = await browser.newContext({
      locale: 'en-US',
      timezoneId: process.env.TZ,
      viewport: { width: 1280, height: 800 },
    });
    panel.page = await context.newPage();
    await panel.page.addInitScript(watch);
    await panel.page.goto(await daemon.address());
    await panel.until(() => globalThis.marks.rows > 0);
    firstRows.push(await panel.page.evaluate(() => globalThis.marks.rows));
    firstPaint.push(
      await panel.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime),
    );
    // The weight of what was loaded by the time that memories were shown.
    const weight = await panel.page.evaluate(() =>
      [performance.getEntriesByType('navigation')[0], ...performance.getEntriesByType('resource')]
        .filter((r) => r.responseEnd && r.responseEnd <= globalThis.marks.rows)
        .reduce((sum, r) => sum + r.encodedBodySize, 0),
    );
    fixed ??= await startStatic(weight);
    staticPaint.push(await paint(`http://127.0.0.1:${fixed.address().port}/`));
    await panel.until(
      () => performance.getEntriesByType('resource').filter((r) => r.name.includes('/entries?')).length >= 11,
    );
    all.push(
      await panel.page.evaluate(() =>
        Math.max(
          ...performance
            .getEntriesByType('resource')
            .filter((r) => r.name.includes('/entries?'))
            .map((r) => r.responseEnd),
        ),
      ),
    );
    if (n === loads - 1) {
      // Each key waits until the one before has its results, and so pays for the whole way.
      for (const query of queries) {
        await panel.page.getByRole('searchbox').fill('');
        await panel.row('Memory 9999:').waitFor();
        await panel.page.evaluate(() => {
          globalThis.marks.keys = [];
        });
        for (const [i, key] of [...query].entries()) {
          await panel.page.keyboard.type(key);
          await panel.until((so) => globalThis.marks.keys.length > so, i);
        }
        keys.push(...(await panel.page.evaluate(() => globalThis.marks.keys)));
      }
      await panel.page.getByRole('searchbox').fill('');
      await panel.row('Memory 9999:').waitFor();
      scrolls.push(
        ...(await panel.page.evaluate(async () => {
          const list = document.querySelector('.vl'),
            out = [],
            next = () => new Promise(requestAnimationFrame);
          let last = await next();
          for (let i = 0; i < 120; i++) {
            list.scrollTop += 3000;
            const now = await next();
            out.push(now - last);
            last = now;
          }
          return out;
        })),
      );
    }
    await context.close();
  }
  console.log(`${browser.version()}, 10,000 memories, ${loads} loads, each in a profile of its own`);
  say('first paint', firstPaint, 300);
  say('first paint of a static page as heavy', staticPaint);
  say('first memories shown', firstRows);
  say('all memories there', all);
  say('from a key to its results', keys, 150);
  say('from frame to frame while scrolling fast', scrolls);
} finally {
  fixed?.close();
  await browser.close();
  await daemon.close();
}
