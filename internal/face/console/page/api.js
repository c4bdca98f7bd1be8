// The way to the server. Every request carries the key that this page got for
// its code; the cookie alone opens nothing.

const stored = "toolhost-key";
let key = "";

export class Failure extends Error {
  constructor({ message, suggestion, code, since, back } = {}, status = 0) {
    super(message || "the console does not answer");
    this.next = suggestion || "Check that toolhost console still runs, and reload the page.";
    this.code = code;
    this.since = since;
    this.back = back;
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const send = () => fetch(path, {
    ...options, credentials: "same-origin", redirect: "error", cache: "no-store",
    headers: { ...options.headers, "X-Toolhost-Key": key },
  });
  let answer;
  try {
    answer = await send();
    const newest = localStorage.getItem(stored);
    if (answer.status === 401 && newest && newest !== key) { // another tab has opened a fresh address
      key = newest;
      answer = await send();
    }
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Failure();
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Failure(told.error, answer.status);
  }
  return answer;
}

// get reads; parameters that are empty are left out.
export async function get(path, params = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value) query.set(name, value);
  const text = query.toString();
  return (await ask(text ? `${path}?${text}` : path, { signal })).json();
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

// enter exchanges the code in the address for a session, once, and takes it out
// of the address and of the history.
export async function enter() {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash);
  if (location.pathname !== "/") { // a file has led here; from now on it is this page that asks
    location.replace(code ? "/" + location.hash : "/");
    return new Promise(() => {});
  }
  key = localStorage.getItem(stored) || "";
  if (!code) return;
  history.replaceState(null, "", "/#/inbox");
  key = (await post("/api/session", { code: code[1] })).key;
  localStorage.setItem(stored, key);
}

// follow reads lines of JSON until it is stopped, and begins anew where the
// connection ends. tell gets each, begun is called before the first of each time.
export function follow(path, { begun, tell, failed }) {
  const stop = new AbortController();
  (async () => {
    for (let pause = 250; !stop.signal.aborted; pause = Math.min(2 * pause, 4000)) {
      try {
        const reader = (await ask(path, { signal: stop.signal })).body.getReader();
        begun();
        const decoder = new TextDecoder();
        for (let rest = ""; ;) {
          const { done, value } = await reader.read();
          if (done) break;
          const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
          rest = lines.pop();
          for (const line of lines) tell(JSON.parse(line));
          pause = 250;
        }
        failed(new Failure());
      } catch (e) {
        if (stop.signal.aborted) return;
        failed(e instanceof Failure ? e : new Failure());
        if (e.status === 401) return;
      }
      await new Promise((go) => setTimeout(go, pause));
    }
  })();
  return () => stop.abort();
}
