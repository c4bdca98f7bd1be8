import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeApp } from '../src/app.js';
import { openStore } from '../src/store.js';

let dir;
let app;

before(() => {
  dir = mkdtempSync(join(tmpdir(), 'bookmarks-'));
  const file = join(dir, 'test.db');
  for (const name of ['schema', 'seed']) {
    const input = readFileSync(new URL(`../db/${name}.sql`, import.meta.url));
    execFileSync('sqlite3', ['-bail', file], { input });
  }
  app = makeApp(openStore(file));
});
after(() => rmSync(dir, { recursive: true }));

const get = (path) => app(new Request(`http://localhost${path}`));
const post = (bookmark) =>
  app(new Request('http://localhost/bookmarks', { method: 'POST', body: JSON.stringify(bookmark) }));

test('lists the bookmarks of a tag', async () => {
  const titles = (await (await get('/bookmarks?tag=sql')).json()).map((b) => b.title);
  assert.deepEqual(titles, ['The sqlite3 program', 'SQL as SQLite understands it']);
});

test('adds a bookmark once', async () => {
  const bookmark = { url: 'https://example.com/', title: "It's an example" };
  const added = await post(bookmark);
  assert.equal(added.status, 201);
  assert.equal((await added.json()).title, "It's an example");
  assert.equal((await post(bookmark)).status, 409);
});

test('refuses what is no bookmark', async () => {
  assert.equal((await post({ url: 'nonsense', title: 'x' })).status, 400);
  assert.equal((await get('/nothing')).status, 404);
});

test('a tag is text, not SQL', async () => {
  assert.deepEqual(await (await get("/bookmarks?tag=' OR 1=1 --")).json(), []);
});
