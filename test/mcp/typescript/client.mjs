// Runs the cases of ../cases.json through the official TypeScript client: node client.mjs PROGRAM
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const program = process.argv[2];
const cases = JSON.parse(readFileSync(process.argv[3], 'utf8'));
const kept = {};
const clients = {};

async function clientFor(set) {
  if (!clients[set]) {
    const client = new Client({ name: 'typescript', version: '1' });
    const args = ['mcp', ...(set ? ['--compat', set] : [])];
    await client.connect(new StdioClientTransport({ command: program, args, env: process.env }));
    clients[set] = client;
    const { tools } = await client.listTools(); // from here on the client checks results against the schemas
    if (!tools.every((t) => t.annotations && t.outputSchema))
      throw new Error('a tool lacks annotations or an output schema');
  }
  return clients[set];
}

// filled puts what was kept into the place of "$name".
function filled(v) {
  if (typeof v === 'string' && v in kept) return kept[v];
  if (Array.isArray(v)) return v.map(filled);
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, filled(x)]));
  return v;
}

// difference says where got lacks something of want, which may have fewer members; an empty list must be empty.
function difference(want, got, at = 'result') {
  if (Array.isArray(want)) {
    if (!Array.isArray(got) || (want.length === 0 ? got.length > 0 : got.length < want.length))
      return `${at} is ${JSON.stringify(got)}`;
    return want.map((w, i) => difference(w, got[i], `${at}[${i}]`)).find(Boolean);
  }
  if (want && typeof want === 'object') {
    return Object.entries(want)
      .map(([k, w]) => difference(w, got?.[k], `${at}.${k}`))
      .find(Boolean);
  }
  return want === got ? undefined : `${at} is ${JSON.stringify(got)}, not ${JSON.stringify(want)}`;
}

async function run(c) {
  const client = await clientFor(c.set ?? '');
  const args = filled(c.arguments ?? {});
  if (c.resource) {
    const { contents } = await client.readResource({ uri: c.resource });
    return contents[0].text.includes(c.text) ? undefined : `no ${c.text} in ${contents[0].text}`;
  }
  if (c.prompt) {
    const { messages } = await client.getPrompt({ name: c.prompt, arguments: args });
    return messages[0].content.text.includes(c.text) ? undefined : `no ${c.text} in ${messages[0].content.text}`;
  }
  const result = await client.callTool({ name: c.tool, arguments: args });
  const text = result.content.map((p) => p.text).join('');
  if (c.error) return result.isError && text.includes(c.error) ? undefined : `no error with ${c.error}: ${text}`;
  if (result.isError) return text;
  for (const [member, name] of Object.entries(c.keep ?? {})) kept[name] = result.structuredContent[member];
  if (c.text && !text.includes(c.text)) return `no ${c.text} in ${text}`;
  return difference(filled(c.want), result.structuredContent);
}

let failed = 0;
for (const c of cases) {
  const problem = await run(c).catch((e) => e.message);
  if (problem) {
    failed++;
    console.error(`FAILED: ${c.name}: ${problem}`);
  }
}
for (const client of Object.values(clients)) await client.close();
console.log(`TypeScript: ${cases.length - failed} of ${cases.length} cases passed`);
process.exit(failed ? 1 : 0);
