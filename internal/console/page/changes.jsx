import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";
import { Problem } from "./parts.jsx";
import { Effects } from "./call.jsx";
import { linkTo } from "./timeline.jsx";

export function Changes() {
  const [all, setAll] = useState(null);
  const [failed, setFailed] = useState(null);
  const [open, setOpen] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => { get("/api/changes").then(setAll, setFailed); }, [turn]);
  const sessions = new Map();
  for (const c of all ? all.changes : []) {
    const key = `${c.root} · session ${c.call.session}`;
    sessions.set(key, [...(sessions.get(key) || []), c]);
  }
  return (
    <section class="page">
      <h1>Changes</h1>
      <Problem of={failed} />
      {all && all.problems.map((p) => <Problem of={{ message: p, next: "" }} />)}
      {all && !all.changes.length && <p>No call has changed a file that is kept.</p>}
      {[...sessions].map(([title, calls]) => <>
        <h2>{title}</h2>
        <ul class="plain">{calls.map((c) => {
          const at = { space: c.space, session: c.call.session, id: c.call.call };
          const key = JSON.stringify(at);
          return (
            <li key={key}>
              <button aria-expanded={open === key} onClick={() => setOpen(open === key ? "" : key)}>
                {new Date(c.time).toLocaleTimeString([], { hour12: false })} {c.call.tool || c.call.call}</button>{" "}
              <code>{c.call.files.slice(0, 5).join(" ")}{c.call.files.length > 5 ? ` and ${c.call.files.length - 5} more` : ""}</code>{" "}
              {c.call.undone_by && <span class="count">undone by {c.call.undone_by}</span>}{" "}
              {c.call.lost > 0 && <span class="count">{c.call.lost} not kept</span>}{" "}
              <a href={linkTo(at)}>call</a>
              {open === key && <Effects at={at} files={c.call.files} time={c.call.time} turned={() => setTurn(turn + 1)} />}
            </li>
          );
        })}</ul></>)}
    </section>
  );
}
