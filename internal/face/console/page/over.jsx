// What is shown over all pages: the keys, and the way to anything.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { Icon } from "./icons.jsx";
import { project, sessionName } from "./names.jsx";
import { at, linkTo, to } from "./route.js";
import { toolLink } from "./tools.jsx";

export const over = signal(""); // "", "keys" or "go"

addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") { e.preventDefault(); over.value = over.value === "go" ? "" : "go"; }
  if (e.key === "?" && !/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { e.preventDefault(); over.value = over.value === "keys" ? "" : "keys"; }
});

export function Over({ spaces, pages }) {
  if (over.value === "keys") return <Dialog label="Keys"><Keys /></Dialog>;
  if (over.value === "go") return <Dialog label="Go to"><Go spaces={spaces} pages={pages} /></Dialog>;
  return null;
}

function Dialog({ label, children }) {
  const box = useRef(null);
  useEffect(() => { box.current.showModal(); }, []);
  return <dialog ref={box} aria-label={label} onClose={() => { over.value = ""; }} onClick={(e) => { if (e.target === box.current) box.current.close(); }}>{children}</dialog>;
}

const keys = [["Inbox", [["j k ↓ ↑", "the next call, the one before"], ["a, then Enter", "allow this call once"], ["Shift A, then Enter", "allow exactly this call from now on"], ["d, a reason, then Enter", "deny"], ["Esc", "back"]]],
  ["Activity and changes", [["j k ↓ ↑", "the next, the one before"], ["e", "mark a file as seen"], ["Esc", "close the call"]]],
  ["Everywhere", [["Ctrl K", "go to a tool, call, file or project"], ["?", "these keys"]]]];

const Keys = () => <div class="pad"><h2>Keys</h2>{keys.map(([title, list]) => <><h3>{title}</h3><dl>{list.map(([k, what]) => <><dt><kbd>{k}</kbd></dt><dd>{what}</dd></>)}</dl></>)}
  <p class="hint">In the inbox a key counts when no other was pressed for a second.</p></div>;

// Go finds pages and projects at once, tools, files and calls as one types.
function Go({ spaces, pages }) {
  const [sought, setSought] = useState("");
  const [at1, setAt] = useState(0);
  const [known, setKnown] = useState([]);
  const [calls, setCalls] = useState([]);
  const space = at.value.space || spaces[0]?.id || "";
  useEffect(() => {
    const stop = new AbortController();
    const add = (more) => setKnown((k) => [...k, ...more]);
    if (space) get("/api/tools", { space }, stop.signal).then((g) => add(g.tools.map((t) => ["tool", t.name, t.source, toolLink(space, "", t.name)])), () => {});
    get("/api/changes", {}, stop.signal).then((g) => {
      const files = new Map();
      for (const c of g.changes) for (const path of c.call.files) if (files.size < 2000) files.set(`${c.space}/${path}`, ["file", path, project(c.root), to("changes", { space: c.space, path })]);
      add([...files.values()]);
    }, () => {});
    return () => stop.abort();
  }, []);
  useEffect(() => {
    if (sought.trim().length < 2) { setCalls([]); return; }
    const stop = new AbortController();
    const timer = setTimeout(() => get("/api/calls", { text: sought.trim(), limit: 8 }, stop.signal)
      .then((g) => setCalls(g.calls.slice(0, 8).map((c) => ["call", c.call, `${sessionName(c)} in ${project(c.root)}`, linkTo(c)])), () => {}), 150);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [sought]);
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...pages.map(([id, title]) => ["logo", title, "page", to(id, { space: at.value.space })]),
    ...spaces.map((s) => ["folder", project(s.root), s.root, to(at.value.page === "call" || at.value.page === "session" ? "activity" : at.value.page, { space: s.id })]), ...known]
    .filter(([, name, more]) => words.every((w) => `${name} ${more}`.toLowerCase().includes(w))).slice(0, 12).concat(calls);
  const choose = (i) => { if (all[i]) { over.value = ""; location.hash = all[i][3]; } };
  const press = (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) { e.preventDefault(); setAt(Math.max(0, Math.min(all.length - 1, at1 + step))); }
    if (e.key === "Enter") { e.preventDefault(); choose(at1); }
  };
  return (
    <>
      <input autofocus role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant={all[at1] ? `found-${at1}` : undefined} aria-label="Go to a tool, call, file or project" placeholder="Go to a tool, call, file or project"
        value={sought} onInput={(e) => { setSought(e.target.value); setAt(0); }} onKeyDown={press} />
      <div id="found" role="listbox" aria-label="Found">{all.map(([icon, name, more], i) => <div id={`found-${i}`} role="option" aria-selected={i === at1} onClick={() => choose(i)}><Icon name={icon} /><span>{name}</span><span class="count">{more}</span></div>)}</div>
      {!all.length && <p class="pad hint">Nothing is called so.</p>}
    </>
  );
}
