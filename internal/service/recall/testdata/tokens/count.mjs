// Counts the tokens of the samples beside it with the o200k_base encoding:
//   npm install --no-save gpt-tokenizer@4.0.0 && node count.mjs > counts.json
import {readdirSync, readFileSync} from 'node:fs';
import {encode} from 'gpt-tokenizer/encoding/o200k_base';

const counts = {};
for (const name of readdirSync('.').filter((n) => n.endsWith('.txt')).sort()) {
  counts[name] = encode(readFileSync(name, 'utf8')).length;
}
console.log(JSON.stringify(counts, null, 2));
