import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Project, duration } from "./names.jsx";
import { Badge, Problem, Text, colourOf } from "./parts.jsx";
import { at } from "./route.js";
import { NoSpace, useSpaces } from "./tools.jsx";

// Sources shows what the tools come from, and what doctor knows.
export function Sources() {
  const [failed, setFailed] = useState(null);
  const [spaces, space] = useSpaces(at.value.space, setFailed);
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
  const plugins = list(told && told.plugins), servers = list(told && told.servers), doctor = list(told && told.doctor);
  const others = [...counts].filter(([source]) => ![...plugins, ...servers].some((p) => source.endsWith(p.name)));
  const here = spaces?.find((s) => s.id === space);
  if (spaces && !spaces.length) return <NoSpace />;
  return (
    <section class="page">
      <div class="head"><h1>Sources <span class="count">{here && <Project root={here.root} />}</span></h1><div class="acts"><button disabled={!told} onClick={() => setTurn(turn + 1)}>Refresh</button></div></div>
      <Problem of={failed} />
      {!told && !failed && <p role="status">Looking.</p>}
      {told && <>
        {others.length > 0 && <section class="card"><h2>Built in, and of this project</h2><ul class="plain pad">{others.map(([source, n]) => <li><strong>{source}</strong> <span class="hint">{n} tool{n > 1 && "s"}</span></li>)}</ul></section>}
        {plugins.length > 0 && <Table title="Plugins" of={plugins} kind="plugin" space={space} counts={counts} />}
        {servers.length > 0 && <Table title="MCP servers" of={servers} kind="mcp" space={space} counts={counts} />}
        <p class="hint">A session starts its plugins and servers when a tool of theirs is called, and again after a crash; they end with it. Restart and Start are for all sessions that run.</p>
        <section class="card"><h2>What doctor knows</h2>
        <ul class="plain pad">{doctor.map((f) => <li>
          <Badge kind={f.ok ? "green" : f.warning ? "amber" : "red"}>{f.ok ? "ok" : f.warning ? "note" : "fault"}</Badge> <strong>{f.check}</strong> {f.detail} {f.next && <span class="hint">{f.next}</span>}</li>)}</ul></section>
      </>}
    </section>
  );
}

// useFigures are how often a source was called lately, how often that failed, and how long it took in the middle.
function useFigures(space) {
  const [by, setBy] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    Promise.all([get("/api/calls", { space, limit: 1000 }, stop.signal), get("/api/tools", { space }, stop.signal)]).then(([g, t]) => {
      const source = new Map(t.tools.map((x) => [x.name, x.source])), found = new Map();
      for (const c of g.calls) {
        const key = source.get(c.tool);
        if (!key || c.status === "running") continue;
        if (!found.has(key)) found.set(key, { calls: 0, failed: 0, took: [] });
        const f = found.get(key);
        f.calls++;
        if (colourOf(c.status) === "red") f.failed++;
        f.took.push(c.took - (c.waited || 0));
      }
      setBy(found);
    }, () => {});
    return () => stop.abort();
  }, [space]);
  return by;
}

// Table is a source a row, with what is more to it below.
function Table({ title, of, kind, space, counts }) {
  const by = useFigures(space);
  const find = (map, name) => map && [...map].find(([source]) => source === name || source.endsWith(`:${name}`) || source.endsWith(` ${name}`) || source.endsWith(`/${name}`))?.[1];
  return (
    <section class="card"><h2>{title}<span class="end">figures of the last 1,000 calls</span></h2>
      <table class="list"><thead><tr><th>Name</th><th>State</th><th class="wide-only">Version</th><th class="wide-only">Tools</th><th>Calls</th><th class="wide-only">Failed</th><th class="wide-only">Median</th></tr></thead>
        <tbody>{of.map((p) => {
          const f = find(by, p.name), error = p.last_error, state = error ? "failed" : p.state || "rests";
          return <>
            <tr><td><strong>{p.name}</strong></td><td><i class={`dot ${{ failed: "red", running: "green", ready: "green" }[state] || ""}`} /> {state}{p.crashes > 0 && `, ${p.crashes} crashes`}</td><td class="wide-only">{p.version || "not known"}</td>
              <td class="wide-only num">{find(counts, p.name) ?? 0}</td><td class="num">{f ? f.calls : 0}</td><td class="wide-only num">{f ? f.failed : 0}</td><td class="wide-only num">{f ? duration(f.took.sort((x, y) => x - y)[f.took.length >> 1]) : ""}</td></tr>
            <tr><td colSpan={7}><Entry of={p} kind={kind} space={space} /></td></tr></>;
        })}</tbody></table></section>
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
  const box = useRef(null);
  useEffect(() => { const pre = box.current?.querySelector(".text"); if (pre) pre.scrollTop = pre.scrollHeight; }, [said]);
  if (!open) return null;
  return <div ref={box}><Problem of={failed} />{said === "" ? <p>It has said nothing.</p> : said && <Text of={said} label={`Log of ${of.asked.name}`} />}</div>;
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
    post("/api/restart", asked).then(() => setTold("Running sessions restart it."), setFailed);
  };
  return (
    <details open={!!error}><summary>{[of.name, of.version, of.state, of.crashes > 0 && `${of.crashes} crashes`, login && (login.logged_in ? "logged in" : "not logged in")].filter(Boolean).join(" · ")}</summary>
      <Problem of={error && { message: error.message, next: error.suggestion || "" }} />
      <div class="bar"><button onClick={restart}>{of.state === "failed" ? "Start" : "Restart"} {of.name}</button><span role="status">{told}</span></div>
      <Problem of={failed} />
      {login && <Login asked={asked} />}
      <details onToggle={(e) => setOpen(e.currentTarget.open)}><summary>Log of {of.name}</summary><Said of={{ open, asked }} /></details>
      <details><summary>All that is known</summary><Text of={JSON.stringify(of, null, 2)} label={of.name} /></details></details>
  );
}
