import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "./api.js";
import { Undoing, useUndo } from "./call.jsx";
import { diffLines, files as filesOf } from "./diff.jsx";
import { Tree } from "./files.jsx";
import { Ago, Session, clock, project, seen, sessionName, timeFrom } from "./names.jsx";
import { Badge, Counts, Lines, Problem, Text } from "./parts.jsx";
import { at, go, linkTo, to } from "./route.js";

// marks are the files whose change was seen, as it was then: one that has changed since is to be seen again.
const marks = signal(JSON.parse(localStorage.getItem("toolhost-seen") || "{}"));
const mostMarks = 2000;
const stamp = (text) => { let h = 5381; for (let i = 0; i < text.length; i++) h = (h * 33 ^ text.charCodeAt(i)) >>> 0; return `${h}.${text.length}`; };
function mark(key, value) {
  const next = { ...marks.value };
  if (value) next[key] = value; else delete next[key];
  marks.value = Object.fromEntries(Object.entries(next).slice(-mostMarks));
  localStorage.setItem("toolhost-seen", JSON.stringify(marks.value));
}

// useChanges are the calls that changed files, and for one project what they have changed together: a diff for each file.
function useChanges(space, session, since) {
  const [all, setAll] = useState(null);
  const [net, setNet] = useState(null);
  const [failed, setFailed] = useState(null);
  const [turn, setTurn] = useState(0);
  const newest = all ? all.changes.map((c) => `${c.space}${c.call.session}${c.call.call}${c.call.undone_by}`).join() : "";
  useEffect(() => {
    const stop = new AbortController();
    let timer;
    const look = async () => {
      try {
        const got = await get("/api/changes", {}, stop.signal);
        for (const c of got.changes) seen({ space: c.space, session: c.call.session }, Date.parse(c.time));
        setAll(got);
      } catch (e) { if (e.name === "AbortError") return; setFailed(e); }
      timer = setTimeout(look, document.hidden ? 20000 : 3000);
    };
    look();
    return () => { stop.abort(); clearTimeout(timer); };
  }, [turn]);
  useEffect(() => {
    if (!space || !all) return;
    const stop = new AbortController();
    get("/api/net", { space, session, since: session ? "" : since }, stop.signal).then((n) => { setNet({ ...n, of: space + session + since }); setFailed(null); }, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [space, session, since, newest, turn]);
  return { all, net: net && net.of === space + session + since ? net : null, failed, again: () => setTurn((n) => n + 1) };
}

export function Changes() {
  const a = at.value;
  const [first, setFirst] = useState("");
  const space = a.space || first;
  const since = useMemo(() => new Date(a.since ? timeFrom(a.since) : 0).toISOString(), [a.since]);
  const { all, net, failed, again } = useChanges(space, a.session || "", since);
  useEffect(() => { if (all && !a.space) setFirst(all.changes[0]?.space || ""); }, [all]);
  const [picked, setPicked] = useState(() => new Set());
  const calls = (all ? all.changes : []).filter((c) => c.space === space && (!a.session || c.call.session === a.session) && (a.session || c.time >= since));
  const parts = useMemo(() => {
    if (!net) return [];
    const found = filesOf(diffLines(net.diff || "")).filter((f) => f.name).map((f) => ({ ...f, path: f.name, key: `${space}/${f.name}`, stamp: stamp(f.lines.map((l) => l.text).join("\n")) }));
    const had = new Set(found.map((f) => f.path)), left = (net.files || []).filter((p) => !had.has(p)), odd = found.filter((f) => !(net.files || []).includes(f.path));
    if (left.length === 1 && odd.length === 1) { // one name, written out in two ways
      odd[0].path = odd[0].name = left[0];
      had.add(left[0]);
    }
    return found.concat((net.files || []).filter((p) => !had.has(p)).map((path) => ({ path, name: path, key: `${space}/${path}`, stamp: stamp(path), plus: 0, minus: 0, lines: [] })));
  }, [net, space]);
  const isSeen = (f) => marks.value[f.key] === f.stamp;
  const rest = parts.filter((f) => !isSeen(f)), done = parts.filter(isSeen);
  const order = [...rest, ...done];
  const file = order.find((f) => f.path === a.path) || order[0];
  const choose = (path, replace = true) => go({ path }, replace);
  const sessions = [...new Map((all ? all.changes : []).filter((c) => c.space === space).map((c) => [c.call.session, c])).values()];
  useEffect(() => {
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.closest(".text, dialog")) return;
      if (e.key === "e" && file) { mark(file.key, isSeen(file) ? "" : file.stamp); return; }
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key], now = order.findIndex((f) => f.path === at.value.path);
      const next = step && order[Math.max(0, now) + step];
      if (next) { e.preventDefault(); choose(next.path); }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  const row = (f) => (
    <div class="row" data-chosen={f === file || undefined} onClick={(e) => { if (e.target.tagName !== "INPUT" && e.target.tagName !== "A") choose(f.path, false); }}>
      <input type="checkbox" aria-label={`Choose ${f.path}`} checked={picked.has(f.path)} onChange={() => { const next = new Set(picked); if (!next.delete(f.path)) next.add(f.path); setPicked(next); }} />
      <a href={to("changes", { ...a, page: "", path: f.path })} title={f.path} aria-current={f === file ? "true" : undefined}>{f.name.slice(f.name.lastIndexOf("/", f.name.length - 2) + 1)}</a><Counts plus={f.plus} minus={f.minus} />
    </div>
  );
  return (
    <section class={`split ${a.path ? "picked" : "pick"}`}>
      <div class="side">
        <h1>Changes <span class="count" aria-live="polite">{net ? `${parts.length} file${parts.length === 1 ? "" : "s"}` : ""}</span></h1>
        <form class="filter" onSubmit={(e) => e.preventDefault()}>
          <span class={`chip ${a.since ? "on" : ""}`}><label>Since <input placeholder="12:00, 2h" value={a.since || ""} onChange={(e) => go({ since: e.target.value.trim(), session: "", path: "" })} /></label></span>
          <span class={`chip ${a.session ? "on" : ""}`}><label>Session <select value={a.session || ""} onChange={(e) => go({ session: e.target.value, since: "", path: "" })}><option value="">all</option>
            {sessions.map((c) => <option value={c.call.session}>{sessionName({ space, session: c.call.session })}</option>)}</select></label></span>
          {picked.size > 0 && <button class="small" onClick={() => setPicked(new Set())}>{picked.size} chosen ×</button>}
        </form>
        <Problem of={failed} />
        {all && all.problems.map((p) => <Problem of={{ message: p, next: "" }} />)}
        {space && all && <div class="group"><b>{project(all.changes.find((c) => c.space === space)?.root || "")}</b><span>{rest.length} to see</span></div>}
        <div class="files" tabIndex={0} role="group" aria-label="Files">
          {rest.length > 0 && <Tree of={rest} row={row} />}
          {done.length > 0 && <><div class="group"><b>Seen</b><span>{done.length}</span></div><Tree of={done} row={row} /></>}
        </div>
      </div>
      {file ? <File key={file.key + file.stamp} file={file} calls={calls} net={net} scope={{ space, session: a.session || "", since: a.session ? "" : since }} picked={[...picked].filter((p) => parts.some((f) => f.path === p))}
        seen={isSeen(file)} done={() => { setPicked(new Set()); again(); }} />
        : <article class="detail"><div class="empty">{all && (!space || net) ? <><h1>Nothing has changed</h1><p>{a.since || a.session ? <a href={to("changes", { space: a.space })}>Show all changes</a> : "No call has changed a file that is kept."}</p></> : !failed && <p>Looking.</p>}
          {calls.length > 0 && <Authors calls={calls} />}</div></article>}
    </section>
  );
}

const Authors = ({ calls }) => <ul class="plain">{calls.slice(0, 100).map((c) => <li key={`${c.call.session}/${c.call.call}`}><time>{clock(Date.parse(c.time) * 1000)}</time>{" "}
  <a href={linkTo({ space: c.space, session: c.call.session, id: c.call.call })}>{c.call.tool || c.call.call}</a> <Session of={{ space: c.space, session: c.call.session }} />{" "}
  {c.call.undone_by && <Badge kind="blue" title={`undone by ${c.call.undone_by}`}>undone</Badge>} {c.call.lost > 0 && <Badge kind="amber">{c.call.lost} not kept</Badge>}</li>)}</ul>;

// File is one file: its net diff, whose it is, and the way back.
function File({ file: f, calls, net, scope, picked, seen, done }) {
  const of = calls.filter((c) => c.call.files.includes(f.path));
  const paths = picked.length ? picked : [f.path];
  const undo = useUndo({ ...scope, paths }, done);
  const hand = (net.since || []).includes(f.path), unknown = (net.unknown || []).find((u) => u.path === f.path);
  const agents = new Set(of.map((c) => c.call.session));
  return (
    <article class="detail" tabIndex={0} aria-label="File">
      <div class="head">
        <div><h2><code>{f.path}</code></h2>
          <div class="sub"><Counts plus={f.plus} minus={f.minus} />{f.fresh && <Badge kind="green">new</Badge>}{f.gone && <Badge kind="red">deleted</Badge>}
            <span>by {of.length} call{of.length === 1 ? "" : "s"} of {agents.size} session{agents.size === 1 ? "" : "s"}</span>{hand && <Badge kind="amber">changed by others since</Badge>}{seen && <Badge>seen</Badge>}
            {of[0] && <Ago ms={Date.parse(of[0].time)} after=" ago" />}</div></div>
        <div class="acts"><button class="quiet" onClick={() => mark(f.key, seen ? "" : f.stamp)}>{seen ? "Not seen" : "Mark as seen"} <kbd>E</kbd></button>
          <button class="no" disabled={undo.busy || !!undo.plan} onClick={() => undo.turn({})}>{picked.length ? `Undo ${picked.length} file${picked.length > 1 ? "s" : ""}…` : "Undo file…"}</button></div>
      </div>
      <Undoing of={undo} />
      {unknown && <Problem of={{ message: `It is not shown: ${unknown.lost}` }} />}
      <section class="card"><h2><span class="mono">{f.path}</span><span class="end">all changes together</span></h2>
        {f.lines.length ? <Lines of={f.lines} label="Changes" /> : <p class="pad hint">There is no diff of its text.</p>}</section>
      <section class="card"><h2>Whose it is</h2><div class="pad">{of.length ? <Authors calls={of} /> : <Text of="No call that is kept names it." label="Calls" />}{hand && <p class="hint">It was changed by others since the last of them; the diff includes that.</p>}</div></section>
    </article>
  );
}
