import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "./api.js";
import { folded } from "./activity.jsx";
import { Project, clientName, clock, duration, moment, seen, sessionName } from "./names.jsx";
import { Badge, Problem, colourOf } from "./parts.jsx";
import { linkTo, to } from "./route.js";

// SessionPage says what one agent did, from its beginning, on one page that can be kept as a file.
export function SessionPage({ at }) {
  const [got, setGot] = useState(null);
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    const stop = new AbortController();
    get("/api/calls", { space: at.space, session: at.session, limit: 1000 }, stop.signal).then((g) => {
      for (const c of g.calls) seen(c, c.began / 1000);
      setGot(g);
    }, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [at.space, at.session]);
  const calls = got ? got.calls : [];
  const rows = useMemo(() => folded(calls, new Set()).reverse(), [got]);
  if (!calls.length) return <section class="page"><h1>Session {at.session}</h1><Problem of={failed} />{got && <p>The record has no call of it. <a href={to("activity")}>All activity</a></p>}</section>;
  const first = calls.at(-1), last = calls[0], bad = calls.filter((c) => colourOf(c.status) === "red");
  const save = async () => {
    setFailed(null);
    try {
      const { html, name } = await get("/api/report", { space: at.space, session: at.session });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (e) { setFailed(e); }
  };
  return (
    <section class="page">
      <div class="head"><div>
        <h1>{sessionName(first)} <span class="count">in <Project root={first.root} /></span></h1>
        <div class="sub"><span>{moment(first.began / 1000)} to {clock(last.began)}</span><span>· {got.more ? "the last " : ""}{calls.length} calls</span>
          {bad.length > 0 && <Badge kind="red">{bad.length} failed or denied</Badge>}<span title={at.session}>· {clientName(first.client) || "no name"}</span></div>
      </div><div class="acts"><a class="button" href={to("changes", { space: at.space, session: at.session })}>Its changes</a><button class="primary" onClick={save}>Save as one file</button></div></div>
      <p class="hint">The file has the parameters and results of all calls. It has no script, and what looks like a secret is left out.</p>
      <Problem of={failed} />
      <ul class="plain card pad">{rows.map((c) => <li key={`${c.id}/${c.began}`}><i class={`dot ${colourOf(c.status)}`} /> <time>{clock(c.began)}</time>{" "}
        <a href={linkTo(c)}>{c.call}</a>{c.run && ` × ${c.run}`} {colourOf(c.status) === "red" && <Badge kind="red">{c.status}</Badge>}
        {" "}<span class="hint">{c.took ? duration(c.took) : ""}{c.waited > 1 && `, of which waited ${duration(c.waited)}`}{c.files ? ` · ${c.files} file${c.files > 1 ? "s" : ""}` : ""}</span></li>)}</ul>
    </section>
  );
}
