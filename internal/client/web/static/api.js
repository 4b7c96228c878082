import { t } from './texts.js';

// Requests to the daemon. The token is in this tab's session storage, which belongs to this address and port alone.
// It is sent as a header, never as a cookie.
const key = 'memsidecar.token';

export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `HTTP ${status}`);
    this.status = status;
    this.reason = error?.reason ?? '';
    this.violations = error?.violations ?? [];
  }
}

// explain is an error in words for people. What is needed for that is loaded with the first error.
export const explain = async (error) => {
  const words = await import('./said.js').catch(() => null); // the daemon may be gone
  return words ? words.explain(error) : error.message;
};

export const hasToken = () => !!sessionStorage.getItem(key);

// login exchanges the code in the address for a token, and removes it from the address.
export async function login() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (!code) return;
  history.replaceState(null, '', location.pathname);
  sessionStorage.removeItem(key);
  const res = await fetch('/api/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  if (!res.ok) throw new Refused(res.status, (await res.json()).error);
  sessionStorage.setItem(key, (await res.json()).token);
}

const headers = () => ({ Authorization: `Bearer ${sessionStorage.getItem(key)}` });
let onlost = () => {};
export const whenLost = (f) => {
  onlost = f;
};

// reach is fetch with an error for people when the daemon does not answer.
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

// call calls a method of the gRPC API.
export const call = (method, body = {}, signal) => api('POST', `/api/v1/${method}`, body, signal);

// callAll calls a method that has pages and returns the elements of all of them. The name is that of the list.
export const callAll = (method, name, body = {}) =>
  everyPage(name, (token) => call(method, { ...body, page_token: token }));

// getAll does so for a GET request.
export const getAll = (path, name, params = {}) =>
  everyPage(name, (token) => api('GET', `${path}?${query({ ...params, page_token: token })}`));

// everyPage returns the response of the last page with the elements of all pages.
async function everyPage(name, load) {
  const list = [];
  for (let token = ''; ;) {
    const page = await load(token);
    for (const x of page[name]) list.push(x);
    token = page.next_page_token;
    if (!token) return { ...page, [name]: list };
  }
}

// query is the query of an address: of an object, or of pairs when a name comes several times.
export const query = (params) => {
  const q = new URLSearchParams();
  for (const [k, v] of Array.isArray(params) ? params : Object.entries(params))
    if (v !== '' && v !== undefined && v !== null) q.append(k, v);
  return q.toString();
};

export const raw = async (method, path, body, more = {}, signal = undefined) =>
  check(await reach(path, { method, headers: { ...headers(), ...more }, body, signal }));

// download asks for a file, saves it under the name that the server gives, and returns name and size. at is called with
// the bytes so far.
export async function download(path, at) {
  const res = await check(await reach(path, { headers: headers() }));
  const name = /filename="([^"]+)"/.exec(res.headers.get('Content-Disposition'))[1];
  const parts = [];
  let bytes = 0;
  for (const reader = res.body.getReader(); ;) {
    const { value, done } = await reader.read().catch(() => {
      throw new Error(t('brokeOff'));
    });
    if (done) break;
    parts.push(value);
    bytes += value.length;
    at(undefined, bytes);
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  return { name, bytes };
}

// upload sends a file. at is called with the part that was sent, 0 to 1, and its bytes. The server takes the file as
// fast as it works on it.
export const upload = (path, file, at) =>
  new Promise((resolve, reject) => {
    const x = new XMLHttpRequest(); // fetch does not say how much was sent
    x.open('POST', path);
    x.setRequestHeader('Authorization', headers().Authorization);
    x.setRequestHeader('Content-Type', 'application/octet-stream');
    x.upload.onprogress = (e) => at(e.loaded / e.total, e.loaded);
    x.onerror = () => reject(new Error(t('unreachable')));
    x.onload = () =>
      check(new Response(x.responseText, { status: x.status }))
        .then((res) => res.json())
        .then(resolve, reject);
    x.send(file);
  });

// listen calls onoperation for each operation for as long as the page exists, and onstate when the connection is
// made or lost. It reconnects with the last event id, so no operation is missed.
export async function listen(onoperation, onstate) {
  let last = '';
  for (let wait = 500; hasToken(); wait = Math.min(wait * 2, 10000)) {
    try {
      const res = await fetch('/api/events', { headers: last ? { ...headers(), 'Last-Event-ID': last } : headers() });
      await check(res);
      onstate(true);
      if (last === '') onoperation(null); // operations before the first connection are unknown
      wait = 500;
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        const parts = text.split('\n\n');
        text = parts.pop();
        for (const part of parts) {
          const fields = Object.fromEntries(
            part
              .split('\n')
              .filter((l) => l.includes(': '))
              .map((l) => [l.slice(0, l.indexOf(': ')), l.slice(l.indexOf(': ') + 2)]),
          );
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
