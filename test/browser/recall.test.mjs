// What agents are told: the preview of a recall, and the hosts with what they were given.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';

const office = 'When does the office close today?';
const asteroids = 'What did the asteroid miners pay in taxes?';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
  // Whether meaning takes part decides what a prompt is answered with. A busy machine may not embed one in the 25 ms that
  // a recall waits; a search waits longer, and keeps the vector.
  for (const prompt of [office, asteroids]) {
    await daemon.run('search', prompt, '--wait-indexed', '--no-touch', '--timeout', '2m');
  }
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const panelTest = (name, f, options) => test(name, () => withPanel(browser, daemon, options, f));

panelTest('a prompt shows what an agent would be told, and what would be left out', async (panel) => {
  await panel.view('recall');
  const prompt = panel.page.getByRole('textbox', { name: 'Prompt' });
  await prompt.fill(office);
  await panel.see('The office closes at six', '.told');
  const { items, block } = await daemon.json('recall', office);
  assert.deepEqual(
    await panel.texts('section.told .card .pre'),
    items.map((i) => i.text),
  );
  await panel.page.locator('section.told summary').click();
  const shown = await panel.page.locator('section.told pre').innerText();
  const plain = (s) => s.replace(/[0-9a-f]{16}/g, 'ID').trim(); // each fence has an id of its own
  assert.equal(plain(shown), plain(block));
  assert.match(await panel.page.locator('section.told').innerText(), /To: Claude Code, Codex/);
  await prompt.fill(asteroids);
  await panel.see('Nothing.', 'section.told');
  await panel.page.locator('section.left-out .card').first().waitFor();
  const left = await panel.texts('section.left-out .card');
  assert.ok(
    left.every((text) => text.includes('not likely enough to bear on the prompt')),
    left.join('\n'),
  );
  await panel.page.evaluate(() =>
    fetch('/api/memory/entries', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${sessionStorage.getItem('memsidecar.token')}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({
        id: 'rule',
        category: 'procedural',
        content: 'It needs the flag --frozen',
        context: { tool: 'pnpm' },
      }),
    }),
  );
  await prompt.fill('What should I know?');
  await panel.page.getByLabel('Tools in use').fill('pnpm');
  await panel.see('rule about the tool pnpm', 'section.told');
  assert.equal((await daemon.memory('rule')).access_count, 0);
  await panel.page.locator('section.told').getByRole('button', { name: 'Procedural' }).click();
  await panel.see('It needs the flag --frozen', '.detail .content');
});

panelTest('what is unfolded of a preview stays so when an answer comes late', async (panel) => {
  await panel.view('recall');
  await panel.page.getByRole('textbox', { name: 'Prompt' }).fill(office);
  const given = panel.page.locator('section.told details');
  await given.waitFor();
  const held = await panel.hold('**/api/memory/recall-preview');
  await daemon.run('add', 'Added while a preview is read', '--id', 'preview-late');
  await held.asked;
  await given.locator('summary').click();
  await given.locator('pre').waitFor();
  await held.release();
  assert.ok(await given.locator('pre').isVisible());
});

panelTest('hosts say whether they are connected, when they called, and what they were told', async (panel) => {
  await panel.view('hosts', 'memsidecar install claude-code');
  const host = (name) => panel.page.locator(`[data-host="${name}"]`);
  assert.match(await host('claude-code').innerText(), /not (connected|on this machine)/);
  await mkdir(join(daemon.dir, '.claude'), { recursive: true });
  await writeFile(join(daemon.dir, '.claude', 'settings.json'), '{}\n');
  await daemon.run('install', 'claude-code');
  await panel.page.getByRole('button', { name: 'Look again' }).click();
  await host('claude-code').getByText('connected, never called').waitFor();
  assert.match(await host('claude-code').innerText(), /start of a session[^]*never[^]*\.claude\/settings\.json/);
  await daemon.run('session', 'start', 'told', '--host', 'claude-code');
  await daemon.run('recall', office, '--session', 'told');
  await panel.view('status', 'AdminService/Info');
  await panel.view('hosts');
  await panel.see(office, 'article.told');
  const card = panel.page.locator('article.told', { hasText: office });
  assert.match(await card.first().innerText(), /claude-code · told[^]*The office closes at six/);
  await card.first().getByRole('button', { name: 'The office closes at six' }).click();
  await panel.see('The office closes at six', '.detail .content');
  // However many sessions there are, they take one request.
  for (let i = 0; i < 8; i++) await daemon.run('session', 'start', `more-${i}`, '--host', 'claude-code');
  const asked = [];
  const frame = /^(\/static|\/api\/events|\/api\/v1\/(FileService|MemoryService\/Stats))/; // not the view's
  const note = (r) => {
    const path = new URL(r.url()).pathname;
    if (!frame.test(path)) asked.push(path.replace(/^\/api\/(v1\/)?/, ''));
  };
  panel.page.on('request', note);
  await panel.view('hosts');
  await panel.see(office, 'article.told');
  await host('claude-code').waitFor();
  panel.page.off('request', note);
  const once = ['AdminService/Info', 'SearchService/ListRecalls', 'SessionService/List', 'MemoryService/Get', 'hosts', 'memory/session-starts'];
  assert.deepEqual(asked.sort(), once.sort());
  // Each host has its calls, and so has a program that is none of the known hosts.
  await daemon.run('session', 'append', 'told', office);
  await daemon.run('session', 'start', 'own', '--host', 'Harbour agent');
  await daemon.run('recall', 'What does the API listen on?', '--session', 'own');
  await panel.page.getByRole('button', { name: 'Look again' }).click();
  const calls = (name) => host(name).locator('details.calls');
  await calls('Harbour agent').locator('summary').click();
  assert.match(
    await calls('Harbour agent').locator('ol').innerText(),
    /prompt · own · What does the API listen on\? · 1 memory given/,
  );
  await calls('claude-code').locator('summary').click();
  assert.match(
    await calls('claude-code').locator('ol').innerText(),
    /recorded · told · 1 message\n[^]*prompt · told · When does the office close today\? · \d+ memor(y|ies) given/,
  );
  assert.doesNotMatch(await calls('claude-code').innerText(), /· own ·/);
  await panel.accessible('the calls of hosts');
  await panel.shot('hosts-calls');
  // The context at the start of that session, too.
  const context = await daemon.hook('claude-code', 'session-start', {
    hook_event_name: 'SessionStart',
    session_id: 'begun',
    cwd: daemon.dir,
    source: 'startup',
  });
  assert.match(context, /The office closes at six/);
  await panel.view('hosts', /^start of a session · /);
  const start = panel.page.locator('article.start', { hasText: 'claude-code · begun' });
  const held = await panel.hold('**/SearchService/ListRecalls');
  await daemon.run('add', 'Added while a start is read', '--id', 'start-late');
  await held.asked;
  await start.locator('summary').click();
  assert.match(await start.locator('pre').innerText(), /The office closes at six/);
  await held.release(); // what nobody asked for leaves it as it is
  assert.ok(await start.locator('pre').isVisible());
});

panelTest(
  'what a host did is said in the language of the panel',
  async (panel) => {
    await daemon.run('install', 'claude-code');
    const instance = createHash('sha256').update(daemon.data).digest('hex').slice(0, 12);
    const fired = join(daemon.dir, '.local', 'state', 'memsidecar', `hooks-${instance}`, 'fired');
    await mkdir(fired, { recursive: true });
    const called = async (outcome) => {
      await writeFile(join(fired, 'claude-code.prompt'), `${outcome}\n`); // as a hook leaves it
      await panel.page.getByRole('button', { name: '重新检查' }).click();
    };
    await panel.view('hosts');
    const row = panel.page.locator('[data-host="claude-code"] tr', {
      has: panel.page.getByText('提示', { exact: true }),
    });
    for (const [outcome, words] of [
      ['ok', /成功/],
      ['no daemon was running', /守护进程未运行/],
      ['timed out', /超时/],
      ['the space is full', /失败[^]*the space is full/],
    ]) {
      await called(outcome);
      await row.getByText(words).first().waitFor();
    }
  },
  { locale: 'zh-CN' },
);

panelTest('a person pauses a host: it gets no memories and not recorded, until it is resumed', async (panel) => {
  const prompt = (session) =>
    daemon.hook('claude-code', 'prompt', {
      hook_event_name: 'UserPromptSubmit',
      session_id: session,
      cwd: daemon.dir,
      prompt: office,
    });
  assert.match(await prompt('before'), /The office closes at six/);
  await panel.view('hosts');
  const host = panel.page.locator('[data-host="claude-code"]');
  await host.getByRole('button', { name: 'Pause' }).click();
  await host.getByText('Paused: it gets no memories').waitFor();
  await panel.see('Claude Code is paused.', '#says');
  await panel.accessible('a paused host');
  assert.deepEqual((await daemon.json('status')).paused_hosts, ['claude-code']);
  assert.equal((await prompt('before')).trim(), '{}');
  assert.equal((await prompt('meanwhile')).trim(), '{}');
  assert.doesNotMatch(await daemon.run('session', 'list'), /meanwhile/);
  // A program that is none of the known hosts is listed, too.
  await daemon.run('daemon', 'pause', 'my agent 2');
  await panel.page.getByRole('button', { name: 'Look again' }).click();
  const other = panel.page.locator('[data-host="my agent 2"]');
  await panel.see('Other programs');
  await panel.shot('hosts-paused');
  await other.getByRole('button', { name: 'Resume' }).click();
  await other.waitFor({ state: 'detached' });
  await panel.view('status', 'paused hosts, which get no memories');
  await panel.view('hosts');
  await host.getByRole('button', { name: 'Resume' }).click();
  await host.getByRole('button', { name: 'Pause' }).waitFor();
  assert.deepEqual((await daemon.json('status')).paused_hosts ?? [], []);
  assert.match(await prompt('after'), /The office closes at six/);
});
