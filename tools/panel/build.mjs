// Bundles the libraries of the panel: node build.mjs writes internal/client/web/static/vendor, node build.mjs
// --check only compares what is there with what would be written. The same package-lock.json gives the same bytes.
import { build } from 'esbuild';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, '../../internal/client/web/static/vendor');

const { outputFiles, metafile } = await build({
  absWorkingDir: here,
  entryPoints: ['src/codemirror.js', 'src/uplot.js', { in: 'node_modules/uplot/dist/uPlot.min.css', out: 'uplot' }].map(
    (e) => (typeof e === 'string' ? { in: e, out: e.slice(4, -3) } : e),
  ),
  outdir: target,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
  write: false,
  metafile: true,
  logLevel: 'warning',
});
const made = new Map(outputFiles.map((f) => [relative(target, f.path), Buffer.from(f.contents)]));
made.set('LICENSES.txt', Buffer.from(await licences(Object.keys(metafile.inputs))));

// licences names every package that something was taken of, with its version and the text of its licence.
async function licences(inputs) {
  const names = new Set(inputs.map((i) => i.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  const out = [
    'What the files of this directory are made of (tools/panel bundles them; nothing was changed but their names shortened).\n',
  ];
  for (const name of [...names].sort()) {
    const dir = join(here, 'node_modules', name);
    const { version, license } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
    const file = (await readdir(dir)).find((f) => /^licen[cs]e/i.test(f));
    if (!file) throw new Error(`${name} has no licence file`);
    out.push(
      `${'='.repeat(80)}\n${name} ${version} (${license})\n\n${(await readFile(join(dir, file), 'utf8')).replaceAll('\r\n', '\n').trim()}\n`,
    );
  }
  return out.join('\n');
}

if (process.argv.includes('--check')) {
  const there = await readdir(target).catch(() => []);
  const wrong = there.filter((name) => !made.has(name)).map((name) => `${name} is not made by tools/panel`);
  for (const [name, data] of made) {
    const now = await readFile(join(target, name)).catch(() => null);
    if (!now?.equals(data)) wrong.push(`${name} is not what tools/panel makes`);
  }
  if (wrong.length) {
    console.error(`${wrong.join('\n')}\nRun in tools/panel: npm ci && node build.mjs`);
    process.exit(1);
  }
} else {
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  for (const [name, data] of made) {
    await writeFile(join(target, name), data);
    console.log(`${name}  ${data.length} bytes`);
  }
}
