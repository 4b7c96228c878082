// What can be done with a memory, each time looked at from outside as well: by the command line, in the same store.
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

// choose sets one of the selections above the list and waits for what it leaves.
async function choose(panel, label, value, count) {
  await panel.page.getByLabel(label, { exact: true }).selectOption(value);
  await panel.until((n) => document.querySelector('.bar > .dim')?.textContent === String(n), count);
}

panelTest('the list shows stars, pins, access counts and categories', async (panel) => {
  const star = (text) => panel.row(text).getByRole('img', { name: 'Important' }).count();
  await panel.see('Prefers small commits');
  assert.deepEqual(
    await Promise.all(
      ['Prefers small commits', '用户偏好东方航空', 'fetch_url', 'The office closes', 'Postgres 15'].map(star),
    ),
    [1, 1, 1, 0, 0],
  );
  assert.equal(await panel.row('The office closes at six').getByRole('img', { name: 'Pinned' }).count(), 1);
  assert.equal(await panel.row('Prefers small commits').getByRole('img', { name: 'Pinned' }).count(), 0);
  assert.match(await panel.row('The office closes at six').innerText(), /Used 1 time\b/);
  assert.match(
    await panel.row('Prefers small commits').innerText(),
    /Preferences[^]*today[^]*saved on request[^]*#git/,
  );
  assert.doesNotMatch(await panel.row('Prefers small commits').innerText(), /Used/);
  assert.match(await panel.row('用户偏好东方航空，尤其是早班机').innerText(), /#出行/);
  assert.equal(await panel.row('Uses vim').count(), 0);

  await choose(panel, 'Category', 'procedural', 1);
  assert.match((await panel.texts('.vl-row')).join(), /fetch_url returns nothing/);
  await choose(panel, 'Category', 'preferences', 2);
  assert.equal(
    (await panel.texts('.vl-row')).every((t) => t.includes('Preferences')),
    true,
  );
  await choose(panel, 'Status', 'retired', 1);
  assert.match((await panel.texts('.vl-row')).join(), /Uses vim for everything/);
  await panel.page.getByLabel('Status', { exact: true }).selectOption('active');
  await choose(panel, 'Category', '', 12);
  await panel.page.getByLabel('Order', { exact: true }).selectOption('salience');
  await panel.until(() => document.querySelector('.vl-row')?.textContent.includes('Prefers small commits'));
  await panel.page.getByLabel('Order', { exact: true }).selectOption('access');
  await panel.until(() => document.querySelector('.vl-row')?.textContent.includes('The office closes at six'));
});

panelTest('another space has its own memories', async (panel) => {
  await panel.page.getByLabel('Space', { exact: true }).selectOption('work');
  await panel.see('The quarterly report is due on Friday');
  assert.equal((await panel.texts('.vl-row')).length, 1);
});

// onlyWeak waits until a search found nothing, or nothing but weak matches below a line that says so. It looks at all of
// it at once, because the list may be drawn anew in between.
async function onlyWeak(panel) {
  await panel.until(() => {
    const rows = [...document.querySelectorAll('.vl-row')];
    if (!rows.length) return document.querySelector('.empty')?.textContent.startsWith('No match.');
    return (
      document.querySelector('.vl-heading')?.textContent === 'No good match. Weak matches, most likely not relevant:' &&
      rows.every((row) => row.querySelector('.strength')?.textContent === 'weak')
    );
  });
}

panelTest('a search says why, in both languages, and counts no access', async (panel) => {
  // Whether meaning takes part decides what is found; from here on it always does.
  await daemon.run('search', 'anything', '--wait-indexed', '--no-touch', '--timeout', '2m');
  const doctor = await daemon.json('doctor');
  assert.match(JSON.stringify(doctor), /: (\d+) of \1 memories have vectors/);
  const search = panel.page.getByRole('searchbox');
  await search.fill('how small do I like commits');
  await panel.until(
    () =>
      document.querySelector('.vl-row .score') &&
      document.querySelector('.vl-row')?.textContent.includes('Prefers small commits'),
  );
  const shown = Number((await panel.texts('.vl-row .score'))[0].split(' ').pop());
  await panel.row('Prefers small commits').click();
  const why = panel.detail.locator('details');
  const [, score] = (await why.locator('summary').innerText()).match(/Why this score: ([\d.]+)/);
  assert.ok(Math.abs(Number(score) - shown) < 0.001, `${score} in the explanation, ${shown} in the list`);
  const parts = await why.locator('tr').allInnerTexts();
  assert.ok(parts.length > 3, parts.join());
  const [hit] = (await daemon.json('search', 'how small do I like commits', '--explain', '--no-touch')).hits;
  assert.equal(hit.memory.id, 'commits');
  assert.ok(Math.abs(hit.score - shown) < 0.01, `${hit.score} on the command line, ${shown} in the list`);
  assert.deepEqual(
    parts.map((p) => p.split('\t')[0]),
    hit.components.map((c) => c.name),
  );
  await panel.shot('search-explained');

  await search.fill('喜欢哪家航空公司');
  await panel.until(
    () =>
      document.querySelector('.vl-row .score') && document.querySelector('.vl-row')?.textContent.includes('东方航空'),
  );
  await search.fill('asteroid mining taxes');
  await onlyWeak(panel);
  const inLog = /Moved the timetable service/;
  await Promise.all([
    panel.page.waitForResponse((r) => r.request().postDataJSON()?.query === 'timetable service machine'),
    search.fill('timetable service machine'),
  ]);
  assert.doesNotMatch((await panel.texts('.vl-row')).join(), inLog);
  await panel.page.getByLabel('also in logs').check();
  await panel.row('Moved the timetable service').click();
  await panel.page.locator('section.view.logs').waitFor();
  await panel.see('Moved the timetable service to the new machine');
  assert.equal((await daemon.memory('commits')).access_count, 0);
});

panelTest('an edit is saved, shown as a difference, and taken back', async (panel) => {
  await panel.openMemory('The API listens on port 8443');
  assert.match(
    await panel.detail.locator('.diff', { hasText: 'Content' }).first().innerHTML(),
    /port <del>8080<\/del><ins>8443<\/ins>/,
  );
  await panel.press('Edit');
  await panel.page.getByLabel('Content').last().fill('The API listens on port 9443 behind a proxy');
  await panel.page.getByLabel('Importance', { exact: true }).fill('0.7');
  await panel.page.getByLabel('Tags', { exact: true }).last().fill('api，端口');
  await panel.press('Save');
  await panel.see('The API listens on port 9443 behind a proxy', '.detail .content');
  const saved = await daemon.memory('api');
  assert.deepEqual(
    [saved.content, saved.salience, saved.tags, saved.title],
    ['The API listens on port 9443 behind a proxy', 0.7, ['api', '端口'], 'API port'],
  );
  assert.match(
    await panel.detail.locator('.diff', { hasText: 'Content' }).first().innerHTML(),
    /port <del>8443<\/del><ins>9443 behind a proxy<\/ins>/,
  );
  await panel.shot('history');
  await panel.press('Undo', panel.page.locator('#says'));
  await panel.answer('Undo');
  await panel.see('The API listens on port 8443', '.detail .content');
  const [undo, edit] = await daemon.newest(2);
  assert.equal(undo.undoes_operation_id, edit.id);
  assert.equal((await daemon.memory('api')).content, 'The API listens on port 8443');
});

panelTest('an edit that races a write of the command line loses nothing', async (panel) => {
  await panel.openMemory('Renew the certificate before March');
  await panel.press('Edit');
  const box = panel.page.getByLabel('Content').last();
  await box.fill('Renew the certificate in February, says the panel');
  await daemon.run('update', 'certificate', '--content', 'Renew the certificate in April, says the command line');
  await panel.row('says the command line').waitFor(); // the news has arrived
  assert.equal(await box.inputValue(), 'Renew the certificate in February, says the panel');
  panel.expect(/status of 409/);
  await panel.press('Save');
  await panel.see('Nothing was saved and your text is still here', '[role=alert]');
  assert.equal(await box.inputValue(), 'Renew the certificate in February, says the panel');
  assert.equal((await daemon.memory('certificate')).content, 'Renew the certificate in April, says the command line');
  await panel.shot('conflict');
  await panel.press('Cancel');
  await panel.see('Renew the certificate in April, says the command line', '.detail .content');
  await panel.press('Edit');
  await panel.page.getByLabel('Content').last().fill('Renew the certificate in February after all');
  await panel.press('Save');
  await panel.see('Renew the certificate in February after all', '.detail .content');
  assert.equal((await daemon.memory('certificate')).content, 'Renew the certificate in February after all');
});

panelTest('a pin races a write of the command line', async (panel) => {
  await panel.openMemory('Explaining the plan');
  // The write lands between the panel's look at the memory and its own write.
  await panel.page.route(
    /entries\/plan\?.*expected_revision/,
    async (route) => {
      await daemon.run('update', 'plan', '--salience', '0.6');
      await route.continue();
    },
    { times: 1 },
  );
  panel.expect(/status of 409/);
  await panel.press('Pin');
  await panel.see('Somebody else has changed this memory', '#says');
  await panel.see('0.6', '.detail dl');
  assert.deepEqual([(await daemon.memory('plan')).pinned, (await daemon.memory('plan')).salience], [false, 0.6]);
  await panel.press('Pin');
  await panel.detail.getByRole('button', { name: 'Unpin' }).waitFor();
  await panel.row('Explaining the plan').getByRole('img', { name: 'Pinned' }).waitFor();
  assert.deepEqual([(await daemon.memory('plan')).pinned, (await daemon.memory('plan')).salience], [true, 0.6]);
});

panelTest('what is forgotten comes back by undo, and by restore', async (panel) => {
  await panel.openMemory('The office closes at six');
  await panel.press('Forget');
  await panel.row('The office closes at six').waitFor({ state: 'detached' });
  assert.equal((await daemon.memory('office')).status, 'retired');
  await panel.press('Undo', panel.page.locator('#says'));
  await panel.answer('Undo');
  await panel.row('The office closes at six').waitFor();
  assert.equal((await daemon.memory('office')).status, 'active');
  await choose(panel, 'Status', 'retired', 1);
  await panel.openMemory('Uses vim for everything');
  await panel.press('Restore');
  await panel.detail.getByRole('button', { name: 'Forget' }).waitFor();
  assert.equal((await daemon.memory('vim')).status, 'active');
});

panelTest('nothing is erased for good without a yes', async (panel) => {
  await daemon.run('add', 'The door code is four seven eleven', '--id', 'door');
  await panel.openMemory('The door code');
  await panel.press('Purge…');
  await panel.see('It cannot be undone', 'dialog');
  assert.match(await panel.page.locator('dialog').innerText(), /memor\w*: 1/);
  await panel.shot('purge');
  await panel.answer('Cancel');
  assert.equal((await daemon.memory('door')).content, 'The door code is four seven eleven');
  await panel.press('Purge…');
  await panel.page.locator('dialog[open]').waitFor();
  await panel.page.keyboard.press('Escape');
  await panel.page.locator('dialog[open]').waitFor({ state: 'detached' });
  assert.equal((await daemon.memory('door')).content, 'The door code is four seven eleven');
  await panel.press('Purge…');
  await panel.answer('Purge…');
  await panel.see('Purged.', '#says');
  await panel.row('The door code').waitFor({ state: 'detached' });
  await assert.rejects(daemon.run('get', 'door'), /door/);
  assert.doesNotMatch(await daemon.run('daemon', 'dump'), /four seven eleven/);
});

panelTest('what the command line adds shows by itself', async (panel) => {
  await panel.see('Prefers small commits');
  const loads = await panel.page.evaluate(() => performance.getEntriesByType('navigation').length);
  await daemon.run('add', 'Just arrived from elsewhere', '--id', 'arrival', '--category', 'reflections');
  await panel.row('Just arrived from elsewhere').waitFor();
  await panel.until(() =>
    [...document.querySelectorAll('select option')].some((o) => o.textContent === 'Reflections (2)'),
  );
  await panel.openMemory('Just arrived from elsewhere');
  await daemon.run('update', 'arrival', '--content', 'Just changed from elsewhere');
  await panel.see('Just changed from elsewhere', '.detail .content');
  await daemon.run('forget', 'arrival');
  await panel.row('Just changed from elsewhere').waitFor({ state: 'detached' });
  assert.equal(await panel.page.evaluate(() => performance.getEntriesByType('navigation').length), loads);
});

panelTest('a memory is as old as its text', async (panel) => {
  const then = new Date(Date.now() - 40 * 86400000).toISOString();
  await daemon.run('add', 'Cranes are inspected in May', '--id', 'crane', '--created-at', then);
  await panel.row('Cranes are inspected in May').getByText('6 weeks ago').waitFor();
  await daemon.run('update', 'crane', '--category', 'reflections');
  await panel.row('Cranes are inspected in May').filter({ hasText: 'Reflections' }).getByText('6 weeks ago').waitFor();
  await daemon.run('update', 'crane', '--content', 'Cranes are inspected in June');
  await panel.row('Cranes are inspected in June').getByText('today').waitFor();
  await daemon.run('forget', 'crane');
});

panelTest(
  'a memory is added, and what is not valid is not',
  async (panel) => {
    await panel.page.getByRole('button', { name: 'Add memory' }).click();
    await panel.page.getByLabel('Content').last().fill('每周三下午三点开例会');
    await panel.page.getByLabel('Category').last().fill('Not A Slug');
    panel.expect(/status of 400/);
    await panel.press('Save');
    await panel.see('category', '[role=alert]');
    await panel.page.getByLabel('Category').last().fill('tasks');
    await panel.press('Save');
    await panel.see('每周三下午三点开例会', '.detail .content');
    const [{ memory }] = (await daemon.json('search', '例会')).hits;
    assert.deepEqual([memory.content, memory.category], ['每周三下午三点开例会', 'tasks']);
  },
  { locale: 'en-US', colorScheme: 'dark' },
);

// The watch over the page would notice.
test('what the page must not do is noticed', async () => {
  await assert.rejects(
    withPanel(browser, daemon, {}, async (panel) => {
      await panel.page.evaluate(() => {
        fetch('http://127.0.0.1:9/').catch(() => {});
      });
      await panel.until(() => true);
    }),
    /asked for http:\/\/127\.0\.0\.1:9\/|policy: connect-src/,
  );
  await assert.rejects(
    withPanel(browser, daemon, {}, (panel) => panel.page.evaluate(() => console.warn('beware'))),
    /beware/,
  );
  await assert.rejects(
    withPanel(browser, daemon, {}, (panel) =>
      panel.page.evaluate(() => {
        const noticed = new Promise((resolve) => addEventListener('securitypolicyviolation', resolve));
        document.head.append(Object.assign(document.createElement('style'), { textContent: 'body { color: red }' }));
        return noticed.then(() => {});
      }),
    ),
    /policy: style-src/,
  );
});
