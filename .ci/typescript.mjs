// What .ci/typescript runs. Every step fails the whole when it does not hold.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const binary = process.argv[2];
const token = 'a-token-of-the-typescript-client';
const agent = `policy {
  rule "edits" {
    tool   = "write_file"
    action = "ask"
  }
}

tool "nap" {
  description = "Sleep with a child. Returns: nothing."
  risk        = "safe_write"
  command {
    argv = ["sh", "-c", "echo started; echo $$ > pid; sleep 4711 & sleep 4711"]
  }
}

tool "count" {
  description = "Print a line every 0.3 s. Returns: the lines."
  risk        = "read_only"
  command {
    argv = ["sh", "-c", "for n in 1 2 3 4 5 6 7; do echo line $n; sleep 0.3; done"]
  }
}

taskfile { path = ".agent/Taskfile.yml" }
`;
const tasks = (name) => `version: '3'\ntasks:\n  ${name}:\n    desc: A task\n    cmds: [echo ${name}]\n`;

// workspace makes a project of its own.
function workspace() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'toolhost-ts-'));
  fs.mkdirSync(path.join(dir, '.agent'));
  fs.writeFileSync(path.join(dir, 'agent.hcl'), agent);
  fs.writeFileSync(path.join(dir, '.agent', 'Taskfile.yml'), tasks('one'));
  return dir;
}

// Not in the workspace, which HOME is here: what waits for approval is kept there.
const state = fs.mkdtempSync(path.join(os.tmpdir(), 'state-'));
process.on('exit', () => fs.rmSync(state, { recursive: true, force: true }));

const environment = (dir) => ({ ...process.env, HOME: dir, XDG_CONFIG_HOME: path.join(os.tmpdir(), 'none'), XDG_STATE_HOME: state, TOOLHOST_TRUST: '1', TOOLHOST_HTTP_TOKEN: token });

// The two ways to a server: each gives a transport and what ends the server.
const ways = {
  async stdio(dir) {
    const transport = new StdioClientTransport({ command: binary, args: ['serve'], cwd: dir, env: environment(dir), stderr: 'ignore' });
    return { transport, end: async () => {} };
  },
  async http(dir) {
    const server = spawn(binary, ['serve', '--http', '0'], { cwd: dir, env: environment(dir), stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    let url;
    while (!url) {
      const [chunk] = await once(server.stderr, 'data');
      said += chunk;
      url = said.match(/serves MCP at (\S+)/)?.[1];
    }
    server.stderr.resume();
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } });
    return {
      transport,
      end: async () => {
        await transport.terminateSession();
        server.kill('SIGTERM');
        const [code] = server.exitCode === null ? await once(server, 'exit') : [server.exitCode];
        assert.equal(code, 0, 'the server ends well');
      },
    };
  },
};

async function until(what, holds) {
  for (const late = Date.now() + 20_000; Date.now() < late; await sleep(20)) {
    if (await holds()) return;
  }
  assert.fail(`waited without success for ${what}`);
}

// inside lists the processes, but for the server's own, that work in dir.
function inside(dir) {
  return fs.readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && fs.readlinkSync(`/proc/${pid}/cwd`) === dir && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('4711');
    } catch {
      return false;
    }
  });
}

// withClient connects a client whose user answers as said.
async function withClient(way, user, work) {
  const dir = workspace();
  const { transport, end } = await ways[way](dir);
  const client = new Client({ name: 'check', version: '1' }, { capabilities: user ? { elicitation: {} } : {} });
  if (user) client.setRequestHandler(ElicitRequestSchema, user);
  await client.connect(transport);
  try {
    await work(client, dir);
  } finally {
    await end();
    await client.close();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const write = { name: 'write_file', arguments: { path: 'a.txt', content: 'hi' } };
const written = (dir) => fs.existsSync(path.join(dir, 'a.txt'));

const checks = {
  async 'approval by elicitation'(way) {
    let asked;
    const user = async (request) => ((asked = request.params.message), { action: 'accept', content: { decision: 'once' } });
    await withClient(way, user, async (client, dir) => {
      const result = await client.callTool(write);
      assert.ok(!result.isError, JSON.stringify(result));
      assert.match(asked, /^Write file: a\.txt\? \(rule .*\)\nTool write_file/);
      assert.match(asked, /\| \+hi/);
      assert.ok(written(dir));
    });
  },
  async 'denial'(way) {
    const content = { decision: 'deny', reason: 'use the other file' };
    await withClient(way, async () => ({ action: 'accept', content }), async (client, dir) => {
      const result = await client.callTool(write);
      assert.ok(result.isError);
      assert.match(result.content[0].text, /did not approve .*use the other file/);
      assert.ok(!written(dir));
    });
  },
  async 'no decision'(way) {
    for (const answer of [{ action: 'cancel' }, { action: 'decline' }, { action: 'accept', content: {} }]) {
      await withClient(way, async () => answer, async (client, dir) => {
        const result = await client.callTool(write);
        assert.ok(result.isError);
        assert.match(result.content[0].text, /toolhost approve [a-z0-9]+/);
        assert.ok(!written(dir));
      });
    }
  },
  async 'a user who does not answer in time'(way) {
    let give;
    const user = () => new Promise((resolve) => (give = resolve));
    await withClient(way, user, async (client, dir) => {
      await assert.rejects(client.callTool(write, undefined, { timeout: 1000 }), /timed out/i);
      give({ action: 'accept', content: { decision: 'once' } });
      assert.ok(!(await client.callTool({ name: 'todoread', arguments: {} })).isError, 'the server goes on');
      assert.ok(!written(dir), 'an answer that comes too late runs nothing');
    });
  },
  async 'a client that cannot ask'(way) {
    await withClient(way, null, async (client, dir) => {
      const result = await client.callTool(write);
      assert.ok(result.isError);
      assert.match(result.content[0].text, /toolhost approve [a-z0-9]+/);
      assert.ok(!written(dir));
    });
  },
  async 'cancellation in mid-command'(way) {
    await withClient(way, null, async (client, dir) => {
      const abort = new AbortController();
      const call = client.callTool({ name: 'nap', arguments: {} }, undefined, { signal: abort.signal });
      await until('the command', () => fs.existsSync(path.join(dir, 'pid')) && inside(dir).length >= 2);
      abort.abort('enough');
      await assert.rejects(call);
      await until('no process to be left', () => inside(dir).length === 0);
      assert.ok(!(await client.callTool({ name: 'todoread', arguments: {} })).isError, 'the server goes on');
    });
  },
  async 'progress'(way) {
    await withClient(way, null, async (client) => {
      const seen = [];
      const result = await client.callTool({ name: 'count', arguments: {} }, undefined, { onprogress: (p) => seen.push(p), timeout: 20_000, resetTimeoutOnProgress: true });
      assert.match(result.content[0].text, /line 7/);
      assert.ok(seen.length >= 2, `${seen.length} reports`);
      for (let n = 1; n < seen.length; n++) assert.ok(seen[n].progress > seen[n - 1].progress);
      assert.match(seen.at(-1).message, /line \d/);
    });
  },
  async 'list_changed after an edit of the Taskfile'(way) {
    await withClient(way, null, async (client, dir) => {
      let changes = 0;
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
      assert.match((await client.callTool({ name: 'list_commands', arguments: {} })).content[0].text, /"one"/);
      await sleep(600);
      fs.writeFileSync(path.join(dir, '.agent', 'Taskfile.yml'), tasks('other'));
      await until('list_changed', () => changes > 0);
      assert.match((await client.callTool({ name: 'list_commands', arguments: {} })).content[0].text, /"other"/);
    });
  },
};

for (const way of Object.keys(ways)) {
  for (const [name, check] of Object.entries(checks)) {
    await check(way);
    console.log(`ok: ${way}: ${name}`);
  }
}
process.exit(0);
