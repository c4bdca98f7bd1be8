// The application: a function from a request to a response. It needs no socket,
// so tests call it as it is.
export function makeApp(store) {
  return async function handle(request) {
    const url = new URL(request.url);
    if (url.pathname !== '/bookmarks') return problem(404, `there is no ${url.pathname}`);
    switch (request.method) {
      case 'GET':
        return Response.json(await store.list(url.searchParams.get('tag')));
      case 'POST':
        return add(request);
      default:
        return problem(405, `${request.method} is not allowed`);
    }
  };

  async function add(request) {
    const given = await request.json().catch(() => null);
    if (!given?.title || !URL.canParse(given.url)) return problem(400, 'url and title are required');
    const added = await store.add(given);
    return added ? Response.json(added, { status: 201 }) : problem(409, 'this URL is there already');
  }
}

const problem = (status, error) => Response.json({ error }, { status });
