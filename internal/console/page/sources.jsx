import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";
import { Problem, Text } from "./parts.jsx";
import { Workspace } from "./config.jsx";
import { useSpaces } from "./tools.jsx";

// Sources shows what the tools come from, and what doctor knows.
export function Sources({ place }) {
  const at = Object.fromEntries(new URLSearchParams(place.split("?")[1] || ""));
  const [failed, setFailed] = useState(null);
  const [spaces, space] = useSpaces(at.space, setFailed);
  const [told, setTold] = useState(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setTold(null);
    setFailed(null);
    if (space) get("/api/sources", { space }, stop.signal).then(setTold, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [space, turn]);
  const counts = new Map();
  for (const t of (told && told.tools && told.tools.tools) || []) counts.set(t.source, (counts.get(t.source) || 0) + 1);
  const list = (of) => (Array.isArray(of) ? of : of && (of.plugins || of.servers)) || [];
  return (
    <section class="page">
      <h1>Sources</h1>
      <Workspace spaces={spaces} space={space} page="sources" />
      <button disabled={!told} onClick={() => setTurn(turn + 1)}>Look again</button>
      <Problem of={failed} />
      {!told && !failed && <p>Looking.</p>}
      {told && <>
        <h2>Tools by source</h2>
        <ul class="plain">{[...counts].map(([source, n]) => <li><strong>{source}</strong> {n} tool{n > 1 && "s"}</li>)}</ul>
        {list(told.plugins).length > 0 && <><h2>Plugins</h2>{list(told.plugins).map((p) => <Entry of={p} />)}</>}
        {list(told.servers).length > 0 && <><h2>MCP servers</h2>{list(told.servers).map((s) => <Entry of={s} />)}</>}
        <p class="hint">A session starts its plugins and servers when a tool of theirs is called, and anew after a crash; they end with it. Sources of tools are changed in agent.hcl, which running sessions read again.</p>
        <h2>What doctor knows</h2>
        <ul class="plain">{list(told.doctor).map((f) => <li class={f.ok ? undefined : "bad"}>
          <strong>{f.ok ? "ok" : f.warning ? "note" : "fault"}: {f.check}</strong> {f.detail} {f.next && <span class="hint">{f.next}</span>}</li>)}</ul>
      </>}
    </section>
  );
}

function Entry({ of }) {
  const { login, last_error: error } = of;
  return (
    <details open={!!error}><summary>{[of.name, of.version, of.state, of.crashes > 0 && `${of.crashes} crashes`, login && (login.logged_in ? "logged in" : "not logged in")].filter(Boolean).join(" · ")}</summary>
      <Problem of={error && { message: error.message, next: error.suggestion || "" }} />
      {login && !login.logged_in && <p>Log in where it asks for it: <code>toolhost mcp login {of.name}</code></p>}
      <Text of={JSON.stringify(of, null, 2)} label={of.name} /></details>
  );
}
