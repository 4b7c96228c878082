// A daemon of a test's own: the real program, with nothing of the user's around it.
import { spawn, execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const program = process.env.MEMSIDECAR_PROGRAM;
const exec = promisify(execFile);

export class Daemon {
  // open starts a daemon, on a copy of the store when one is named. more are further variables of its environment.
  static async open({ store, more = {} } = {}) {
    if (!program) throw new Error('MEMSIDECAR_PROGRAM names no program; start the tests with run.mjs');
    const daemon = new Daemon();
    daemon.dir = await mkdtemp('/tmp/mspanel-'); // short: a socket's path may have 107 bytes
    daemon.data = join(daemon.dir, 'data');
    daemon.env = {
      PATH: process.env.PATH,
      HOME: daemon.dir,
      XDG_RUNTIME_DIR: join(daemon.dir, 'run'),
      TZ: process.env.TZ,
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      MEMSIDECAR_HTTP_LISTEN: '127.0.0.1:0',
      ...more,
    };
    await mkdir(daemon.env.XDG_RUNTIME_DIR, { mode: 0o700 });
    if (store) await cp(store, daemon.data, { recursive: true, preserveTimestamps: true });
    await daemon.start();
    return daemon;
  }

  async start() {
    const log = await open(join(this.dir, 'log'), 'a');
    this.process = spawn(program, ['daemon', 'serve', '--data', this.data], {
      env: this.env,
      stdio: ['ignore', log.fd, log.fd],
    });
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    await log.close();
    try {
      await this.run('status', '--check', '--wait');
      if (this.env.MEMSIDECAR_HTTP_LISTEN) this.url = JSON.parse(await this.run('ui', '--token', '--json')).url;
    } catch (error) {
      this.process.kill('SIGKILL');
      throw new Error(`the daemon did not start: ${error.message}\n${await readFile(join(this.dir, 'log'), 'utf8')}`);
    }
  }

  // stop ends the daemon as a service manager does, and waits for it.
  async stop() {
    this.process.kill('SIGTERM');
    const code = await this.ended;
    if (code !== 0) throw new Error(`the daemon ended with ${code}\n${await readFile(join(this.dir, 'log'), 'utf8')}`);
  }

  async close() {
    await this.stop();
    await rm(this.dir, { recursive: true });
  }

  // run is the command line, and answers with what it printed.
  async run(...args) {
    const { stdout } = await exec(program, [...args, '--data', this.data, '--no-start'], {
      env: this.env,
      maxBuffer: 1 << 28,
    });
    return stdout;
  }

  // hook is a call of a host's, and answers with what the agent is told.
  async hook(host, event, payload) {
    const args = ['hook', event, '--host', host, '--timeout', '10s', '--data', this.data, '--no-start'];
    const call = exec(program, args, { env: this.env });
    call.child.stdin.end(JSON.stringify(payload));
    return (await call).stdout;
  }

  async json(...args) {
    return JSON.parse(await this.run(...args, '--json'));
  }

  // memory is one memory as the daemon has it.
  async memory(id, space = 'default') {
    return (await this.json('get', id, '--space', space)).memories[0];
  }

  // newest are the newest operations, what an access or a message is left out.
  async newest(limit = 1) {
    return (await this.json('ops', '--limit', String(limit))).operations;
  }

  // refused is how many requests the daemon has forbidden, by its log, which it writes before it answers. The
  // browser does not always tell of them.
  async refused() {
    return (await readFile(join(this.dir, 'log'), 'utf8')).match(/"msg":"http".*"status":403/g)?.length ?? 0;
  }

  // address lets one tab in, once, as `memsidecar ui` prints it.
  async address() {
    return JSON.parse(await this.run('ui', '--no-open', '--json')).url;
  }
}
