// Runs the panel's tests in Chromium: node run.mjs [--measure] [FILE…]. MEMSIDECAR_PROGRAM is the program;
// MEMSIDECAR_SCREENSHOTS a directory for screenshots, else a temporary one that is named at the end. --measure
// prints figures beside their targets instead. MEMSIDECAR_DOC_IMAGES is the directory of the documentation's pictures, to
// make them again.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { seed, many } from './lib/seed.mjs';

process.chdir(import.meta.dirname);
// A zone in which it is about noon: what was written today is still of today when the last test looks. Where no
// zones are installed it is UTC.
const ahead = 12 - new Date().getUTCHours();
const zone = `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
process.env.TZ = existsSync(`/usr/share/zoneinfo/${zone}`) ? zone : 'UTC';
const measure = process.argv.includes('--measure');
const files = process.argv.slice(2).filter((a) => a !== '--measure');
const stores = await mkdtemp('/tmp/mspanel-stores-');
process.env.MEMSIDECAR_TEST_STORE = join(stores, 'small');
process.env.MEMSIDECAR_TEST_MANY = join(stores, 'many');
process.env.MEMSIDECAR_SCREENSHOTS ||= await mkdtemp('/tmp/mspanel-screenshots-');

try {
  await Promise.all([seed(process.env.MEMSIDECAR_TEST_STORE), many(process.env.MEMSIDECAR_TEST_MANY, 10000)]);
  const args = measure
    ? ['measure.mjs']
    : [
        '--test',
        '--test-concurrency=2',
        '--test-timeout=240000',
        ...(files.length ? files : (await readdir('.')).filter((f) => f.endsWith('.test.mjs')).sort()),
      ];
  process.exitCode = await new Promise((resolve) =>
    spawn(process.execPath, args, { stdio: 'inherit' }).once('exit', (code) => resolve(code ?? 1)),
  );
} finally {
  await rm(stores, { recursive: true });
}
if (!measure) console.log(`screenshots: ${process.env.MEMSIDECAR_SCREENSHOTS}`);
