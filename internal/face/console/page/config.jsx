import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Project } from "./names.jsx";
import { Badge, Diff, Problem, Text } from "./parts.jsx";
import { at } from "./route.js";
import { NoSpace, useSpaces } from "./tools.jsx";

// Config shows agent.hcl with what is wrong at its lines, and what an approval
// would allow.
export function Config() {
  const [failed, setFailed] = useState(null);
  const [spaces, space] = useSpaces(at.value.space, setFailed);
  const [told, setTold] = useState(null);
  const [armed, setArmed] = useState(false);
  const [turn, setTurn] = useState(0);
  const go = useRef(null);
  useEffect(() => {
    const stop = new AbortController();
    setTold(null);
    setArmed(false);
    if (space) get("/api/config", { space }, stop.signal).then(setTold, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [space, turn]);
  useEffect(() => { if (armed) go.current?.focus(); }, [armed]);
  const approve = async () => {
    setFailed(null);
    try { await post("/api/trust", { space, digest: told.digest }); } catch (e) { setFailed(e); }
    setTurn(turn + 1);
  };
  const f = told && told.file;
  const wrong = (told && told.validated && told.validated.diagnostics) || [];
  const name = spaces?.find((s) => s.id === space);
  if (spaces && !spaces.length) return <NoSpace />;
  const effects = f && f.effects ? [...f.effects, ...f.lent] : [];
  return (
    <section class="page">
      <div class="head"><div><h1>Config <span class="count">{name && <Project root={name.root} />}</span></h1>
        {f && f.path && <div class="sub"><Badge kind={f.approved ? "green" : "amber"}>{f.approved ? "approved" : f.known ? "changed since it was approved" : "not approved, it has no effect"}</Badge><code>{f.path}</code></div>}</div>
        {f && f.path && !f.approved && <div class="decide"><div class="acts"><button class={armed ? "" : "primary"} disabled={armed} onClick={() => setArmed(true)}>Approve…</button></div>
          {armed && <div class="confirm"><button ref={go} class="go" onClick={approve}>Approve {f.path} with all of this</button><button onClick={() => setArmed(false)}>Cancel</button></div>}</div>}</div>
      <Problem of={failed} />
      {!told && !failed && <p role="status">Looking.</p>}
      {told && told.problem && <Problem of={{ message: told.problem.message, next: told.problem.suggestion }} />}
      {f && f.path && <>
        <section class="card"><h2>{f.approved ? "What it may do" : "What an approval lets it do"}</h2>
          {effects.length ? <ul class="effects plain pad">{effects.map((e) => <li>{e}</li>)}</ul> : <p class="pad">It grants nothing.</p>}</section>
        {f.changed && f.changed.length > 0 && <section class="card"><h2>Changed since, and run with the permissions of agent.hcl</h2><ul class="plain pad">{f.changed.map((c) => <li><code>{c}</code></li>)}</ul></section>}
        {f.diff && <section class="card"><h2>What has changed since it was approved</h2><Diff of={f.diff} label="What has changed" /></section>}
        <details><summary>Digest</summary><code class="digest">{told.digest}</code></details>
      </>}
      {f && f.content !== undefined && <><h2>agent.hcl <span class="count">{wrong.length ? `${wrong.length} to look at` : "no mistakes"}</span></h2>
        <Source text={f.content} wrong={wrong} /></>}
      {space && <Explain space={space} />}
    </section>
  );
}

function Source({ text, wrong }) {
  const lines = text.replace(/\n$/, "").split("\n");
  const at = (n) => wrong.filter((d) => d.line === n || (n === lines.length && (d.line || 0) > n));
  const of = (d) => <div class="wrong">{d.severity}: {d.summary}. {d.detail} {d.suggestion}</div>;
  return (
    <>
      {wrong.filter((d) => !d.line).map(of)}
      <ol class="text source" tabIndex={0} aria-label="agent.hcl">{lines.map((line, i) => {
        const found = at(i + 1);
        return <li key={i} class={found.length ? "marked" : undefined}><code>{line || " "}</code>{found.map(of)}</li>;
      })}</ol>
    </>
  );
}

// Explain says what becomes of a call, and by which rule. Nothing is run.
function Explain({ space }) {
  const [tool, setTool] = useState("");
  const [params, setParams] = useState("{}");
  const [told, setTold] = useState(null);
  const [failed, setFailed] = useState(null);
  const ask = async (e) => {
    e.preventDefault();
    setFailed(null);
    setTold(null);
    try { setTold(await post("/api/try", { space, toolset: "", tool, params, do: "check" })); } catch (e) { setFailed(e); }
  };
  return (
    <form onSubmit={ask}>
      <h2>Explain a call</h2>
      <div class="bar"><label>Tool <input value={tool} onInput={(e) => setTool(e.target.value)} /></label>
        <label>Parameters as JSON <input size={50} value={params} onInput={(e) => setParams(e.target.value)} /></label>
        <button disabled={!tool.trim()}>Explain</button></div>
      <Problem of={failed} />
      <div class="explained" aria-live="polite">
        {told && told.violations && <div class="wrong">{told.violations.map((v) => <div>{v.path}: {v.message}</div>)}</div>}
        {told && told.decision && <Text of={JSON.stringify(told.decision, null, 2)} label="Decision" />}
      </div>
    </form>
  );
}
