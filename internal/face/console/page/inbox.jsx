import { signal, computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { follow, get, post } from "./api.js";
import { Icon } from "./icons.jsx";
import { Ago, Project, Session, clientName, moment, project, seen, sessionName } from "./names.jsx";
import { Badge, Command, Diff, Parameters, Problem, Risk, Rows, Text } from "./parts.jsx";
import { at, go, to } from "./route.js";
import { Decided, decided, tell } from "./toast.jsx";
import { Tree } from "./files.jsx";

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const waiting = signal(new Map());
const ready = signal(false);
const trouble = signal(null);
// lost is why nothing comes from the server any more, null while it does.
export const lost = signal(null);
const sessionOf = (c) => `${c.space}/${c.session || ""}/${c.client || ""}`;

// list are the calls that wait, those of one session together, where the newest is first.
export const list = computed(() => {
  const newest = [...waiting.value.values()].sort((a, b) => b.at - a.at || order(b.key, a.key));
  const groups = new Map();
  for (const c of newest) {
    const key = sessionOf(c);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(c);
  }
  return [...groups.values()].flat();
});
const listed = computed(() => (at.value.space ? list.value.filter((c) => c.space === at.value.space) : list.value));
const chosen = signal("");
// held is the call that a person has begun to decide. The page keeps showing it,
// also when it no longer waits, until the person leaves it.
const held = signal(null);
// rest is how long no key may have been pressed before a shortcut counts, in
// milliseconds: a person who types a text for another call types no shortcut.
const rest = 1000;
// doubled is how long a click does not confirm what the click before began.
const doubled = 500;
// mostAtOnce is how many calls can be allowed together: each is shown first.
const mostAtOnce = 20;

export const notify = signal(localStorage.getItem("toolhost-notify") === "on");

function announce(calls) {
  if (!notify.value || !document.hidden || Notification.permission !== "granted") return;
  const c = calls[0];
  new Notification(calls.length > 1 ? `${calls.length} calls wait for you` : `${c.tool} waits for you`,
    { body: `${clientName(c.client) || "An agent"} in ${project(c.root)}`, tag: "toolhost" });
}

export function followInbox() {
  let fresh = true, next = null;
  return follow("/api/inbox", {
    begun: () => { fresh = true; next = null; trouble.value = lost.value = null; },
    tell: (news) => {
      ready.value = true;
      const problems = (news.problems || []).join("\n");
      if (!news.more) trouble.value = problems ? { message: problems, next: "" } : null;
      if (!fresh && !next && !news.add && !news.gone) return;
      next ||= fresh ? new Map() : new Map(waiting.value);
      for (const call of news.add || []) {
        next.set(call.key, { ...call, at: Date.parse(call.asked) });
        seen(call, Date.parse(call.asked));
      }
      if (!fresh && news.add) announce(news.add);
      fresh = false;
      for (const key of news.gone || []) next.delete(key);
      if (news.more) return; // what is of one moment is shown at once
      waiting.value = next;
      next = null;
    },
    failed: (e) => { lost.value = e; },
  });
}

// current returns the call that a person looks at as long as it waits, whatever
// comes or goes around it.
let position = 0;
function current() {
  const all = listed.value;
  let i = all.findIndex((c) => c.key === chosen.value);
  if (i < 0) i = Math.min(position, all.length - 1);
  position = Math.max(0, i);
  return all[i];
}

// move goes to the next call or the one before, as often as the key is pressed,
// whether the calls between have been drawn or not.
function move(e) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
  if (!step || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)
    || e.target.closest(".text, dialog")) return;
  e.preventDefault();
  const next = listed.value[listed.value.findIndex((c) => c.key === chosen.value) + step];
  if (next) choose(next.key);
}

function choose(key) {
  held.value = null;
  chosen.value = key;
  go({ call: key }, true);
}

// rowsOf are the rows of the list: calls, and a line above those of each session.
const rowsOf = (calls) => calls.flatMap((c, i) => (i > 0 && sessionOf(calls[i - 1]) === sessionOf(c) ? [c] : [{ group: c }, c]));
const tallOf = (rows) => (i) => (rows[i].group ? 34 : 54);

export function Inbox() {
  const linked = at.value.call;
  useMemo(() => { if (linked && !held.value) chosen.value = linked; }, [linked]);
  const call = held.value || current();
  const key = call ? call.key : "";
  const rows = useMemo(() => rowsOf(listed.value), [listed.value]);
  const tall = useMemo(() => tallOf(rows), [rows]);
  useEffect(() => { if (!waiting.value.has(chosen.value)) chosen.value = key; }, [key]);
  useEffect(() => {
    addEventListener("keydown", move);
    return () => removeEventListener("keydown", move);
  }, []);
  if (!call) return <Nothing />;
  const others = list.value.length - listed.value.length;
  return (
    <section class="split">
      <div class="side">
        <h1>Inbox <span class="count">{listed.value.length} waiting{others > 0 && <>, <a href={to("inbox")}>{others} in other projects</a></>}</span> <Notify /></h1>
        <Problem of={trouble.value} />
        <Rows count={rows.length} height={54} tall={tall} label="Calls that wait" at={rows.findIndex((r) => r.key === key)} chosen={key} row={(i, style) => {
          const c = rows[i];
          if (c.group) {
            const g = c.group, n = list.value.filter((o) => sessionOf(o) === sessionOf(g)).length;
            return <div key={`group ${sessionOf(g)}`} class="group" role="presentation" style={style}><b title={g.root}>{project(g.root)}</b><span>{sessionName(g)} · {n}</span></div>;
          }
          return (
            <div key={c.key} class="row" style={style} role="option" aria-selected={c.key === key} title={c.call} onClick={() => choose(c.key)}>
              <i class="dot amber" /><span class="main">{spoken(c.tool)} <span class="mono">{c.about || c.call.slice(c.tool.length + 1)}</span></span><Ago ms={c.at} />
              <span class="more">{shortly(c.reason) || `${clientName(c.client) || "An agent"} asks`}{c.toolset && ` · ${c.toolset}`}</span>
            </div>
          );
        }} />
        <Decided />
      </div>
      <Waiting key={key} call={call} />
    </section>
  );
}

// Notify turns notifications of the desktop on and off.
function Notify() {
  if (!("Notification" in window)) return null;
  const turn = async () => {
    const on = !notify.value && (Notification.permission === "granted" || await Notification.requestPermission() === "granted");
    notify.value = on;
    localStorage.setItem("toolhost-notify", on ? "on" : "");
  };
  return <button class="quiet icon small" aria-pressed={notify.value} title="Notify me when a call waits and this page is hidden" onClick={turn}><Icon name="bell" /><span class="unseen">Notify me</span></button>;
}

// Nothing says what to do where no call waits: the first time, how a client is connected.
function Nothing() {
  const [spaces, setSpaces] = useState(null);
  useEffect(() => { get("/api/spaces").then(setSpaces, () => setSpaces([])); }, []);
  const others = list.value.length;
  return (
    <section class="whole">
      <div class="empty">
        <Icon name="inbox" />
        <h1>{ready.value ? "Nothing waits for you" : "Inbox"}</h1>
        <Problem of={trouble.value} />
        {others > 0 ? <p><a href={to("inbox")}>{others} wait in other projects</a></p>
          : ready.value && <p>This page shows the next call that needs approval as soon as it comes. <Notify /></p>}
        {spaces && !spaces.length && <>
          <h3>Connect an agent</h3>
          <p>In your project's directory:</p>
          <pre class="text">toolhost init       # writes an agent.hcl{"\n"}toolhost trust      # approves it{"\n"}toolhost install    # adds it to Claude Code, Codex, Cursor …</pre>
        </>}
      </div>
      <div class="page"><Decided /></div>
    </section>
  );
}

// spoken is the name of a tool in words, and shortly the reason that the rule gives.
const spoken = (tool) => tool.charAt(0).toUpperCase() + tool.slice(1).replace(/_/g, " ");
const shortly = (reason = "") => /\((.*)\)$/s.exec(reason)?.[1] || reason.replace(/^needs approval /, "");

const headingOf = (q) => {
  if (q.argv) return <>Run <code>{q.tool}</code></>;
  const [, what, object] = /^(Run|[^:]*:)? ?(.*)$/s.exec(q.headline.replace(/\?( \(rule .*\))?$/s, ""));
  return <>{what && what.replace(/:$/, "")} {what ? <code>{object}</code> : object}</>;
};

// Waiting shows one call whole, and takes the decision: two strokes each. Without keys no shortcut counts.
export function Waiting({ call, keys = true }) {
  const [look, setLook] = useState(null);
  const [failed, setFailed] = useState(null);
  const [armed, setArmed] = useState("");
  const [busy, setBusy] = useState(false);
  const [again, setAgain] = useState(0);
  const [rested, setRested] = useState(false);
  const reason = useRef(null);
  const go1 = useRef(null);
  const last = useRef(0);
  const began = useRef(0);
  const timer = useRef(0);
  const gone = !busy && !waiting.value.has(call.key);
  const mine = list.value.filter((c) => sessionOf(c) === sessionOf(call) && c.key !== call.key);
  const alike = call.worker ? [] : mine.filter((c) => c.tool === call.tool).slice(0, mostAtOnce - 1);
  const arm = (verdict) => {
    began.current = performance.now();
    held.value = verdict ? call : null;
    setArmed(verdict);
  };
  useEffect(() => () => { held.value = null; }, []);
  useEffect(() => {
    const stop = new AbortController();
    setLook(null);
    arm("");
    get("/api/pending", { space: call.space, id: call.id }, stop.signal)
      .then((l) => { setLook(l); }, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [call.key, call.digest, again]);
  useEffect(() => {
    if (armed === "deny") reason.current?.focus();
    else if (armed) go1.current?.focus();
  }, [armed]);
  const decide = async (verdict) => {
    if (busy || !waiting.value.has(call.key) || (verdict !== "deny" && !look)) return;
    setBusy(true);
    setFailed(null);
    const said = verdict === "deny" ? reason.current.value : "";
    try {
      await post("/api/decide", { space: call.space, id: call.id, digest: (look || call).digest,
        shown: look ? look.shown : "", verdict, reason: said });
      decided(call, verdict, said);
      if (at.value.call === call.key) go({ call: "" }, true);
    } catch (e) {
      setFailed(e);
      if (e.status === 409) setAgain((n) => n + 1);
    }
    setBusy(false);
    arm("");
  };
  // single reports a click that is not the second half of a double click; Enter is no click.
  const single = (e) => {
    e.preventDefault();
    return e.detail === 0 || (e.detail === 1 && e.timeStamp - began.current >= doubled);
  };
  const confirm = (e, verdict) => { if (single(e)) decide(verdict); };
  const restart = (now) => {
    last.current = now;
    setRested(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setRested(true), rest);
  };
  useEffect(() => {
    restart(performance.now());
    return () => clearTimeout(timer.current);
  }, [call.key, look]);
  useEffect(() => {
    if (!keys) return;
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.key === "Shift") return;
      const quiet = e.timeStamp - last.current >= rest && !e.repeat;
      restart(e.timeStamp);
      if (e.target.closest("dialog")) return;
      if (e.key === "Escape") return arm("");
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
      if (armed) { // Enter alone confirms
        if (e.key.length === 1) { e.preventDefault(); arm(""); }
        return;
      }
      const verdict = { a: "once", A: "always", d: "deny" }[e.key];
      if (!verdict || !quiet) return;
      e.preventDefault();
      if (verdict === "deny" || (look && !look.problem && !((call.worker || !look.always) && verdict === "always"))) arm(verdict);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [call.key, look, armed, keys]);
  const q = look && look.question;
  const fixed = !!armed || !look || !!look.problem || busy;
  return (
    <article class="detail" tabIndex={keys ? 0 : undefined} aria-label="The call that waits">
      <div class="head">
        <div>
          <h2>{q ? headingOf(q) : call.call}</h2>
          <div class="sub"><Badge kind="amber"><Ago ms={Date.parse(call.asked)} before="waits " /></Badge><span><Session of={call} /> in <Project root={call.root} /></span>
            {q && !q.argv && <span>· {call.tool}</span>}{q && <Risk of={q.risk} />}{call.toolset && <Badge>{call.toolset}</Badge>}{call.tenant && <Badge>tenant {call.tenant}</Badge>}</div>
        </div>
        <div class={rested ? "decide" : "decide typing"} role="group" aria-label="Decision">
          <div class="acts">
            {!call.worker && (!look || look.always) && <button class="quiet" onClick={() => arm("always")} disabled={fixed}>Always… <kbd>Shift A</kbd></button>}
            <button class="no" onClick={() => arm("deny")} disabled={!!armed || busy}>Deny <kbd>D</kbd></button>
            <button class={armed ? "" : "primary"} aria-busy={busy} onClick={() => arm("once")} disabled={fixed}>Allow once <kbd>A</kbd></button>
          </div>
          {gone && ["once", "always", "deny"].includes(armed) && <p class="confirm" role="status">This call no longer waits: it was decided elsewhere, or its time is over. Nothing was decided here.{" "}
            <button type="button" onClick={() => arm("")}>Go on <kbd>Esc</kbd></button></p>}
          {armed === "once" && <div class="confirm">
            <button ref={go1} class="go" onClick={(e) => confirm(e, "once")} disabled={busy || gone}>Allow this call once <kbd>Enter</kbd></button>
            <button onClick={() => arm("")}>Cancel <kbd>Esc</kbd></button>
          </div>}
          {armed === "always" && <div class="confirm">
            <div class="rule"><p>This rule is added for this project. It allows exactly this call from now on:</p>
              <Text of={JSON.stringify(look.always, null, 2)} label="The rule" /></div>
            <button ref={go1} class="go" onClick={(e) => confirm(e, "always")} disabled={busy || gone}>Add the rule and allow <kbd>Enter</kbd></button>
            <button onClick={() => arm("")}>Cancel <kbd>Esc</kbd></button>
          </div>}
          {armed === "deny" && <form class="confirm" onSubmit={(e) => e.preventDefault()}>
            <label>Reason, which the agent is told <input ref={reason} maxLength={1000} /></label>
            <button class="stop" onClick={(e) => confirm(e, "deny")} disabled={busy || gone}>Deny <kbd>Enter</kbd></button>
            <button type="button" onClick={() => arm("")}>Cancel <kbd>Esc</kbd></button>
          </form>}
          {armed === "alike" && <Several calls={[call, ...alike]} verdict="once" single={single} close={() => arm("")} />}
          {armed === "rest" && <Several calls={[call, ...mine]} verdict="deny" single={single} close={() => arm("")} />}
        </div>
      </div>
      {call.worker && <p class="problem">All that is shown here is the word of the worker {call.worker}, which decides as you say.</p>}
      <Problem of={failed} />
      {look && look.problem && <Problem of={{ message: "It can only be denied. " + look.problem, next: "" }} />}
      {q ? <Question of={q} /> : !failed && <p class="start" role="status">Working out what it would do.</p>}
      {mine.length > 0 && <div class="bar">
        {alike.length > 0 && <button onClick={() => arm("alike")} disabled={fixed}>Allow all {alike.length + 1} of this kind…</button>}
        <button onClick={() => arm("rest")} disabled={!!armed || busy}>Deny all {mine.length + 1} of this session…</button></div>}
      <details class="facts"><summary>Details: session, times, digest</summary><dl>
        {call.worker ? <><dt>Worker</dt><dd>{call.worker}</dd><dt>Tenant</dt><dd>{call.tenant}</dd></>
          : <><dt>Workspace</dt><dd>{call.root}</dd></>}
        <dt>Session</dt><dd>{call.session || "any"}</dd>
        {call.client && <><dt>Client</dt><dd>{call.client}</dd></>}
        {look && look.flags && <><dt>Started with</dt><dd>{look.flags.join(" ")}</dd></>}
        <dt>Asked</dt><dd>{moment(Date.parse(call.asked))}, waits until {moment(Date.parse(call.expires))}</dd>
        <dt>Digest</dt><dd class="digest">{call.digest}</dd>
      </dl></details>
    </article>
  );
}

// Several decides calls together. Each is shown, whole where it is to be allowed, and what was shown is decided and no
// other: those that come meanwhile wait on.
function Several({ calls: now, verdict, single, close }) {
  const [calls] = useState(now);
  const [looks, setLooks] = useState(() => new Map());
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(null);
  const reason = useRef(null);
  useEffect(() => {
    if (verdict === "deny") { reason.current?.focus(); return; }
    const stop = new AbortController();
    (async () => {
      for (const c of calls) {
        const look = await get("/api/pending", { space: c.space, id: c.id }, stop.signal).catch((e) => ({ problem: e.message }));
        if (stop.signal.aborted) return;
        setLooks((before) => new Map(before).set(c.key, look));
      }
    })();
    return () => stop.abort();
  }, []);
  const able = calls.filter((c) => waiting.value.has(c.key) && (verdict === "deny" || (looks.get(c.key) && !looks.get(c.key).problem)));
  const all = verdict === "deny" || looks.size === calls.length;
  const decide = async (e) => {
    if (!single(e) || busy) return;
    setBusy(true);
    let done = 0, problem = null;
    const said = reason.current?.value || "";
    for (const c of able) {
      const look = looks.get(c.key);
      try {
        await post("/api/decide", { space: c.space, id: c.id, digest: (look || c).digest, shown: look ? look.shown : "", verdict, reason: said });
        decided(c, verdict, said);
        done++;
      } catch (e2) { problem = e2; }
    }
    setBusy(false);
    tell(`${verdict === "deny" ? "Denied" : "Allowed"}: ${done} of ${calls.length} calls`, verdict === "deny" ? "red" : "green");
    if (problem) setFailed(problem); else close();
  };
  return (
    <form class="confirm" onSubmit={(e) => e.preventDefault()}>
      <div class="rule">{calls.map((c) => {
        const look = looks.get(c.key);
        return <details open={verdict !== "deny"} key={c.key}><summary>{c.call}{!waiting.value.has(c.key) && <Badge>no longer waits</Badge>}</summary>
          {look?.problem ? <Problem of={{ message: "It is left out. " + look.problem }} /> : look ? <Question of={look.question} /> : verdict !== "deny" && <p>Working out what it would do.</p>}</details>;
      })}</div>
      <Problem of={failed} />
      {verdict === "deny" && <label>Reason, which the agent is told <input ref={reason} maxLength={1000} /></label>}
      <button class={verdict === "deny" ? "stop" : "go"} aria-busy={busy} disabled={busy || !all || !able.length} onClick={decide}>{verdict === "deny" ? "Deny" : "Allow"} these {able.length}</button>
      <button type="button" onClick={close}>Cancel <kbd>Esc</kbd></button>
    </form>
  );
}

// Question is all that a call is and would do: what is decided first, and once.
export function Question({ of: q }) {
  const shown = q.effect && q.params ? q.params.filter((p) => p.value.length < 200 && !p.value.includes("\n")) : q.params || [];
  const inWords = q.argv && q.effect && q.effect.length < 500 && !q.effect.includes("\n+++ ");
  const long = (q.params || []).filter((p) => !shown.includes(p));
  return (
    <div class="question">
      {q.argv && <section class="card"><h2>Command</h2><Command argv={q.argv} />{inWords && <p class="pad said hint">{q.effect}</p>}</section>}
      {q.effect && !inWords && <section class="card"><h2>What it would do now</h2><Diff of={q.effect} label="Effect" /></section>}
      {shown.length > 0 && <section class="card"><h2>Parameters</h2><Parameters of={shown} /></section>}
      {long.length > 0 && <section class="card"><h2>Texts that it was given</h2><Parameters of={long} /></section>}
      {q.files && q.files.length > 1 && <section class="card"><h2>Files affected <span class="end">{q.files.length}</span></h2><Tree of={q.files.map((path) => ({ path }))} /></section>}
      {(q.reason || q.rule) && <section class="card"><h2>Why you are asked</h2><dl>
        {q.rule && <><dt>Rule</dt><dd>{q.rule}</dd></>}{q.reason && <><dt>Reason</dt><dd class="said">{q.reason}</dd></>}</dl></section>}
    </div>
  );
}
