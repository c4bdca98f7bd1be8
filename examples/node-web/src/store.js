// The bookmarks, in a SQLite database that the sqlite3 program reads and writes.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

// quote writes a text as a literal of SQL.
const quote = (text) => `'${String(text).replaceAll("'", "''")}'`;

export function openStore(file) {
  async function query(sql) {
    const { stdout } = await run('sqlite3', ['-safe', '-bail', '-json', file, sql]);
    return stdout === '' ? [] : JSON.parse(stdout);
  }
  return {
    list: (tag) =>
      query(`SELECT * FROM bookmarks ${tag ? `WHERE tag = ${quote(tag)}` : ''} ORDER BY id`),
    async add({ url, title, tag = '' }) {
      const rows = await query(
        `INSERT INTO bookmarks (url, title, tag) VALUES (${quote(url)}, ${quote(title)}, ${quote(tag)})
         ON CONFLICT (url) DO NOTHING RETURNING *`,
      );
      return rows[0]; // undefined: the URL is there already
    },
  };
}
