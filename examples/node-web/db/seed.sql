INSERT INTO bookmarks (url, title, tag) VALUES
  ('https://nodejs.org/api/test.html', 'The test runner of Node', 'node'),
  ('https://sqlite.org/cli.html', 'The sqlite3 program', 'sql'),
  ('https://sqlite.org/lang.html', 'SQL as SQLite understands it', 'sql');
