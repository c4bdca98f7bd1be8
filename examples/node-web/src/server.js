// Serves the application on 127.0.0.1: PORT=8080 node src/server.js
import { createServer } from 'node:http';
import { makeApp } from './app.js';
import { openStore } from './store.js';

const app = makeApp(openStore(process.env.DATABASE ?? 'db/app.db'));

const server = createServer(async (incoming, outgoing) => {
  try {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method, headers } = incoming;
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
    const response = await app(new Request(`http://${headers.host}${incoming.url}`, { method, headers, body }));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(await response.text());
  } catch (error) {
    console.error(error);
    outgoing.writeHead(500).end();
  }
});

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/bookmarks`);
});
