// What .ci/typescript runs: both generations of the official TypeScript client
// take every kind of result, on every revision of the protocol, and Ajv compiles
// every schema of the files named after the project.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';

const [binary, project, ...lists] = process.argv.slice(2);
const sessions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const newest = '2026-07-28';

// What the tools give: a text, and a structured result of which older revisions
// get the wrapped form.
const wants = {
  array: { text: '[1, 2.50]', structured: [1, 2.5] },
  scalar: { text: '7.5', structured: 7.5 },
  empty_array: { text: '[]', structured: [] },
  nothing: { text: 'null', structured: null },
  json_nul: { text: '["a\\u0000b"]', structured: ['a\0b'] },
  ten_mb_array: { text: `["${'x'.repeat(10_000_000)}"]` }, // not twice: SDK 1 ends a session at 10 MiB
  object: { text: '{"name":"x"}', structured: { name: 'x' } },
  json_not_utf8: { text: '{"a":"caf\ufffd"}', structured: { a: 'caf\ufffd' } },
  empty: { text: '' },
  ten_mb: { text: 'x'.repeat(10_000_000) },
  not_utf8: { text: 'caf\ufffd' },
  nul: { text: 'a\0b' },
};

// at has a transport ask for a revision that its client does not begin with.
function at(transport, revision) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...rest) => {
    if (message.method === 'initialize') message.params.protocolVersion = revision;
    return send(message, ...rest);
  };
  return transport;
}

async function check(what, client, transport, revision) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  for (const [name, want] of Object.entries(wants)) {
    assert.ok(tools.some((tool) => tool.name === name), `${name} is listed`);
    const result = await client.callTool({ name, arguments: {} });
    assert.ok(!result.isError, `${what}: ${name}: ${JSON.stringify(result).slice(0, 500)}`);
    assert.ok(result.content[0].text === want.text, `${what}: ${name}: another text`);
    const isObject = want.structured !== null && typeof want.structured === 'object' && !Array.isArray(want.structured);
    const structured = want.structured === undefined || isObject || revision === newest ? want.structured : { result: want.structured };
    assert.deepEqual(result.structuredContent, structured, `${what}: ${name}`);
  }
  const long = (await client.callTool({ name: 'long', arguments: {} })).content[0].text;
  assert.match(long, /\n100000\n\[\d+ of 588895 bytes are shown; the whole output is in \S+\]\n$/, what);
  assert.match(long, /left out; [^\n]*\]\n\d+\n/, `${what}: the end begins with a whole line`);
  const broken = await client.callTool({ name: 'promised', arguments: {} });
  assert.ok(broken.isError && broken.structuredContent === undefined, `${what}: a promised result that is missing is an error, and is taken`);
  assert.ok((await client.callTool({ name: 'object', arguments: { word: '7' } })).isError, 'the pattern is checked');
  assert.equal((await client.callTool({ name: 'object', arguments: { word: 'ABC' } })).structuredContent.name, 'ABC');
  await client.close();
  console.log(`ok: ${what}`);
}

const start = { command: binary, args: ['serve', '--workspace', project], env: { ...process.env, TOOLHOST_TRUST: '1' }, stderr: 'ignore' };
const who = { name: 'check', version: '1' };
for (const revision of sessions) {
  await check(`TypeScript SDK 1, ${revision}`, new Client1(who), at(new Stdio1(start), revision), revision);
  await check(`TypeScript SDK 2, ${revision}`, new Client2(who), at(new Stdio2(start), revision), revision);
}
await check(`TypeScript SDK 2, ${newest}`, new Client2(who, { versionNegotiation: { mode: { pin: newest } } }), new Stdio2(start), newest);

// schemasOf finds the schemas in a list of tools, in whichever form it is.
function* schemasOf(value) {
  if (value === null || typeof value !== 'object') return;
  for (const [key, inner] of Object.entries(value)) {
    if (['inputSchema', 'outputSchema', 'input_schema', 'parameters'].includes(key)) yield inner;
    else yield* schemasOf(inner);
  }
}
let compiled = 0;
for (const file of lists) {
  for (const schema of schemasOf(JSON.parse(fs.readFileSync(file, 'utf8')))) {
    try {
      new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    } catch (error) {
      assert.fail(`${file}: ${error.message}: ${JSON.stringify(schema).slice(0, 500)}`);
    }
    compiled++;
  }
}
assert.ok(lists.length === 0 || compiled > 100, `${compiled} schemas`);
console.log(`ok: Ajv compiles ${compiled} schemas`);
process.exit(0);
