import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { Call } from "./call.jsx";
import { Histogram } from "./histogram.jsx";
import { Session, clientName, clock, duration, moment, project, seen, sessionName, timeFrom } from "./names.jsx";
import { Badge, Problem, Rows, colourOf } from "./parts.jsx";
import { at, go, linkTo, to } from "./route.js";

const loaded = signal({ calls: [], more: true, back: 0 });
const statuses = ["", "running", "success", "error", "denied", "lost", "dry run"];
const keyOf = (c) => `${c.space}/${c.session}/${c.id}/${c.began}`;
const height = 32;
const leastRun = 3; // how many equal calls, one after the other, are folded into a line

// merge puts newer calls before those that are there; a call that has gone on
// takes the place of what it was. Both are in order, and only where they overlap
// is anything compared: there may be very many.
function merge(older, newer) {
  if (!older.length || !newer.length) return older.length ? older : newer;
  const last = newer.at(-1).began, first = older[0].began;
  let i = 0, j = newer.length;
  while (i < older.length && older[i].began >= last) i++;
  while (j > 0 && newer[j - 1].began <= first) j--;
  const both = newer.slice(j), fresh = new Set(both.map(keyOf));
  const mixed = [...both, ...older.slice(0, i).filter((c) => !fresh.has(keyOf(c)))].sort((a, b) => b.began - a.began);
  return newer.slice(0, j).concat(mixed, older.slice(i));
}

// same reports whether nothing has begun, ended or gone on since.
const same = (calls, news) => news.length <= calls.length && news.every((c, i) => c.status !== "running" && keyOf(c) === keyOf(calls[i])
  && c.status === calls[i].status && c.took === calls[i].took && c.files === calls[i].files);

const lane = (c) => `${c.space}/${c.session}`;

// callOf is the call that a span began in: the one that the record names, or the
// last of its session that ran then.
const callOf = (s, calls) => calls.find((c) => lane(c) === lane(s) && (s.call ? c.id === s.call
  : c.began <= s.began && (c.status === "running" || s.began <= c.began + c.took * 1000))) || (s.call && { ...s, id: s.call, tool: "its call" });

// Spans lists tasks and plugins, with the calls that they began in.
function Spans({ spans, calls }) {
  const [open, setOpen] = useState(false); // there may be very many calls to look through
  const list = useMemo(() => (open ? spans.slice(0, 100).map((s) => [s, callOf(s, calls)]) : []), [open, spans, calls]);
  if (!spans.length) return null;
  return (
    <details class="spans" onToggle={(e) => setOpen(e.currentTarget.open)}><summary>Tasks and plugins: {spans.length}</summary>
      <ul class="plain">{list.map(([s, call]) => {
        return <li key={`${lane(s)}/${s.kind}/${s.name}/${s.began}`}>{clock(s.began)} {s.kind} <strong>{s.name}</strong> · {s.state}
          {s.ended > s.began && ` · ${duration((s.ended - s.began) / 1000)}`} · <Session of={s} />{call && <> · <a href={linkTo(call)}>{call.tool}</a></>}</li>;
      })}</ul></details>
  );
}

// folded are the calls in rows: a run of equal ones is one row until it is opened.
export function folded(calls, open) {
  const rows = [];
  for (let i = 0; i < calls.length;) {
    const c = calls[i];
    let to = i + 1;
    while (to < calls.length && calls[to].call === c.call && calls[to].session === c.session && calls[to].space === c.space && calls[to].status === c.status) to++;
    if (to - i >= leastRun && !open.has(keyOf(calls[to - 1]))) rows.push({ ...c, run: to - i, runKey: keyOf(calls[to - 1]) });
    else for (let j = i; j < to; j++) rows.push(calls[j]);
    i = to;
  }
  return rows;
}

// filterOf is what the address says, in the words of the server.
const filterOf = (a) => ({ space: a.space || "", text: a.text || "", session: a.session || "", tool: a.tool || "", status: a.status || "", path: a.path || "",
  since: a.since ? Math.round(timeFrom(a.since) * 1000) : +a.from || 0, until: +a.until || 0 });
const asked = ({ until, ...f }, before, limit) => ({ ...f, before, limit });

function useCalls(f, setFailed) {
  useEffect(() => {
    const stop = new AbortController();
    loaded.value = { calls: [], more: true, back: 0 };
    let timer;
    const look = async (first) => {
      try {
        const news = await get("/api/calls", asked(f, f.until, first ? 200 : 50), stop.signal);
        for (const c of news.calls) seen(c, c.began / 1000);
        const known = new Set(loaded.value.calls.slice(0, 2 * news.calls.length).map(keyOf));
        // Where nothing of it is known more may have come between.
        if (first || (news.more && !news.calls.some((c) => known.has(keyOf(c))))) loaded.value = { calls: news.calls, more: news.more, back: news.back, ready: true };
        else if (!same(loaded.value.calls, news.calls)) loaded.value = { ...loaded.value, calls: merge(loaded.value.calls, news.calls) };
        setFailed(null);
        if (f.until) return; // what is over does not change
      } catch (e) {
        if (e.name === "AbortError") return;
        setFailed(e);
      }
      timer = setTimeout(() => look(false), document.hidden ? 5000 : 1000);
    };
    look(true);
    return () => { stop.abort(); clearTimeout(timer); };
  }, [f]);
}

function useSpans(f) {
  const [spans, setSpans] = useState([]);
  useEffect(() => {
    const stop = new AbortController();
    let timer, before = "";
    const look = async () => {
      try {
        const now = await get("/api/spans", { space: f.space, session: f.session }, stop.signal);
        const text = JSON.stringify(now);
        if (text !== before || now.some((s) => !s.ended)) setSpans(now);
        before = text;
      } catch (e) { if (e.name === "AbortError") return; } // the calls say what fails
      timer = setTimeout(look, document.hidden ? 10000 : 2000);
    };
    look();
    return () => { stop.abort(); clearTimeout(timer); };
  }, [f.space, f.session]);
  return spans;
}

export function Activity() {
  const [failed, setFailed] = useState(null);
  const [open, setOpen] = useState(() => new Set());
  const busy = useRef(false); // nothing that is drawn depends on it
  const a = at.value;
  const key = JSON.stringify(filterOf({ ...a, since: undefined })) + (a.since || "");
  const f = useMemo(() => filterOf(a), [key]);
  useCalls(f, setFailed);
  const spans = useSpans(f);
  const { calls, more, back, ready } = loaded.value;
  const further = async () => {
    if (busy.current || !more || !back) return;
    busy.current = true;
    try {
      const old = await get("/api/calls", asked(f, back, 500));
      for (const c of old.calls) seen(c, c.began / 1000);
      if (ready && loaded.value.back === back) loaded.value = { ...loaded.value, calls: merge(old.calls, loaded.value.calls), more: old.more, back: old.back || back };
    } catch (e) { setFailed(e); }
    busy.current = false;
  };
  // A text is sought further as long as what it has found does not fill the page.
  useEffect(() => { if (f.text && calls.length < 100) further(); }, [back]);
  const rows = useMemo(() => folded(calls, open), [calls, open]);
  const isChosen = ({ id, session, space }) => { const now = at.value; return id === now.call && session === now.of && space === now.in; };
  const chosen = rows.findIndex(isChosen);
  const choose = (c, replace) => go(c ? { in: c.space, of: c.session, call: c.id } : { in: "", of: "", call: "" }, replace);
  useEffect(() => {
    const press = (e) => {
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) || e.target.closest(".text, dialog")) return;
      if (e.key === "Escape" && at.value.call) choose(null);
      const next = step && rows[rows.findIndex(isChosen) + step]; // of where it is now, which may not have been drawn
      if (!next) return;
      e.preventDefault();
      choose(next, true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [rows, chosen]);
  const longest = useMemo(() => calls.slice(0, 500).reduce((most, c) => Math.max(most, c.took || 0), 1), [calls]);
  return (
    <section class={`split wide${a.call ? " chosen" : ""}`}>
      <div class="side">
        {!a.call && <h1 class="unseen">Activity</h1>}
        <Filters calls={calls} count={`${calls.length}${more ? "+" : ""} calls${f.text && more && back ? `, sought back to ${moment(back / 1000)}` : ""}`} />
        <Problem of={failed} />
        <Histogram calls={calls} since={f.since} until={f.until} />
        <Spans spans={spans} calls={calls} />
        {ready && !calls.length && !failed ? <Found /> : <Rows count={rows.length} height={height} label="Calls" role="list" near={further} at={chosen} chosen={a.call} row={(i, style) => {
          const c = rows[i];
          return (
            <div key={keyOf(c)} class="row line" style={style} role="listitem" data-chosen={i === chosen || undefined} title={`${c.call}\n${c.root}, session ${c.session}`}
              onClick={(e) => { if (!e.target.closest("a, button")) choose(c); }}>
              <span class="status"><i class={`dot ${colourOf(c.status)}`} /><span class="unseen">{c.status}</span></span>
              <time>{clock(c.began)}</time>
              <a class="main" href={to("activity", { ...a, page: "", in: c.space, of: c.session, call: c.id })}><b>{c.tool}</b> {c.about}
                {colourOf(c.status) === "red" && <> <Badge kind="red">{c.status}</Badge></>}{c.run && <> <button class="small" onClick={(e) => { e.preventDefault(); setOpen(new Set(open).add(c.runKey)); }}>× {c.run}</button></>}
                {" "}<span class="rest">{sessionName(c)}{!a.space && ` in ${project(c.root)}`}{rest(c) && ` · ${rest(c)}`}</span></a>
              <Work of={c} longest={longest} />
              <span class="took">{c.status === "running" ? "runs" : c.took ? duration(c.took) : ""}</span>
            </div>
          );
        }} />}
      </div>
      {a.call ? <Call at={{ space: a.in, session: a.of, id: a.call }} back={() => choose(null)} />
        : <article class="detail"><div class="empty"><p>Choose a call to see it here. <kbd>j</kbd> <kbd>k</kbd> move.</p></div></article>}
    </section>
  );
}

// rest is what the line of a call says beyond what it is about.
function rest(c) {
  const params = c.call.slice(c.tool.length + 1);
  return c.about && /^\w+=(\S+|'[^']*')$/.test(params) ? "" : params;
}

// Work is how long a call took against the longest: striped while it waited for a person, then what it worked.
function Work({ of: c, longest }) {
  const part = (ms) => 100 * Math.log10(1 + ms) / Math.log10(1 + longest);
  const whole = Math.min(100, part(c.took || 0)), waited = c.took ? whole * Math.min(1, (c.waited || 0) / c.took) : 0;
  return <span class="work" title={c.waited > 1 ? `waited ${duration(c.waited)}, worked ${duration(c.took - c.waited)}` : undefined}>
    <i style={{ width: `${waited}%` }} /><b class={colourOf(c.status) === "red" && whole > waited ? "bad" : ""} style={{ width: `${whole - waited}%` }} /></span>;
}

const Found = () => <div class="empty" role="status"><h1>No call is like that</h1><p><a href={to("activity")}>Clear the filters</a></p></div>;

// Filters are chips: what is set stands out, and is in the address.
function Filters({ calls, count }) {
  const a = at.value;
  const known = useMemo(() => ({ tool: [...new Set(calls.map((c) => c.tool))].slice(0, 100), session: [...new Map(calls.map((c) => [c.session, c])).values()].slice(0, 100) }), [calls]);
  const any = ["text", "session", "tool", "status", "path", "since", "from", "until"].some((n) => a[n]);
  const set = (name) => (e) => go({ [name]: e.target.value.trim(), call: "", in: "", of: "" });
  const Chip = ({ name, label, children, extra = "" }) => <span class={`chip ${extra} ${a[name] ? "on" : ""}`}><label>{label} {children}</label>
    {a[name] && <button aria-label={`Clear ${label}`} onClick={() => go({ [name]: "" })}>×</button>}</span>;
  return (
    <form class="filter" role="search" onSubmit={(e) => e.preventDefault()}>
      {Chip({ name: "text", label: "Text", extra: "text-chip", children: <input type="search" placeholder="results, parameters" value={a.text || ""} onChange={set("text")} /> })}
      {Chip({ name: "status", label: "Status", children: <select value={a.status || ""} onChange={set("status")}>{statuses.map((s) => <option value={s}>{s || "any"}</option>)}</select> })}
      {Chip({ name: "tool", label: "Tool", children: <input list="known-tools" placeholder="any" value={a.tool || ""} onChange={set("tool")} /> })}
      {Chip({ name: "session", label: "Session", children: <input list="known-sessions" placeholder="any" value={a.session || ""} onChange={set("session")} /> })}
      {Chip({ name: "path", label: "Path", children: <input placeholder="any" value={a.path || ""} onChange={set("path")} /> })}
      {Chip({ name: "since", label: "Since", children: <input placeholder="12:00, 30m" value={a.since || ""} onChange={set("since")} /> })}
      <datalist id="known-tools">{known.tool.map((t) => <option value={t} />)}</datalist>
      <datalist id="known-sessions">{known.session.map((c) => <option value={c.session}>{clientName(c.client)}</option>)}</datalist>
      {any && <a href={to("activity", { space: a.space })}>Clear</a>}
      {a.session && <a href={to("session", { space: a.space || calls[0]?.space, session: a.session })}>Session page</a>}
      <span class="count" aria-live="polite">{count}</span>
    </form>
  );
}
