// The knowledge graph: entities, what is known of each, and relations between them.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon } from './lib/daemon.mjs';
import { launch, withPanel } from './lib/panel.mjs';

let browser, daemon;
before(async () => {
  [browser, daemon] = await Promise.all([launch(), Daemon.open()]);
  const lines = [
    { type: 'entity', name: 'Ana', entityType: 'person', observations: ['Reviews invoices', '住在上海'] },
    { type: 'entity', name: 'Harbour', entityType: 'project', observations: ['Started in March'] },
    { type: 'entity', name: 'Postgres', entityType: 'database', observations: ['Version 15'] },
    { type: 'relation', from: 'Ana', to: 'Harbour', relationType: 'works on' },
    { type: 'relation', from: 'Harbour', to: 'Postgres', relationType: 'stores data in' },
  ];
  const file = join(daemon.dir, 'memory.jsonl');
  await writeFile(file, lines.map((l) => JSON.stringify(l)).join('\n'));
  await daemon.run('import', file);
});
after(async () => {
  await browser?.close();
  await daemon?.close();
});

test('entities are listed with their relations, drawn and followed', () =>
  withPanel(browser, daemon, {}, async (panel) => {
    await panel.view('graph', 'Harbour');
    const entity = (name) => panel.page.locator(`button[data-entity="${name}"]`);
    assert.match(await entity('Harbour').innerText(), /project · 2 relations · 1 observation\b/);
    await entity('Ana').click();
    await panel.see('住在上海', '.detail');
    assert.match(await panel.detail.innerText(), /^Ana\s+person[^]*Reviews invoices[^]*Ana works on → Harbour/);
    const drawing = panel.page.getByRole('img', { name: 'Ana: 1 neighbour' });
    assert.deepEqual(await drawing.locator('text').allTextContents(), ['works on', 'Ana', 'Harbour']);
    await panel.accessible('graph');
    await panel.shot('graph');
    await panel.detail.getByRole('button', { name: 'Harbour' }).click();
    await panel.see('Started in March', '.detail');
    assert.equal(await panel.page.evaluate(() => document.activeElement.textContent), 'Harbour');
    await panel.page.getByRole('searchbox').fill('version 15');
    await entity('Ana').waitFor({ state: 'detached' });
    await entity('Postgres').waitFor();
    await panel.page.getByRole('searchbox').fill('');
    await entity('Ana').waitFor();
    await daemon.run('undo', '--import', (await daemon.newest())[0].id);
    await panel.see('No entities yet', '.graph');
  }));
