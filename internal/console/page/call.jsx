import { useEffect, useMemo, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Problem, Text, Diff } from "./parts.jsx";
import { Pieces } from "./pieces.jsx";
import { Tree } from "./tree.jsx";
import { fillIn } from "./tools.jsx";
import { duration } from "./timeline.jsx";

export function Call({ place }) {
  const at = Object.fromEntries(new URLSearchParams(place.split("?")[1] || ""));
  const [call, setCall] = useState(null);
  const [failed, setFailed] = useState(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    get("/api/call", at, stop.signal).then(setCall, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [place, turn]);
  if (!call) return <section class="page"><Problem of={failed} /></section>;
  const facts = call.facts || {};
  return (
    <section class="page">
      <h1>{call.tool} <span class="count">{call.status}</span></h1>
      {(call.problems || []).map((p) => <Problem of={{ message: p, next: "" }} />)}
      <dl class="facts">
        <dt>Workspace</dt><dd>{call.root}</dd>
        <dt>Call</dt><dd>{call.id} of session {call.session}</dd>
        <dt>Began</dt><dd>{new Date(call.began / 1000).toLocaleString()}{facts.duration_sec !== undefined && `, took ${duration(1000 * facts.duration_sec)}`}</dd>
        {Object.entries(facts).filter(([name]) => known[name]).map(([name, value]) => (
          <><dt>{known[name]}</dt><dd>{textOf(value)}</dd></>))}
      </dl>
      {facts.message && <Problem of={{ message: facts.message, next: facts.suggestion || "" }} />}
      {call.params && <><h2>Parameters</h2>
        {call.params.map((p) => <div class="param"><span class="name">{p.name}</span><Text of={p.value} label={p.name} /></div>)}</>}
      {call.result !== undefined && <><h2>Result</h2><Result of={call.result} /></>}
      {Object.entries(call.pieces || {}).map(([of, bytes]) => <Pieces key={of} of={of} bytes={bytes}
        at={{ space: at.space, session: call.session, id: call.id, began: call.began }} />)}
      {facts.files_affected && facts.files_affected.length > 0 &&
        <Effects at={{ space: at.space, session: call.session, id: call.id }} files={facts.files_affected} time={new Date(call.began / 1000).toISOString()} turned={() => setTurn(turn + 1)} />}
      <h2>Again</h2>
      {call.json && <p><button onClick={() => fillIn(at.space, facts.toolset === "project" ? "" : facts.toolset, call.tool, call.json)}>Run again: fill in the form with this call</button></p>}
      <Copy label="As a command" of={call.cli} />
      <Copy label="As a rule of agent.hcl that allows exactly this call" of={call.rule} />
      <Copy label="Parameters as JSON" of={call.json} />
      {call.events && <details><summary>Events</summary>{call.events.map((e) => <Text of={e} label="Event" />)}</details>}
    </section>
  );
}

const known = { metadata: "Ran with", artifacts: "Artifacts", decision: "Decision", decided_by: "Decided by", rule: "Rule", reason: "Reason", client: "Client", toolset: "Toolset",
  source: "Source", argv: "Command", files_affected: "Files", error: "Error", config: "agent.hcl" };
const textOf = (v) => typeof v === "string" ? v : Array.isArray(v) && v[0]?.path ? v.map((a) => `${a.name}: ${a.path} (${a.bytes.toLocaleString()} bytes)`).join(", ")
  : v && v.sandbox ? `sandbox ${v.sandbox}` + Object.entries(v).filter(([n]) => n !== "sandbox").map(([n, x]) => `, ${n} ${JSON.stringify(x)}`).join("") : v && v.action && v.reason ? `${v.action}: ${v.reason}${v.rule ? ` (rule ${v.rule})` : ""}` : Array.isArray(v) && v.every((x) => typeof x === "string") ? v.join(" ")
  : JSON.stringify(v);

// Result shows texts as texts, pictures and sounds as such, and the rest as a tree.
export function Result({ of }) {
  const contents = of && (of.content || of.contents || of.Contents);
  if (!Array.isArray(contents)) return typeof of === "string" ? <Long of={of} /> : <Tree of={of} />;
  return <>{contents.map((c) => {
    const text = c.text ?? c.Text, type = c.mime_type || c.mimeType || "", data = c.data || c.blob;
    if (typeof text === "string" && text !== "") return <>{c.uri && <p class="hint">{c.uri}</p>}<Long of={text} /></>;
    if (/^image\/(png|jpeg|gif|webp)$/.test(type) && data) return <img src={`data:${type};base64,${data}`} alt={`Result: ${type}`} />;
    if (/^audio\/[a-z0-9]+$/.test(type) && data) return <audio controls aria-label={`Result: ${type}`} src={`data:${type};base64,${data}`} />;
    if (c.uri && !data) return <p>Link: {c.name} <Address of={c.uri} /> {type}</p>;
    return <Tree of={c} />;
  })}{Object.keys(of).length > 1 && <details><summary>All of it</summary><Tree of={of} /></details>}</>;
}

// Address can be followed where it leads to a site, and is only shown elsewhere.
function Address({ of }) {
  return /^https?:\/\//.test(of) ? <a href={of} target="_blank" rel="noopener noreferrer">{of}</a> : <code>{of}</code>;
}

const mostParsed = 1_000_000;

// Long shows a text, and as a tree where it is JSON.
function Long({ of }) {
  const tree = useMemo(() => (/^\s*[[{]/.test(of) && of.length < mostParsed ? parsed(of) : undefined), [of]);
  return (
    <>
      <Text of={of} label="Result" />
      {tree && <details><summary>As a tree</summary><Tree of={tree} /></details>}
    </>
  );
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

function Copy({ label, of }) {
  const [done, setDone] = useState(false);
  if (!of) return null;
  return (
    <div class="param"><span class="name">{label}</span>{" "}
      <button onClick={() => navigator.clipboard.writeText(of).then(() => setDone(true))}>{done ? "Copied" : "Copy"}</button>
      <Text of={of} label={label} /></div>
  );
}

// Effects shows what a call has changed, and takes it back: first what that would
// do, then, on a second word, the undo.
export function Effects({ at, files, time, turned }) {
  const [diff, setDiff] = useState(null);
  const [plan, setPlan] = useState(null);
  const [failed, setFailed] = useState(null);
  const [busy, setBusy] = useState(false);
  const [part, setPart] = useState({ path: "", since: "" });
  const load = () => get("/api/diff", at).then(setDiff, (e) => {
    setDiff({ undone: e.code === "no_change" && e });
    if (e.code !== "no_change") setFailed(e);
  });
  useEffect(() => { load(); }, [at.space, at.session, at.id]);
  const turn = async (ask) => {
    setBusy(true);
    setFailed(null);
    try {
      const got = await post("/api/undo", { redo: false, conflicts: "", shown: "", ...at, ...part, ...ask });
      setPlan(got.plan ? { ...ask, ...got } : null);
      if (got.done) { await load(); turned && turned(); }
    } catch (e) {
      setFailed({ message: e.diff ? e.message.split("\n")[0] : e.message, next: e.next, diff: e.diff });
      setPlan(e.code === "conflict" && !ask.shown ? { ...ask, conflict: true } : null);
    }
    setBusy(false);
  };
  return (
    <>
      <h2>What it has changed</h2>
      {diff && diff.diff && <Diff of={diff.diff} label="Changes" />}
      {diff && diff.since && diff.since.length > 0 && <p>Changed by somebody else since: {diff.since.join(", ")}</p>}
      {diff && diff.undone && <p role="status">{diff.undone.message}. {diff.undone.next}</p>}
      <Problem of={failed} />
      {failed && failed.diff && <><h3>What is there now (-), and what this would bring back (+)</h3><Diff of={failed.diff} label="Both sides" /></>}
      <div class="bar">
        {files && files.length > 1 && <label>Files <select value={part.path} onChange={(e) => { setPlan(null); setPart({ ...part, path: e.target.value }); }}>
          <option value="">all {files.length}</option>{files.map((f) => <option value={f}>{f}</option>)}</select></label>}
        <label>Calls <select value={part.since} onChange={(e) => { setPlan(null); setPart({ ...part, since: e.target.value }); }}>
          <option value="">this one</option><option value={time}>this one and all since, of all sessions</option></select></label>
      </div>
      {plan && plan.plan && <div class="rule"><h3>{plan.redo ? "Redo" : "Undo"} would do this</h3>
        <Diff of={plan.plan.preview || plan.plan.files.join("\n")} label="Plan" />
        <button class="go" disabled={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: plan.conflicts || "", shown: plan.shown })}>
          Do it</button> <button onClick={() => setPlan(null)}>Cancel</button></div>}
      {plan && plan.conflict && <p>
        <button disabled={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: "skip" })}>Leave out what was changed since</button>{" "}
        <button disabled={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: "ours" })}>Replace it too (it is kept)</button></p>}
      {!plan && <p><button disabled={busy} onClick={() => turn({})}>Undo</button>{" "}
        <button disabled={busy} onClick={() => turn({ redo: true })}>Redo</button></p>}
    </>
  );
}
