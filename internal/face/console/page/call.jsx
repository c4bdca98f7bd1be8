import { useEffect, useMemo, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Ago, Project, Session, duration, moment } from "./names.jsx";
import { Badge, Command, Counts, Diff, Parameters, Problem, Text, colourOf } from "./parts.jsx";
import { diffLines, files as filesOf } from "./diff.jsx";
import { Pieces } from "./pieces.jsx";
import { linkTo, to } from "./route.js";
import { Tree } from "./tree.jsx";
import { fillIn } from "./tools.jsx";

// Call shows one call whole: in a page of its own, or beside the list that it is chosen from.
export function Call({ at, back }) {
  const [call, setCall] = useState(null);
  const [failed, setFailed] = useState(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setFailed(null);
    get("/api/call", at, stop.signal).then(setCall, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [at.space, at.session, at.id, turn]);
  const Box = back ? "article" : "section", box = back ? "detail" : "page";
  if (!call) return <Box class={box} aria-label="Call"><Problem of={failed} /></Box>;
  const facts = call.facts || {}, argv = Array.isArray(facts.argv) && facts.argv;
  return (
    <Box class={box} tabIndex={back ? 0 : undefined} aria-label="Call">
      <div class="head">
        <div>
          <h1>{call.tool} <span class="count">{call.status}</span></h1>
          <div class="sub"><Badge kind={colourOf(call.status)}>{words[call.status] || call.status}</Badge>
            {facts.duration_sec !== undefined && <span>in {duration(1000 * facts.duration_sec)}</span>}<Ago ms={call.began / 1000} after=" ago" />
            <a href={to("session", { space: at.space, session: call.session })}><Session of={{ ...call, space: at.space, client: facts.client }} /></a><span>in <Project root={call.root} /></span></div>
        </div>
        {back && <div class="acts"><a class="button quiet small" href={linkTo({ ...at, session: call.session })}>Open</a><button class="quiet small" onClick={back} aria-label="Close">×</button></div>}
      </div>
      {(call.problems || []).map((p) => <Problem of={{ message: p, next: "" }} />)}
      {facts.message && <Problem of={{ message: facts.message, next: facts.suggestion || "" }} />}
      {argv && <section class="card"><h2>Command</h2><Command argv={argv} /></section>}
      {facts.files_affected && facts.files_affected.length > 0 &&
        <Effects at={{ space: at.space, session: call.session, id: call.id }} files={facts.files_affected} time={new Date(call.began / 1000).toISOString()} turned={() => setTurn(turn + 1)} />}
      {facts.connections && <Network of={facts.connections} missed={facts.connections_missed} />}
      {call.result !== undefined && <section class="card"><h2>Result</h2><div class="pad"><Result of={call.result} /></div></section>}
      {call.params && call.params.length > 0 && <section class="card"><h2>Parameters</h2><Parameters of={call.params} /></section>}
      {Object.entries(call.pieces || {}).map(([of, bytes]) => <Pieces key={of} of={of} bytes={bytes}
        at={{ space: at.space, session: call.session, id: call.id, began: call.began }} />)}
      {facts.decision && <section class="card"><h2>Decision {facts.decided_by && <span class="end">by {facts.decided_by}</span>}</h2><p class="pad said">{textOf(facts.decision)}</p></section>}
      {call.json && <div class="bar"><button onClick={() => fillIn(at.space, facts.toolset === "project" ? "" : facts.toolset, call.tool, call.json)}>Run again…</button></div>}
      <details class="facts"><summary>Details: session, source, sandbox, ids</summary><dl>
        <dt>Workspace</dt><dd>{call.root}</dd>
        <dt>Call</dt><dd>{call.id} of session {call.session}</dd>
        <dt>Began</dt><dd>{moment(call.began / 1000)}</dd>
        {Object.entries(facts).filter(([name]) => known[name]).map(([name, value]) => (
          <><dt>{known[name]}</dt><dd>{textOf(value)}</dd></>))}
      </dl></details>
      {(call.cli || call.rule) && <details><summary>As a command, as a rule, as JSON</summary>
        <Copy label="As a command" of={call.cli} />
        <Copy label="As a rule of agent.hcl that allows exactly this call" of={call.rule} />
        <Copy label="Parameters as JSON" of={call.json} /></details>}
      {call.events && <details><summary>Events</summary>{call.events.map((e) => <Text of={e} label="Event" />)}</details>}
    </Box>
  );
}

const words = { success: "succeeded", asks: "waits" };

const known = { metadata: "Ran with", artifacts: "Artifacts", decided_by: "Decided by", rule: "Rule", reason: "Reason", client: "Client", toolset: "Toolset",
  source: "Source", argv: "Command", files_affected: "Files", error: "Error", config: "agent.hcl" };
const textOf = (v) => typeof v === "string" ? v : Array.isArray(v) && v[0]?.path ? v.map((a) => `${a.name}: ${a.path} (${a.bytes.toLocaleString()} bytes)`).join(", ")
  : v && v.sandbox ? `sandbox ${v.sandbox}` + Object.entries(v).filter(([n]) => n !== "sandbox").map(([n, x]) => `, ${n} ${JSON.stringify(x)}`).join("") : v && v.action && v.reason ? `${v.action}: ${v.reason}${v.rule ? ` (rule ${v.rule})` : ""}` : Array.isArray(v) && v.every((x) => typeof x === "string") ? v.join(" ")
  : JSON.stringify(v);

// Network shows what the call's processes connected to, and what was refused them.
function Network({ of, missed }) {
  const count = (n) => (n || 0).toLocaleString();
  return (
    <section class="card"><h2>Network <span class="count">{of.length}</span></h2><div class="pad"><table class="list">
      <thead><tr><th scope="col">Host</th><th scope="col">What became of it</th><th scope="col">Sent</th><th scope="col">Received</th><th scope="col">Took</th></tr></thead>
      <tbody>{of.map((c) => <tr><td><code>{c.host}{c.port ? `:${c.port}` : ""}</code></td>
        <td>{c.refused ? <><Badge kind="red">refused</Badge> {c.refused}</> : c.failed ? <><Badge kind="amber">failed</Badge> {c.failed}</> : <>at {c.address}</>}
          {c.times > 1 && ` (${c.times} times)`}{c.credential && ` with credential ${c.credential}`}{c.approved && `, approved ${c.approved}`}</td>
        <td class="num">{count(c.sent)}</td><td class="num">{count(c.received)}</td><td class="num">{c.seconds ? duration(1000 * c.seconds) : ""}</td></tr>)}</tbody>
    </table>{missed > 0 && <p class="hint">and {missed} more</p>}</div></section>
  );
}

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
      <button class="small" onClick={() => navigator.clipboard.writeText(of).then(() => setDone(true))}>{done ? "Copied" : "Copy"}</button>
      <Text of={of} label={label} /></div>
  );
}

// useUndo shows what an undo would do, and does it on a second word.
export function useUndo(at, done) {
  const [plan, setPlan] = useState(null);
  const [failed, setFailed] = useState(null);
  const [busy, setBusy] = useState(false);
  const turn = async (ask) => {
    setBusy(true);
    setFailed(null);
    try {
      const got = await post("/api/undo", { space: at.space, session: at.session || "", id: at.id || "", since: at.since || "", paths: at.paths || [], redo: false, conflicts: "", shown: "", ...ask });
      setPlan(got.plan ? { ...ask, ...got } : null);
      if (got.done) await done();
    } catch (e) {
      const both = e.since || e.back;
      setFailed({ message: both ? e.message.split("\n")[0] : e.message, next: both ? "" : e.next, since: e.since, back: e.back, redo: ask.redo });
      setPlan(e.code === "conflict" && !ask.shown ? { ...ask, conflict: true } : null);
    }
    setBusy(false);
  };
  return { plan, failed, busy, turn, drop: () => { setPlan(null); setFailed(null); } };
}

// Undoing is what useUndo shows: the plan with its button, or the sides of a conflict.
export function Undoing({ of: { plan, failed, busy, turn, drop } }) {
  return (
    <>
      <Problem of={failed} />
      {failed && (failed.since || failed.back) && <Versions since={failed.since || ""} back={failed.back || ""} redo={failed.redo} />}
      {plan && plan.plan && <section class="card rule"><h2>{plan.redo ? "Redo" : "Undo"} would do this</h2>
        <Diff of={plan.plan.preview || plan.plan.files.join("\n")} label="Plan" />
        <div class="pad bar"><button class="go" disabled={busy} aria-busy={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: plan.conflicts || "", shown: plan.shown })}>
          {plan.redo ? "Redo" : "Undo"} this</button><button onClick={drop}>Cancel</button></div></section>}
      {plan && plan.conflict && <div class="bar">
        <button disabled={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: "skip" })}>Leave out what was changed since</button>
        <button class="no" disabled={busy} onClick={() => turn({ redo: !!plan.redo, conflicts: "ours" })}>Also replace it (it is kept)</button>
        <button class="quiet" onClick={drop}>Cancel</button></div>}
    </>
  );
}

// Versions are those that a conflict has: what this would bring back, what the call left where that is kept, and what is there now.
function Versions({ since, back, redo }) {
  const left = filesOf(diffLines(since)), come = filesOf(diffLines(back));
  const names = [...new Set([...left, ...come].map((f) => f.name).filter(Boolean))];
  const side = (f, drop) => (f ? f.lines.filter((l) => l.kind !== drop && l.kind !== "hunk") : []);
  const Column = ({ title, lines, kind, mark }) => <div><h3>{title}</h3><pre class="text" tabIndex={0} aria-label={title}>
    {lines.length ? lines.map((l) => <span class={l.kind === kind ? mark : ""}>{l.text.slice(1)}{"\n"}</span>) : <span class="hint">not there</span>}</pre></div>;
  if (!names.length) return <><Diff of={since} label="Changed since" /><Diff of={back} label="Brought back" /></>;
  return names.map((name) => {
    const l = left.find((f) => f.name === name), c = come.find((f) => f.name === name);
    return (
      <section class="card" key={name}><h2><code>{name}</code><Badge kind="amber">changed since</Badge></h2><div class="three pad">
        <Column title={redo ? "What redo would bring" : "Before the call"} lines={side(c, "minus")} kind="plus" mark="came" />
        {l && <Column title={redo ? "What the undo left" : "What the call wrote"} lines={side(l, "plus")} kind="minus" mark="went" />}
        <Column title="Now" lines={side(l || c, l ? "minus" : "plus")} kind={l ? "plus" : "minus"} mark="came" /></div></section>
    );
  });
}

// Effects shows what a call has changed, and takes it back.
export function Effects({ at, files, time, turned }) {
  const [diff, setDiff] = useState(null);
  const [problem, setProblem] = useState(null);
  const [part, setPart] = useState({ path: "", since: "" });
  const load = () => get("/api/diff", at).then(setDiff, setProblem);
  useEffect(() => { load(); }, [at.space, at.session, at.id]);
  const undo = useUndo({ ...at, since: part.since, paths: part.path ? [part.path] : [] }, async () => { await load(); turned && turned(); });
  const choose = (name) => (e) => { undo.drop(); setPart({ ...part, [name]: e.target.value }); };
  const [plus, minus] = useMemo(() => filesOf(diffLines(diff?.diff || "")).reduce(([p, m], f) => [p + f.plus, m + f.minus], [0, 0]), [diff]);
  return (
    <section class="effects-of">
      <section class="card"><h2>What it has changed <Counts plus={plus} minus={minus} />{diff && diff.undone_by && <Badge kind="blue">undone</Badge>}</h2>
        {diff && diff.diff ? <Diff of={diff.diff} label="Changes" /> : <p class="pad hint">{diff ? "Nothing that still differs." : "Looking."}</p>}</section>
      {diff && diff.since && diff.since.length > 0 && <p class="bar">Changed since by others: {diff.since.join(", ")}. The diff shows only the call, if what the call left was kept.</p>}
      {diff && diff.undone_by && <p class="bar" role="status">This was undone by the call {diff.undone_by}.</p>}
      <Problem of={problem} />
      <Undoing of={undo} />
      {!undo.plan && <div class="bar"><button disabled={undo.busy} onClick={() => undo.turn({})}>Undo…</button>
        <button disabled={undo.busy} onClick={() => undo.turn({ redo: true })}>Redo…</button>
        {files && files.length > 1 && <label>Files <select value={part.path} onChange={choose("path")}>
          <option value="">all {files.length}</option>{files.map((f) => <option value={f}>{f}</option>)}</select></label>}
        <label>Calls <select value={part.since} onChange={choose("since")}>
          <option value="">this one</option><option value={time}>this one and all since, of all sessions</option></select></label></div>}
    </section>
  );
}
