// A page of another origin, with whatever a page can try, neither reads nor changes anything; not even one that
// knows the token.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch } from './lib/panel.mjs';

let browser, daemon, site, token;
before(async () => {
  site = createServer((req, res) =>
    res.setHeader('Content-Type', 'text/html').end('<!doctype html><title>elsewhere</title><body>elsewhere'),
  );
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  [browser, daemon] = await Promise.all([
    launch('--host-resolver-rules=MAP rebound.example 127.0.0.1'),
    Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE }),
  ]);
  token = (await readFile(JSON.parse(await daemon.run('ui', '--token', '--json')).token_file, 'utf8')).trim();
});
after(async () => {
  await browser?.close();
  await daemon?.close();
  site?.close();
});

// everything a page can try. It answers with what it could read and what it could tell of it.
async function attack({ at, token }) {
  const got = [];
  const tell = (what, value) => {
    if (value) got.push(`${what}: ${String(value).slice(0, 200)}`);
  };
  const json = { 'Content-Type': 'application/json' },
    bearer = { Authorization: `Bearer ${token}` };
  const body = JSON.stringify({ content: 'planted by another page', category: 'facts' });
  const paths = [
    '/',
    '/static/panel.js',
    '/api/memory/entries',
    '/api/openapi.json',
    '/api/memory/file',
    '/api/events',
  ];
  for (const path of paths) {
    for (const options of [
      {},
      { credentials: 'include' },
      { headers: bearer },
      { mode: 'no-cors' },
      { mode: 'no-cors', credentials: 'include' },
    ]) {
      await fetch(at + path, options)
        .then((r) => r.text().then((text) => tell(`fetch ${path} ${JSON.stringify(options)}`, text)))
        .catch(() => {});
    }
  }
  for (const [method, path] of [
    ['POST', '/api/memory/entries'],
    ['PUT', '/api/memory/rolling-summary'],
    ['DELETE', '/api/memory/entries/commits'],
    ['PATCH', '/api/memory/entries/commits'],
    ['POST', '/api/login-codes'],
  ]) {
    for (const headers of [json, { ...json, ...bearer }, { 'Content-Type': 'text/plain' }, {}]) {
      await fetch(at + path, { method, headers, body: method === 'DELETE' ? undefined : body })
        .then((r) => tell(`${method} ${path}`, `status ${r.status}`))
        .catch(() => {});
      if (method === 'POST')
        await fetch(at + path, { method, mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body }).catch(
          () => {},
        );
    }
  }
  navigator.sendBeacon(`${at}/api/memory/entries`, new Blob([body], { type: 'text/plain' }));
  const loaded = (name, attributes) =>
    new Promise((resolve) => {
      const el = Object.assign(document.createElement(name), attributes);
      el.onload = () => {
        tell(`${name} ${attributes.src}`, 'was loaded');
        resolve(el);
      };
      el.onerror = () => resolve(el);
      document.body.append(el);
    });
  await loaded('img', { src: `${at}/static/icon.svg` });
  await loaded('img', { src: `${at}/api/memory/entries` });
  await loaded('script', { src: `${at}/api/memory/entries` });
  await loaded('script', { src: `${at}/static/texts.js`, type: 'module' });
  const frame = document.createElement('iframe');
  frame.name = 'inside';
  document.body.append(frame);
  const framed = (go) =>
    new Promise((resolve) => {
      frame.onload = () => {
        try {
          tell('frame', frame.contentDocument?.body.textContent);
        } catch {
          /* another origin's */
        }
        resolve();
      };
      go();
    });
  await framed(() => {
    frame.src = `${at}/`;
  });
  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    const form = Object.assign(document.createElement('form'), {
      action: `${at}/api/memory/entries`,
      method: 'post',
      enctype,
      target: 'inside',
    });
    form.append(
      Object.assign(document.createElement('input'), { name: '{"content":"planted by a form","x":"', value: '"}' }),
    );
    document.body.append(form);
    await framed(() => form.submit());
  }
  for (const make of [
    () => new WebSocket(`${at.replace('http', 'ws')}/api/events`),
    () => new EventSource(`${at}/api/events`),
    () => new EventSource(`${at}/api/events`, { withCredentials: true }),
  ]) {
    await new Promise((resolve) => {
      const s = make();
      s.onopen = () => {
        tell('stream', s.url);
        s.close();
        resolve();
      };
      s.onerror = () => {
        s.close();
        resolve();
      };
    });
  }
  return got;
}

const state = async () =>
  JSON.stringify([
    await daemon.json('ops', '--all', '--limit', '0'),
    await daemon.run('memory', 'summary', 'get'),
    await daemon.memory('commits'),
  ]);

for (const [name, origin] of [
  ['another port', () => `http://127.0.0.1:${site.address().port}`],
  ['another name of the same address', () => `http://localhost:${site.address().port}`],
]) {
  test(`a page of ${name} gets nothing`, async () => {
    const before = await state();
    const context = await browser.newContext();
    const page = await context.newPage();
    for (const at of [daemon.url, daemon.url.replace('127.0.0.1', 'localhost')]) {
      await page.goto(`${origin()}/`);
      const refused = await daemon.refused();
      assert.deepEqual(await page.evaluate(attack, { at, token }), []);
      assert.ok((await daemon.refused()) > refused, `nothing came as far as the daemon at ${at}`);
    }
    const popup = context.waitForEvent('page');
    await page.evaluate((at) => {
      globalThis.other = open(`${at}/`);
    }, daemon.url);
    await (await popup).waitForLoadState();
    assert.equal(
      await page.evaluate(() => {
        try {
          return globalThis.other.document.title;
        } catch (e) {
          return e.name;
        }
      }),
      'SecurityError',
    );
    await context.close();
    assert.equal(await state(), before);
  });
}

test('a name that was made to point here gets nothing', async () => {
  const before = await state();
  const context = await browser.newContext();
  const page = await context.newPage();
  const at = daemon.url.replace('127.0.0.1', 'rebound.example');
  const res = await page.goto(`${at}/`);
  assert.equal(res.status(), 403);
  assert.match(await page.content(), /FOREIGN_HOST/);
  const codes = await page.evaluate(async (token) => {
    const out = [];
    for (const [method, path, body] of [
      ['GET', '/api/memory/entries'],
      ['POST', '/api/memory/entries', '{"content":"planted by a name"}'],
      ['POST', '/api/login', '{"code":"x"}'],
    ]) {
      const r = await fetch(path, {
        method,
        body,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
      out.push([r.status, (await r.json()).error.reason]);
    }
    return out;
  }, token);
  assert.deepEqual(codes, [
    [403, 'FOREIGN_HOST'],
    [403, 'FOREIGN_HOST'],
    [403, 'FOREIGN_HOST'],
  ]);
  await context.close();
  assert.equal(await state(), before);
});

// The same attempts from the panel's own origin succeed, or those above would prove nothing.
test('the own origin, with the token, gets in', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${daemon.url}/`);
  const status = await page.evaluate(
    async (token) =>
      (
        await fetch('/api/memory/entries', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
          body: JSON.stringify({ content: 'planted by the owner', category: 'facts' }),
        })
      ).status,
    token,
  );
  assert.equal(status, 201);
  await context.close();
});
