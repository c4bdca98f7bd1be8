import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { Problem, Rows } from "./parts.jsx";
import { Lanes } from "./lanes.jsx";

const filter = signal({ space: "", text: "", session: "", tool: "", status: "", path: "", since: 0, until: 0 });
const loaded = signal({ calls: [], more: true, back: 0 });
const statuses = ["", "running", "success", "error", "denied", "lost", "dry run"];
const keyOf = (c) => `${c.space}/${c.session}/${c.id}/${c.began}`;
const height = 30;

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
          {s.ended > s.began && ` · ${duration((s.ended - s.began) / 1000)}`} · {s.session}{call && <> · <a href={linkTo(call)}>{call.tool}</a></>}</li>;
      })}</ul></details>
  );
}

const asked = ({ until, ...f }, before, limit) => ({ ...f, before, limit });
const moment = (micro) => new Date(micro / 1000).toLocaleString([], { hour12: false });

export const duration = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
export const linkTo = (c) => "#/call?" + new URLSearchParams({ space: c.space, session: c.session, id: c.id });
export const clock = (micro) => new Date(micro / 1000).toLocaleTimeString([], { hour12: false });

export function Timeline() {
  const [failed, setFailed] = useState(null);
  const [spaces, setSpaces] = useState([]);
  const busy = useRef(false); // nothing that is drawn depends on it
  const f = filter.value;
  useEffect(() => { get("/api/spaces").then(setSpaces, setFailed); }, []);
  useEffect(() => {
    const stop = new AbortController();
    loaded.value = { calls: [], more: true, back: 0 };
    let timer;
    const look = async (first) => {
      try {
        const news = await get("/api/calls", asked(f, f.until, first ? 200 : 50), stop.signal);
        const known = new Set(loaded.value.calls.slice(0, 2 * news.calls.length).map(keyOf));
        // Where nothing of it is known more may have come between.
        if (first || (news.more && !news.calls.some((c) => known.has(keyOf(c))))) loaded.value = { calls: news.calls, more: news.more, back: news.back };
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
  const { calls, more, back } = loaded.value;
  const further = async () => {
    if (busy.current || !more || !back) return;
    busy.current = true;
    try {
      const old = await get("/api/calls", asked(f, back, 500));
      if (f === filter.value) loaded.value = { calls: merge(old.calls, loaded.value.calls), more: old.more, back: old.back || back };
    } catch (e) { setFailed(e); }
    busy.current = false;
  };
  // A text is sought further as long as what it has found does not fill the page.
  useEffect(() => { if (f.text && calls.length < 100) further(); }, [back]);
  const set = (name) => (e) => { filter.value = { ...filter.value, [name]: e.target.value.trim() }; };
  return (
    <section class="whole">
      <h1 class="unseen">Timeline</h1>
      <form class="filter" onSubmit={(e) => e.preventDefault()}>
        <label>Workspace <select value={f.space} onChange={set("space")}>
          <option value="">all</option>{spaces.map((s) => <option value={s.id}>{s.root}</option>)}</select></label>
        <label>Text <input type="search" value={f.text} onChange={set("text")} /></label>
        <label>Session <input value={f.session} onChange={set("session")} /></label>
        <label>Tool <input value={f.tool} onChange={set("tool")} /></label>
        <label>Status <select value={f.status} onChange={set("status")}>
          {statuses.map((s) => <option value={s}>{s || "all"}</option>)}</select></label>
        <label>Path <input value={f.path} onChange={set("path")} /></label>
        <span class="count" aria-live="polite">{calls.length}{more ? "+" : ""} calls{f.text && more && back ? `, sought back to ${moment(back)}` : ""}</span>
      </form>
      <Problem of={failed} />
      <Lanes calls={calls} spans={spans} since={f.since} until={f.until} choose={(since, until) => { filter.value = { ...filter.value, since, until }; }} />
      <Spans spans={spans} calls={calls} />
      <Rows count={calls.length} height={height} label="Calls" role="list" near={further} row={(i, style) => {
        const c = calls[i];
        return (
          <div key={keyOf(c)} class="row line" style={style} role="listitem">
            <span class="time">{clock(c.began)}</span>
            <span class={"status " + (["success", "running", "dry run"].includes(c.status) ? "" : "bad")}>{c.status}</span>
            <span class="took">{c.took ? duration(c.took) : ""}</span>
            <span class="session">{c.fork && `fork ${c.fork} · `}{c.session}</span>
            <a class="main" href={linkTo(c)}>{c.call}</a>
            <span class="files">{c.files ? `${c.files} file${c.files > 1 ? "s" : ""}` : ""}</span>
          </div>
        );
      }} />
    </section>
  );
}
