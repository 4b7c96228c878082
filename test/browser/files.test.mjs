// The inspector and the calendar: files are saved as an edit by hand is, or not at all, and nothing that was typed
// is lost.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';
import { day } from './lib/seed.mjs';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open({ store: process.env.MEMSIDECAR_TEST_STORE })]);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

const panelTest = (name, f, options) =>
  test(name, () =>
    withPanel(browser, daemon, options, (panel) => {
      panel.expect(/Measure loop restarted more than/); // what CodeMirror says when it has looked a sixth time how high its lines are
      return f(panel);
    }),
  );
const editor = (panel, name = 'memory.json') => panel.page.getByRole('textbox', { name });
const verdict = (panel, text) => panel.see(text, '.verdict');
const save = (panel) => panel.page.getByRole('button', { name: 'Save' });

// replace finds a text in the editor, as a person would, and types another over it.
async function replace(panel, name, text, by) {
  await editor(panel, name).focus();
  await panel.page.keyboard.press('Control+f');
  await panel.page.getByRole('textbox', { name: 'Find' }).fill('');
  await panel.page.keyboard.type(text);
  await panel.page.keyboard.press('Enter');
  await panel.page.locator('.cm-searchMatch-selected').getByText(text).waitFor();
  await panel.page.keyboard.press('Escape');
  await panel.page.keyboard.type(by);
  await editor(panel, name).getByText(by).first().waitFor();
}

panelTest('JSON that is broken is refused and stays in the editor, and mended it is one operation', async (panel) => {
  await panel.view('files');
  await verdict(panel, 'Valid, saved');
  const [before, [last]] = [await readFile(join(daemon.data, 'memory.json'), 'utf8'), await daemon.newest()];
  await replace(panel, 'memory.json', '"Prefers small commits"', '"Prefers tiny commits');
  await verdict(panel, 'Would be rejected');
  await panel.page
    .getByRole('list', { name: 'Problems' })
    .getByRole('button', { name: /line \d+, column \d+/ })
    .first()
    .click();
  assert.equal(await save(panel).isDisabled(), true);
  await panel.shot('inspector-refuses');
  await panel.accessible('the inspector with a fault');
  panel.expect(/status of 400/);
  await editor(panel).focus();
  await panel.page.keyboard.press('Control+s');
  await panel.page.locator('#says .say').first().waitFor();
  assert.equal(await readFile(join(daemon.data, 'memory.json'), 'utf8'), before);
  assert.equal((await daemon.newest())[0].id, last.id);
  assert.deepEqual(
    (await daemon.json('edits', 'list')).edits.map((e) => e.file),
    [`logs/${day(3)}.json`],
  ); // that of before
  assert.match(await editor(panel).innerText(), /"Prefers tiny commits,/);

  await panel.page.locator('nav button[data-view=status]').click();
  await panel.see('Your text is not saved', 'dialog');
  await panel.answer('Stay');
  assert.match(await editor(panel).innerText(), /"Prefers tiny commits,/);
  await replace(panel, 'memory.json', '"Prefers tiny commits', '"Prefers tiny commits"');
  await verdict(panel, 'Valid, not saved');
  await save(panel).click();
  await panel.see('Saved and accepted.', '#says');
  assert.equal((await daemon.memory('commits')).content, 'Prefers tiny commits');
  const [op] = await daemon.newest();
  assert.deepEqual([op.actor, op.reason], ['edit', 'memory.json edited: 1 changed']);
  await verdict(panel, 'Valid, saved');

  await panel.view('changes', 'memory.json edited');
  const card = panel.page.locator('article.operation').filter({ hasText: 'memory.json edited' });
  await card.locator('summary').click();
  await card.locator('.change ins').first().waitFor();
  await panel.press('Undo', card);
  await panel.answer('Undo');
  await panel.see('Undone.', '#says');
  assert.equal((await daemon.memory('commits')).content, 'Prefers small commits');
});

panelTest(
  'what would be rejected is said in Chinese',
  async (panel) => {
    const whole = JSON.parse(await readFile(join(daemon.data, 'memory.json'), 'utf8'));
    const [first, second] = whole.memories;
    second.content = '';
    const problems = panel.page.getByRole('list', { name: '问题' });
    const says = async (text, ...expected) => {
      await editor(panel).focus();
      await panel.page.keyboard.press('Control+a');
      await editor(panel).evaluate((el, pasted) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', pasted);
        el.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
      }, text);
      for (const one of expected) await problems.getByText(one).first().waitFor();
      for (const one of await problems.getByRole('listitem').allInnerTexts())
        assert.match(one, /^(行 \d+, 列 \d+|整个文件)[^]*: .*\p{Script=Han}/u);
      await verdict(panel, /^(会被拒绝: |可以保存，但需要你决定)/);
    };
    await panel.view('files');
    await verdict(panel, '有效，已保存');
    await says(JSON.stringify(whole, null, 1), `内容为空；请写入文字，或从文件中删除记忆 ${second.id}`);
    await panel.shot('inspector-refuses-zh');
    second.created_at = 'yesterday';
    await says(JSON.stringify(whole), '必须是时间，例如 2026-02-21T14:30:00Z');
    first.salience = 'high';
    await says(JSON.stringify(whole), '应为数字，实际是字符串');
    await says('{"version": 2, "memories": [], }', '逗号之后没有内容');
    await says('{"version": 2, "version": 2}', '名称 "version" 在同一对象中出现了两次');
    whole.memories = [];
    await says(JSON.stringify(whole), /\d+ 条记忆全部不在其中/);
    await panel.page.getByRole('button', { name: '重新载入' }).click();
    await panel.answer('离开');
    await verdict(panel, '有效，已保存');
  },
  { locale: 'zh-CN' },
);

panelTest('a write of the command line meanwhile is not lost, nor is what was typed', async (panel) => {
  await panel.view('files');
  await verdict(panel, 'Valid, saved');
  await replace(panel, 'memory.json', 'closes at six', 'closes at seven');
  await daemon.run('update', 'certificate', '--content', 'Renew the certificate, says the command line');
  await panel.see('have changed since this was loaded', '.verdict');
  assert.match(await editor(panel).innerText(), /closes at seven/);
  panel.expect(/status of 4(09|12)/);
  await save(panel).click();
  await panel.see('Nothing was saved and your text is still here', '#says');
  assert.equal((await daemon.memory('office')).content, 'The office closes at six');
  await panel.press('Merge', panel.page.locator('#says'));
  await panel.see('Saved and accepted.', '#says');
  assert.deepEqual(
    [(await daemon.memory('office')).content, (await daemon.memory('certificate')).content],
    ['The office closes at seven', 'Renew the certificate, says the command line'],
  );
});

panelTest('a daily log is edited while the daemon writes into it', async (panel) => {
  const name = `logs/${day(0)}.json`;
  await panel.view('files');
  await panel.page.getByLabel('File', { exact: true }).selectOption('log');
  await panel.page.getByLabel('Day', { exact: true }).fill(day(0));
  await editor(panel, name).getByText('timetable service').waitFor();
  await replace(panel, name, 'timetable service', 'booking service');
  await daemon.run('log', 'add', 'Written meanwhile');
  await panel.see('have changed since this was loaded', '.verdict');
  panel.expect(/status of 4(09|12)/);
  await save(panel).click();
  await panel.press('Merge', panel.page.locator('#says'));
  await panel.see('Saved and accepted.', '#says');
  const log = await daemon.run('log', 'get', day(0));
  assert.match(log, /Moved the booking service/);
  assert.match(log, /Written meanwhile/);
  await panel.shot('inspector-log');

  await panel.page.getByLabel('Day', { exact: true }).fill(day(70));
  await panel.see('was archived and deleted', '.view');
  await panel.see('Repaired the pump', '.view');
  assert.equal(await save(panel).isDisabled(), true);
});

panelTest('a day that is picked while another is looked up is the one that is shown', async (panel) => {
  await panel.view('files');
  await verdict(panel, 'Valid, saved');
  await panel.page.getByLabel('File', { exact: true }).selectOption('log');
  await editor(panel, `logs/${day(0)}.json`)
    .getByText('booking service')
    .waitFor();
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  await panel.page.route('**/LogService/List', async (route) => {
    if (route.request().postData().includes(day(1))) await held;
    await route.continue();
  });
  const asked = panel.page.waitForRequest((r) => r.postData()?.includes(day(1)));
  await panel.page.getByLabel('Day', { exact: true }).fill(day(1));
  await asked;
  await panel.page.getByLabel('Day', { exact: true }).fill(day(70));
  await panel.see('was archived and deleted', '.view');
  const late = panel.page.waitForResponse((r) => r.request().postData()?.includes(day(1)));
  release();
  await (await late).finished();
  await panel.page.evaluate(() => new Promise((done) => setTimeout(done)));
  await panel.see('Repaired the pump', '.view');
});

const cell = (panel, date) => panel.page.locator(`td[data-date="${date}"]`);

panelTest('the calendar shows the days, what they hold, and what became of them', async (panel) => {
  await panel.view('logs', 'fetch_url found nothing');
  assert.match(await cell(panel, day(0)).getAttribute('aria-label'), /\d+ entries, today/);
  assert.match(await panel.detail.innerText(), /fetch_url found nothing[^]*timeout after 30 s/);
  await panel.page.getByLabel('Go to a date').fill(day(40));
  await panel.see('We decided to use PostgreSQL', '.detail');
  assert.match(await cell(panel, day(40)).getAttribute('aria-label'), /1 entries, archived/);
  await panel.page.getByLabel('Go to a date').fill(day(70));
  await panel.see('was archived and deleted', '.detail');
  await panel.see('Repaired the pump of the old harbour', '.detail');
  assert.match(await cell(panel, day(70)).getAttribute('aria-label'), /deleted/);
  await panel.page.getByRole('button', { name: 'Today' }).click();
  await panel.see('fetch_url found nothing', '.detail');
  const marked = panel.page.locator('td[aria-selected=true]');
  for (const [key, date] of [
    ['ArrowLeft', day(1)],
    ['ArrowUp', day(8)],
    ['ArrowDown', day(1)],
    ['ArrowRight', day(0)],
  ]) {
    await panel.page.keyboard.press(key);
    await panel.until((d) => document.activeElement?.dataset?.date === d, date);
  }
  await panel.page.keyboard.press('ArrowLeft');
  await panel.see('讨论了发布计划，决定周五上线', '.detail');
  assert.equal(await marked.getAttribute('data-date'), day(1));
  await panel.page.keyboard.press('PageUp');
  const before = new Date(`${day(1)}T00:00:00Z`);
  before.setUTCDate(0); // the last day of the month before
  await panel.until(
    (month) => document.activeElement?.dataset?.date?.startsWith(month),
    before.toISOString().slice(0, 7),
  );
  await panel.detail
    .getByText('There is no log for this day.')
    .or(panel.detail.locator('.entry'))
    .or(panel.detail.locator('.summary-text'))
    .first()
    .waitFor();
  await daemon.run('log', 'add', 'Told of while the calendar is open');
  await panel.page.getByRole('button', { name: 'Today' }).click();
  await panel.see('Told of while the calendar is open', '.detail');
});

panelTest('a month that was left while it was looked up is not taken for the one that is shown', async (panel) => {
  await panel.view('logs', 'fetch_url found nothing');
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  const ofThen = (r) => r.url().endsWith('/LogService/List') && JSON.parse(r.postData()).start_date < day(70);
  await panel.page.route('**/LogService/List', async (route) => {
    if (ofThen(route.request())) await held;
    await route.continue();
  });
  const asked = panel.page.waitForRequest(ofThen);
  await panel.page.getByLabel('Go to a date').fill(day(140));
  await asked;
  const today = panel.page.getByRole('button', { name: 'Today' });
  await today.click();
  await panel.see('fetch_url found nothing', '.detail');
  const late = panel.page.waitForResponse((r) => ofThen(r.request()));
  release();
  await (await late).finished();
  await panel.page.evaluate(() => new Promise((done) => setTimeout(done)));
  await today.click();
  await panel.page.evaluate(() => new Promise((done) => setTimeout(done)));
  await panel.see('fetch_url found nothing', '.detail');
  assert.match(await cell(panel, day(0)).getAttribute('aria-label'), /\d+ entries, today/);
});

panelTest(
  'the calendar in Chinese',
  async (panel) => {
    await panel.view('logs', 'fetch_url found nothing');
    const names = await panel.texts('.calendar th');
    assert.deepEqual(names, ['周一', '周二', '周三', '周四', '周五', '周六', '周日']);
    assert.match(await cell(panel, day(0)).getAttribute('aria-label'), /年.*月.*日.*条.*今天/);
  },
  { locale: 'zh-CN', colorScheme: 'dark' },
);
