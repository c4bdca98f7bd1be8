import { useEffect, useState } from "preact/hooks";
import { get, post } from "./api.js";
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
        {list(told.plugins).length > 0 && <><h2>Plugins</h2>{list(told.plugins).map((p) => <Entry of={p} kind="plugin" space={space} />)}</>}
        {list(told.servers).length > 0 && <><h2>MCP servers</h2>{list(told.servers).map((s) => <Entry of={s} kind="mcp" space={space} />)}</>}
        <p class="hint">A session starts its plugins and servers when a tool of theirs is called, and anew after a crash; they end with it. Restart and Start are for all sessions that run. Sources of tools are changed in agent.hcl, which running sessions read again.</p>
        <h2>What doctor knows</h2>
        <ul class="plain">{list(told.doctor).map((f) => <li class={f.ok ? undefined : "bad"}>
          <strong>{f.ok ? "ok" : f.warning ? "note" : "fault"}: {f.check}</strong> {f.detail} {f.next && <span class="hint">{f.next}</span>}</li>)}</ul>
      </>}
    </section>
  );
}

// every asks again and again, with a pause between, until stop is called.
function every(pause, ask) {
  let timer, over = false;
  const go = async () => { await ask(); if (!over) timer = setTimeout(go, document.hidden ? 5 * pause : pause); };
  go();
  return () => { over = true; clearTimeout(timer); };
}

// Said is what a source printed and logged last, as it comes.
function Said({ of }) {
  const [said, setSaid] = useState(null);
  const [failed, setFailed] = useState(null);
  const open = of.open;
  useEffect(() => {
    if (!open) return;
    const stop = new AbortController();
    const end = every(1000, () => get("/api/said", of.asked, stop.signal).then((a) => { setSaid(a.said); setFailed(null); },
      (e) => e.name === "AbortError" || setFailed(e)));
    return () => { stop.abort(); end(); };
  }, [open, of.asked.space, of.asked.kind, of.asked.name]);
  if (!open) return null;
  return <><Problem of={failed} />{said === "" ? <p>It has said nothing.</p> : said && <Text of={said} label={`Log of ${of.asked.name}`} />}</>;
}

// Login begins a login, shows where it goes on, and what has become of it.
function Login({ asked }) {
  const [at, setAt] = useState(null);
  const [failed, setFailed] = useState(null);
  const waits = at && !at.done && !failed;
  useEffect(() => {
    if (!waits) return;
    const stop = new AbortController();
    const end = every(500, () => get("/api/logging", asked, stop.signal).then(setAt, (e) => e.name === "AbortError" || setFailed(e)));
    return () => { stop.abort(); end(); };
  }, [waits]);
  const begin = () => { setFailed(null); setAt(null); post("/api/login", asked).then(() => setAt({}), setFailed); };
  return (
    <div>
      <button disabled={waits} onClick={begin}>Log in to {asked.name}</button>
      <Problem of={failed} />
      <p role="status">{failed ? "" : at && at.done ? "Logged in." : waits && (at.address ? <>Log in at <a href={at.address} target="_blank" rel="noopener noreferrer">{at.address}</a>.
        This page shows when it is done.</> : "Asking the server.")}</p>
    </div>
  );
}

function Entry({ of, kind, space }) {
  const { login, last_error: error } = of;
  const asked = { space, kind, name: of.name };
  const [open, setOpen] = useState(false);
  const [told, setTold] = useState("");
  const [failed, setFailed] = useState(null);
  const restart = () => {
    setFailed(null);
    setTold("");
    post("/api/restart", asked).then(() => setTold("Sessions that run start it anew."), setFailed);
  };
  return (
    <details open={!!error}><summary>{[of.name, of.version, of.state, of.crashes > 0 && `${of.crashes} crashes`, login && (login.logged_in ? "logged in" : "not logged in")].filter(Boolean).join(" · ")}</summary>
      <Problem of={error && { message: error.message, next: error.suggestion || "" }} />
      <div class="bar"><button onClick={restart}>{of.state === "failed" ? "Start" : "Restart"} {of.name}</button><span role="status">{told}</span></div>
      <Problem of={failed} />
      {login && <Login asked={asked} />}
      <details onToggle={(e) => setOpen(e.currentTarget.open)}><summary>Log of {of.name}</summary><Said of={{ open, asked }} /></details>
      <Text of={JSON.stringify(of, null, 2)} label={of.name} /></details>
  );
}
