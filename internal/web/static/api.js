import { t } from './words.js';

// Talks to the daemon. The token lives in this tab's session storage, which belongs to this address and port alone; it is sent as a header, never
// as a cookie.
const key = 'memsidecar.token';

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `HTTP ${status}`);
    this.status = status;
    this.reason = error?.reason ?? '';
    this.violations = error?.violations ?? [];
  }
}

export const hasToken = () => !!sessionStorage.getItem(key);

// login exchanges the code of the address for a token, and takes it out of the address.
export async function login() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (!code) return;
  history.replaceState(null, '', location.pathname);
  sessionStorage.removeItem(key);
  const res = await fetch('/api/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) });
  if (!res.ok) throw new Refused(res.status, (await res.json()).error);
  sessionStorage.setItem(key, (await res.json()).token);
}

const headers = () => ({ Authorization: `Bearer ${sessionStorage.getItem(key)}` });
let onlost = () => {};
export const whenLost = (f) => { onlost = f; };

// reach is fetch that says in words when nobody answers.
async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (e) {
    throw e.name === 'AbortError' ? e : new Error(t('unreachable'));
  }
}

async function check(res) {
  if (res.ok) return res;
  const body = await res.json().catch(() => ({}));
  if (res.status === 401) {
    sessionStorage.removeItem(key);
    onlost();
  }
  throw new Refused(res.status, body.error);
}

export async function api(method, path, body, signal) {
  const options = { method, headers: headers(), signal };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers['Content-Type'] = 'application/json';
  }
  return (await check(await reach(path, options))).json();
}

// call is a method of the gRPC API.
export const call = (method, body = {}, signal) => api('POST', `/api/v1/${method}`, body, signal);

export const query = (params) => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v !== '' && v !== undefined && v !== null) q.append(k, v);
  return q.toString();
};

export const raw = async (method, path, body, more = {}, signal = undefined) => check(await reach(path, { method, headers: { ...headers(), ...more }, body, signal }));

// listen passes operations on for as long as the page is there, and tells whether it is connected.
export async function listen(onoperation, onstate) {
  let last = '';
  for (let wait = 500; hasToken(); wait = Math.min(wait * 2, 10000)) {
    try {
      const res = await fetch('/api/events', { headers: last ? { ...headers(), 'Last-Event-ID': last } : headers() });
      await check(res);
      onstate(true);
      if (last === '') onoperation(null); // what happened while nobody listened is not known
      wait = 500;
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const parts = text.split('\n\n');
        text = parts.pop();
        for (const part of parts) {
          const fields = Object.fromEntries(part.split('\n').filter((l) => l.includes(': ')).map((l) => [l.slice(0, l.indexOf(': ')), l.slice(l.indexOf(': ') + 2)]));
          if (fields.id) last = fields.id;
          if (fields.event === 'operation') onoperation(JSON.parse(fields.data));
          if (fields.event === 'error') last = '';
        }
      }
    } catch {
      if (!hasToken()) return;
    }
    onstate(false);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
