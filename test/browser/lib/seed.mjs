// The store that the views are tested on, made by the program itself, and one with many memories.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon } from './daemon.mjs';
import { startModel } from './model.mjs';

// day is the date of so many days ago. The tests' zone is one where midnight is far: see run.mjs.
export const day = (ago) => new Date(Date.now() - ago * 86400000).toLocaleDateString('sv');

export const summary = '用户是一名 Python 开发者，偏好简洁代码风格';

const memories = [
  ['commits', 'Prefers small commits', 'preferences', '--salience', '0.9', '--tag', 'git', '--tag', 'style'],
  ['airline', '用户偏好东方航空，尤其是早班机', 'preferences', '--salience', '0.8', '--tag', '出行'],
  ['api', 'The API listens on port 8080', 'facts', '--title', 'API port'],
  ['staging', 'The staging database is Postgres 15', 'facts'],
  ['certificate', 'Renew the certificate before March', 'tasks'],
  ['plan', 'Explaining the plan before a change saves a round', 'reflections'],
  [
    'fetch',
    'fetch_url returns nothing for single-page sites: use the browser tool',
    'procedural',
    '--salience',
    '0.85',
  ],
  ['office', 'The office closes at six', 'general', '--pin'],
  ['vim', 'Uses vim for everything', 'preferences'],
];

// seed makes a store with something in every view, and moves it to a directory.
export async function seed(into) {
  const model = await startModel();
  const daemon = await Daemon.open({ more: model.env });
  for (const [id, text, category, ...more] of memories)
    await daemon.run('add', text, '--id', id, '--category', category, ...more);
  await daemon.run('add', 'The quarterly report is due on Friday', '--id', 'report', '--space', 'work');
  await daemon.run('session', 'append', 'doubt', 'The staging database, you know');
  await daemon.run('session', 'reflect', 'doubt'); // leaves a proposal
  await daemon.stop();
  await model.close();
  for (const name of Object.keys(model.env)) delete daemon.env[name];
  await daemon.start();

  await daemon.run('update', 'api', '--content', 'The API listens on port 8443');
  await daemon.run('forget', 'vim');
  await daemon.run('search', 'When does the office close?'); // counts an access
  await daemon.run('log', 'add', 'Moved the timetable service to the new machine', '--at', `${day(0)} 00:00:01`);
  await daemon.run(
    'log',
    'add',
    'fetch_url found nothing',
    '--at',
    `${day(0)} 00:00:02`,
    '--type',
    'tool_failure',
    '--tool',
    'fetch_url',
    '--error',
    'timeout after 30 s',
  );
  await daemon.run('log', 'add', '讨论了发布计划，决定周五上线', '--at', `${day(1)} 09:30`);
  await daemon.run('log', 'add', 'Sorted the mail of the week', '--at', `${day(3)} 10:00`);
  await daemon.run('log', 'add', 'We decided to use PostgreSQL for the bookings', '--at', `${day(40)} 10:00`);
  await daemon.run('log', 'add', 'Repaired the pump of the old harbour', '--at', `${day(70)} 10:00`);
  await daemon.run('log', 'archive', '--archive-days', '30', '--delete-days', '60');
  await daemon.run('session', 'start', 'lesson', '--host', 'tester', '--cwd', '/srv/app');
  await daemon.run('session', 'append', 'lesson', 'Please remember that invoices are sent on Tuesdays');
  await daemon.run('session', 'append', 'lesson', '--role', 'assistant', 'I will.');
  await daemon.run('session', 'reflect', 'lesson');
  await daemon.run('session', 'append', 'chat', 'Where were we?');
  await daemon.run('memory', 'summary', 'set', summary);
  await daemon.run('daemon', 'publish');

  // An edit by hand that cannot be read: it waits for a decision.
  const log = join(daemon.data, 'logs', `${day(3)}.json`);
  await writeFile(log, (await readFile(log, 'utf8')).replace('"Sorted', 'Sorted'));
  await daemon.run('daemon', 'publish');
  await daemon.stop();
  await rename(daemon.data, into);
  await rm(daemon.dir, { recursive: true });
}

const words = (
  'deploy staging release branch editor server database cache token session window linter golang vector index queue batch retry timeout ' +
  'backup harbour invoice meeting budget report customer ticket review schedule password certificate kernel driver printer'
).split(' ');

// many makes a store of n memories, one of them about a needle.
export async function many(into, n) {
  const categories = ['preferences', 'facts', 'tasks', 'reflections', 'procedural', 'general'];
  const list = Array.from({ length: n }, (_, i) => ({
    id: `m${String(i).padStart(5, '0')}`,
    category: categories[i % 6],
    salience: ((i * 37) % 100) / 100,
    access_count: i % 7,
    source: 'import',
    content: `Memory ${i}: ${Array.from({ length: 12 }, (_, j) => words[(i * 7919 + j * j * 104729 + j * 31) % words.length]).join(' ')}`,
    created_at: new Date(Date.now() - (n - i) * 1800000).toISOString(),
  }));
  list[n >> 1].content = 'A needle lies in the haystack behind the lighthouse';
  const daemon = await Daemon.open();
  const file = join(daemon.dir, 'many.json');
  await writeFile(file, JSON.stringify({ version: 2, memories: list }));
  await daemon.run('import', file);
  await daemon.run('daemon', 'publish');
  await daemon.stop();
  await rename(daemon.data, into);
  await rm(daemon.dir, { recursive: true });
}
