import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Problem, Text, Diff } from "./parts.jsx";
import { useSpaces } from "./tools.jsx";

// Config shows agent.hcl with what is wrong at its lines, and what an approval
// would allow.
export function Config({ place }) {
  const at = Object.fromEntries(new URLSearchParams(place.split("?")[1] || ""));
  const [failed, setFailed] = useState(null);
  const [spaces, space] = useSpaces(at.space, setFailed);
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
  return (
    <section class="page">
      <h1>Config</h1>
      <Workspace spaces={spaces} space={space} page="config" />
      <Problem of={failed} />
      {told && told.problem && <Problem of={{ message: told.problem.message, next: told.problem.suggestion }} />}
      {f && f.path && <>
        <h2>{f.path}: {f.approved ? "approved, it counts wholly" : f.known ? "changed since it was approved" : "not approved, it only restricts"}</h2>
        {f.diff && <><h3>What has changed since</h3><Diff of={f.diff} label="What has changed" /></>}
        {f.changed && f.changed.length > 0 && <><h3>Changed since, and run with a grant</h3><ul>{f.changed.map((c) => <li><code>{c}</code></li>)}</ul></>}
        <h3>What an approval lets it do</h3>
        {f.effects.length + f.lent.length ? <ul class="effects">{[...f.effects, ...f.lent].map((e) => <li><code>{e}</code></li>)}</ul> : <p>It runs nothing and loosens nothing.</p>}
        {!f.approved && <div class="bar">{armed
          ? <><button ref={go} class="go" onClick={approve}>Approve {f.path} with all of this</button><button onClick={() => setArmed(false)}>Cancel</button></>
          : <button onClick={() => setArmed(true)}>Approve</button>} <span class="hint">Digest {told.digest}</span></div>}
      </>}
      {f && f.content !== undefined && <><h2>agent.hcl <span class="count">{wrong.length ? `${wrong.length} to look at` : "no mistakes"}</span></h2>
        <Source text={f.content} wrong={wrong} /></>}
      {space && <Explain space={space} />}
    </section>
  );
}

export function Workspace({ spaces, space, page }) {
  return (
    <div class="bar"><label>Workspace <select value={space} onChange={(e) => { location.hash = `#/${page}?` + new URLSearchParams({ space: e.target.value }); }}>
      {spaces.map((s) => <option value={s.id}>{s.root}</option>)}</select></label></div>
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
