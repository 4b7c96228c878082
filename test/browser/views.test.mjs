// The other views: what each says of the store, and what can be done there.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';
import { day, summary } from './lib/seed.mjs';

const numberOf = (id) => `#${id.split('-')[0]}`; // as the panel shows it

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const panelTest = (name, f, options) => test(name, () => withPanel(browser, daemon, options, f));

panelTest('operations say what they changed, and can be taken back', async (panel) => {
  const { operations } = await daemon.json('ops', '--limit', '100');
  const change = (await daemon.json('history', 'api')).operations[0];
  await panel.view('changes', numberOf(change.id));
  const card = (id) => panel.page.locator(`article[data-operation="${id}"]`);
  const known = operations.filter((o) => o.space === 'default');
  assert.equal(await panel.page.locator('article.operation').count(), known.length);
  // Nothing is unfolded: each card says what happened, to what, and the text before and after.
  assert.match(await card(change.id).innerText(), /^Changed memory\n/);
  assert.match(await card(change.id).innerHTML(), /port <del>8080<\/del><ins>8443<\/ins>/);
  const forgot = (await daemon.json('history', 'vim')).operations[0];
  assert.match(await card(forgot.id).innerText(), /Forgot memory[^]*saved by a client[^]*Uses vim for everything/);
  await card(change.id).locator('summary').click();
  await card(change.id).locator('.change ins').first().waitFor();
  await panel.press('Undo', card(change.id));
  await panel.answer('Undo');
  await panel.see('Undone.', '#says');
  const [undo] = await daemon.newest();
  assert.deepEqual(
    [undo.undoes_operation_id, (await daemon.memory('api')).content],
    [change.id, 'The API listens on port 8080'],
  );
  await card(change.id).locator('summary').click(); // with nothing opened the list follows what happens
  await daemon.run('add', 'Something else', '--id', 'else');
  await card((await daemon.newest())[0].id).waitFor();
  await card(undo.id)
    .getByText(`Undo ${numberOf(change.id)}`)
    .waitFor();
});

panelTest('a card that is unfolded stays so when an answer comes late', async (panel) => {
  await panel.view('changes', 'Changed memory');
  const held = await panel.hold('**/OperationService/List');
  await daemon.run('add', 'Told of while a card is unfolded', '--id', 'late');
  await held.asked;
  const card = panel.page.locator('article.operation').filter({ hasText: 'Changed memory' }).first();
  await card.locator('summary').click();
  await card.locator('.change').first().waitFor();
  await held.release();
  assert.ok(await card.locator('.change').first().isVisible());
  // A search is answered even so.
  await panel.page.getByRole('searchbox').fill('Told of while a card is unfolded');
  await panel.see('Told of while a card is unfolded', 'article.operation');
  await panel.until(() => document.querySelectorAll('article.operation').length === 1);
});

panelTest('changes are searched and filtered', async (panel) => {
  await panel.view('changes', 'Changed memory');
  const heads = () => panel.texts('article.operation strong');
  const all = (await heads()).length;
  const shown = (n) => panel.until((k) => document.querySelectorAll('article.operation').length === k, n);
  await panel.page.getByRole('searchbox').fill('port 8443');
  await panel.until(() => document.querySelectorAll('article.operation').length < 5);
  assert.ok((await panel.texts('article.operation')).every((text) => text.includes('8443') && text.includes('port')));
  await panel.page.getByRole('searchbox').fill('no such words anywhere');
  await panel.see('No match.', '.changes');
  await panel.page.getByRole('searchbox').fill('');
  await shown(all);
  await panel.page.getByLabel('Made by').selectOption('learned');
  await panel.until(() => document.querySelectorAll('article.operation').length < 4);
  assert.ok((await panel.texts('article.operation')).every((text) => text.includes('learned from a session')));
  assert.match((await panel.texts('article.operation')).join(), /Invoices are sent on Tuesdays/);
  await panel.page.getByLabel('Made by').selectOption('');
  await panel.page.getByLabel('What changed').selectOption('summary');
  await shown(1);
  assert.match((await panel.texts('article.operation')).join(), /Added rolling summary[^]*Python 开发者/);
});

panelTest(
  'what waits for a decision, and why, is said in Chinese',
  async (panel) => {
    await panel.view('review', '会丢失数字');
    const edit = panel.page.locator('.card', { hasText: `logs/${day(3)}.json` });
    assert.match(await edit.innerText(), /无法读取[^]*第 \d+ 行，第 \d+ 列：entries\[0\].content：应为字符串/);
    await panel.shot('review-zh');
  },
  { locale: 'zh-CN' },
);

for (const [locale, words] of Object.entries({
  'en-US': {
    says: ['This is not possible:', 'Category: must be lower-case letters'],
    use: ['Edit', 'Category', 'Save', 'Cancel'],
  },
  'zh-CN': {
    says: ['无法执行：', '分类: 只能含有小写字母'],
    use: ['编辑', '分类', '保存', '取消'],
  },
}))
  panelTest(
    `a change of a memory that is refused says why, ${locale}`,
    async (panel) => {
      const [edit, category, save, cancel] = words.use;
      await panel.view('memories', 'The office closes at six');
      await panel.openMemory('The office closes at six');
      await panel.press(edit);
      await panel.detail.getByLabel(category, { exact: true }).fill('Not A Slug');
      panel.expect(/status of 400/);
      await panel.press(save);
      await panel.detail.getByText(words.says[0]).waitFor();
      const said = await panel.detail.locator('.bad').innerText();
      assert.ok(said.includes(words.says[1]), said);
      assert.doesNotMatch(said, /patch|INVALID|invalid request/);
      await panel.press(cancel);
    },
    { locale },
  );

panelTest('proposed changes and refused edits are decided', async (panel) => {
  await panel.view('review', 'It would lose a number');
  const proposal = panel.page.locator('.card', { hasText: 'It would lose a number' });
  await proposal.locator('del', { hasText: '15' }).waitFor(); // the memory is fetched for it
  await proposal.getByRole('button', { name: 'staging' }).click();
  await panel.see('The staging database is Postgres 15', '.detail .content');
  await panel.view('review', 'It would lose a number');
  await panel.press('Accept', proposal);
  await proposal.waitFor({ state: 'detached' });
  assert.equal((await daemon.memory('staging')).content, 'Staging has a database');
  await daemon.run('undo', (await daemon.newest())[0].id);
  await proposal.waitFor();
  assert.equal((await daemon.memory('staging')).content, 'The staging database is Postgres 15');
  await panel.press('Reject', proposal);
  await proposal.waitFor({ state: 'detached' });
  assert.equal((await daemon.memory('staging')).content, 'The staging database is Postgres 15');
  assert.equal((await daemon.json('review', 'list')).proposals.length, 0);

  const edit = panel.page.locator('.card', { hasText: `logs/${day(3)}.json` });
  assert.match(await edit.innerText(), /cannot be read[^]*line \d+, column \d+[^]*quarantine\//);
  assert.equal(await edit.getByRole('button', { name: 'Accept' }).count(), 0);
  panel.expect(/404 .*GetEdit/); // the list may be asked for at the very moment of the decision
  await panel.press('Reject', edit);
  await edit.waitFor({ state: 'detached' });
  assert.equal((await daemon.json('edits', 'list')).edits.length, 0);
  assert.match(await daemon.run('log', 'get', day(3)), /Sorted the mail of the week/);
});

panelTest('sessions show what was said and what they taught', async (panel) => {
  await panel.view('sessions', 'Please remember');
  const session = (id) => panel.page.locator(`button[data-session="${id}"]`);
  await session('doubt').getByText('The staging database, you know').waitFor();
  const [chat, lesson, doubt] = await panel.texts('button.card');
  assert.match(chat, /^Where were we\?[^]*open[^]*1 message\b/);
  assert.match(lesson, /^Please remember that invoices[^]*learned[^]*2 messages[^]*tester/);
  assert.match(doubt, /^The staging database, you know[^]*learned[^]*They spoke of the staging database/);
  await session('lesson').click();
  await panel.see('I will.', '.detail');
  await panel.detail.getByRole('button', { name: /^memory / }).waitFor();
  assert.match(
    await panel.detail.innerText(),
    /Please remember that invoices[^]*tester · \/srv\/app · [^·]*· lesson[^]*Learned from it[^]*Invoices are sent on Tuesdays[^]*Please remember that invoices are sent on Tuesdays/,
  );
  await panel.detail.getByRole('button', { name: /^memory / }).click();
  await panel.see('Invoices are sent on Tuesdays', '.detail .content');
  await panel.view('sessions', 'Please remember');
  await session('lesson').click();
  await panel.see('I will.', '.detail');
  await daemon.run('session', 'append', 'lesson', 'One more thing.');
  await daemon.run('session', 'end', 'lesson');
  await panel.see('One more thing.', '.detail');
});

panelTest('the rolling summary is read and written, and not over somebody else', async (panel) => {
  await panel.view('summary');
  const box = panel.page.getByRole('textbox', { name: 'Rolling summary' });
  await panel.until((text) => document.querySelector('.summary textarea')?.value === text, summary);
  await box.fill(`${summary}。每周五发布。`);
  await panel.press('Save', panel.page.locator('.summary'));
  await panel.see('Saved.', '#says');
  assert.match(await daemon.run('memory', 'summary', 'get'), /每周五发布/);
  await box.fill('What the panel wants to say');
  await daemon.run('memory', 'summary', 'set', 'What the command line says');
  await panel.see('Nothing was saved and your text is still here', '.summary');
  assert.equal(await box.inputValue(), 'What the panel wants to say');
  await panel.press('Reload', panel.page.locator('.summary'));
  await panel.until(() => document.querySelector('.summary textarea')?.value === 'What the command line says');
  await daemon.run('memory', 'summary', 'set', 'And now this');
  await panel.until(() => document.querySelector('.summary textarea')?.value === 'And now this');
  // Two operations in quick succession, of which the summary's need not be the last.
  await Promise.all([
    daemon.run('memory', 'summary', 'set', 'Between others'),
    ...[1, 2, 3].map((n) => daemon.run('add', `A crowd of ${n}`)),
  ]);
  await panel.until(() => document.querySelector('.summary textarea')?.value === 'Between others');
});

panelTest('doctor and figures say what the command line says', async (panel) => {
  // While memories are embedded, two looks differ.
  await daemon.run('search', 'anything', '--wait-indexed', '--no-touch', '--timeout', '2m');
  const [doctor, stats] = [await daemon.json('doctor'), await daemon.json('memory', 'stats')];
  await panel.view('status', 'MemoryService/Stats');
  const text = await panel.page.locator('section.status').innerText();
  const lines = (await panel.texts('.findings li')).map((l) => l.replace(/\s+/g, ' '));
  for (const f of doctor.findings.filter((f) => f.name !== 'jobs'))
    assert.ok(
      lines.some((l) => l.includes(`${f.name} ${f.detail}`)),
      `${f.name} ${f.detail} in ${lines.join('\n')}`,
    );
  const tiles = await panel.texts('.tile');
  for (const [n, name] of [
    [stats.total, 'Total'],
    [stats.active, 'Active'],
    [stats.sessions, 'Sessions'],
    [stats.days, 'Daily logs'],
  ]) {
    assert.ok(
      tiles.some((t) => t.split(/\s+/, 1)[0] === String(n) && t.endsWith(name)),
      `${n} ${name} in ${tiles.join()}`,
    );
  }
  assert.match(text, new RegExp(`Facts\\s+${stats.by_category.facts}\\b`));
  assert.match(text, /Procedural\s+1\b/);
  for (const s of stats.spaces) assert.match(text, new RegExp(`${s.name}\\s+${s.active}\\s+${s.total}\\b`));
  assert.ok(text.includes(daemon.data), 'the data directory');
});

panelTest('the legend of a plot says the last day', async (panel) => {
  await panel.view('status');
  await panel.page.locator('.plot canvas').nth(3).waitFor();
  const legends = await panel.texts('.u-legend');
  assert.equal(legends.length, 4);
  for (const text of legends) assert.match(text, /^Day\s*[A-Z][a-z]+ \d+, \d{4}/);
});

panelTest('reasons of the daemon are said in the language of the panel', async (panel) => {
  const file = join(daemon.data, 'memory.json');
  await writeFile(file, (await readFile(file, 'utf8')).replace('closes at six', 'closes at seven'));
  await daemon.run('daemon', 'publish');
  await panel.page.getByRole('button', { name: '中文' }).click();
  await panel.view('changes', /从会话学习/);
  await panel.see('编辑了 memory.json：修改 1 项');
  await panel.see(/删除 \d{4}-\d\d-\d\d 的归档日志/);
  const text = await panel.page.locator('section.changes').innerText();
  assert.doesNotMatch(text, /session reflection|archive log|delete archived log/);
  await panel.view('memories', 'Invoices are sent on Tuesdays');
  await panel.openMemory('Invoices are sent on Tuesdays');
  const history = await panel.detail.innerText();
  assert.match(history, /从会话学习/);
  assert.doesNotMatch(history, /session reflection/);
});

panelTest('a date is written in the language of the panel', async (panel) => {
  await panel.page.getByRole('button', { name: '中文' }).click();
  await panel.page.getByRole('button', { name: '筛选' }).click();
  const from = panel.page.getByLabel('创建于', { exact: true });
  assert.equal(await from.getAttribute('placeholder'), '年-月-日');
  await from.fill('2100年1月2日');
  await panel.see('暂无内容。');
  await from.blur();
  assert.equal(await from.inputValue(), '2100-01-02');
  await from.fill('2100-13-40');
  await from.blur();
  assert.equal(await from.getAttribute('aria-invalid'), 'true');
  await from.fill('');
  await panel.see('Prefers small commits');
});

panelTest(
  'what Doctor finds is said in Chinese',
  async (panel) => {
    await daemon.run('daemon', 'pause', 'my-agent');
    await panel.view('status', 'AdminService/Info');
    const findings = await panel.texts('.findings li');
    await daemon.run('daemon', 'resume', 'my-agent');
    assert.ok(findings.length > 10);
    for (const text of findings) assert.match(text, /\p{Script=Han}/u);
    const paused = findings.find((text) => text.includes('my-agent'));
    assert.match(paused, /^!?\s*记录 已暂停的宿主程序[^]*请在“宿主程序”中恢复/);
    for (const english of ['wait for a decision', 'published', 'run `', 'next ', 'open,', 'none ', ' tokens'])
      assert.ok(!findings.some((text) => text.includes(english)), `${english}: ${findings.join('\n')}`);
  },
  { locale: 'zh-CN' },
);
