import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { get, post } from "./api.js";
import { Form } from "./form.jsx";
import { field } from "./schema.js";
import { Result } from "./call.jsx";
import { Waiting, list } from "./inbox.jsx";
import { Ago, Project, duration } from "./names.jsx";
import { Badge, Diff, Problem, Risk, Rows, Text, colourOf, risks } from "./parts.jsx";
import { at, go, linkTo, to } from "./route.js";
import { broken, escaped, read, shown, write } from "./values.js";

const toolsets = ["", "agent", "cliagent", "agentbench", "clemini", "ocode", "anthropic", "claude", "codex"];

// again is a call that is to be filled in; drafts are calls that were left half filled in.
const again = signal(null);
const drafts = new Map();
export function fillIn(space, toolset, tool, params) {
  again.value = { tool, params };
  location.hash = toolLink(space, toolset, tool);
}
export const toolLink = (space, toolset, tool) => to("tools", { space, toolset, tool });

// useSpaces gives the workspaces, and the one that is chosen.
export function useSpaces(chosen, failed) {
  const [spaces, setSpaces] = useState(null);
  useEffect(() => { get("/api/spaces").then(setSpaces, failed); }, []);
  return [spaces, chosen || spaces?.[0]?.id || ""];
}

export const NoSpace = () => <div class="empty"><h1>No project yet</h1><p>A project is here as soon as an agent, or you, called a tool in it.</p><pre class="text">toolhost init{"\n"}toolhost trust{"\n"}toolhost install</pre></div>;

export function Tools() {
  const a = at.value;
  const [failed, setFailed] = useState(null);
  const [all, setAll] = useState(null);
  const [sought, setSought] = useState("");
  const [spaces, space] = useSpaces(a.space, setFailed);
  const toolset = a.toolset || "";
  useEffect(() => {
    const stop = new AbortController();
    setAll(null);
    setFailed(null);
    if (space) get("/api/tools", { space, toolset }, stop.signal).then(setAll, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [space, toolset]);
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (all ? all.tools : []).filter((t) => {
    const text = `${t.name} ${t.source} ${t.risk} ${(t.permissions || []).join(" ")} ${t.description}`.toLowerCase();
    return words.every((w) => text.includes(w));
  }).sort((x, y) => x.source.localeCompare(y.source) || x.name.localeCompare(y.name));
  const here = spaces?.find((s) => s.id === space);
  const broken = all ? [...all.problems, ...all.left_out] : [];
  if (spaces && !spaces.length) return <NoSpace />;
  return (
    <section class={`split ${a.tool ? "picked" : "pick"}`}>
      <div class="side">
        <h1>Tools <span class="count" aria-live="polite">{all ? `${found.length} of ${all.tools.length}` : ""}{here && <> in <Project root={here.root} /></>}</span></h1>
        <div class="filter">
          <span class={`chip text-chip ${sought ? "on" : ""}`}><label>Search <input type="search" value={sought} onInput={(e) => setSought(e.target.value)} /></label></span>
          <span class={`chip ${toolset ? "on" : ""}`}><label>Toolset <input list="toolsets" value={toolset} placeholder="by agent.hcl" onChange={(e) => go({ toolset: e.target.value.trim(), tool: "" })} /></label>
            <datalist id="toolsets">{toolsets.map((t) => <option value={t} />)}</datalist></span>
        </div>
        <Problem of={failed} />
        {!all && !failed && <p class="start hint">Looking.</p>}
        {broken.length > 0 && <details class="pad"><summary><Badge kind="red">{broken.length} source{broken.length > 1 && "s"} failed</Badge></summary>
          {broken.map((p) => <Problem of={{ message: `${p.source}: ${p.error.message}`, next: p.error.suggestion }} />)}<a href={to("sources", { space })}>Sources</a></details>}
        <Rows count={found.length} height={52} label="Tools" role="list" at={found.findIndex((t) => t.name === a.tool)} chosen={a.tool} row={(i, style) => {
          const t = found[i];
          return (
            <div key={t.name} class="row" style={style} role="listitem" data-chosen={t.name === a.tool || undefined} onClick={(e) => { if (e.target.tagName !== "A") location.hash = toolLink(space, toolset, t.name); }}>
              <i class={`dot ${t.unavailable ? "" : risks[t.risk]}`} /><a class="main" href={toolLink(space, toolset, t.name)} aria-current={t.name === a.tool ? "true" : undefined}>{t.name}</a><span class="count">{t.source}</span>
              <div class="more">{t.risk.replace("_", " ")}{t.unavailable ? " · unavailable" : ""} · {t.description}</div>
            </div>
          );
        }} />
      </div>
      {a.tool && space ? <Tool key={`${space} ${toolset} ${a.tool}`} space={space} toolset={toolset} name={a.tool} />
        : <article class="detail"><div class="empty"><p>Choose a tool.</p></div></article>}
    </section>
  );
}

function Tool({ space, toolset, name }) {
  const [told, setTold] = useState(null);
  const [failed, setFailed] = useState(null);
  useEffect(() => { get("/api/tool", { space, toolset, tool: name }).then(setTold, setFailed); }, []);
  if (!told) return <article class="detail"><Problem of={failed} /></article>;
  const d = told.shown;
  return (
    <article class="detail">
      <div class="head"><div><h2>{d.name}{d.title && ` · ${d.title}`}</h2>
        <div class="sub"><Risk of={d.risk} />{(d.permissions || []).map((p) => <Badge>{p}</Badge>)}{d.category && <span>{d.category}</span>}{d.reaches && <span>reaches {d.reaches}</span>}</div></div></div>
      <p class="said">{d.description}</p>
      <Filled space={space} toolset={toolset} name={name} told={told} risk={d.risk} />
      <Lately space={space} name={name} />
      <details><summary>Schema of the parameters</summary><Text of={JSON.stringify(d.parameters, null, 2)} label="Schema" /></details>
      <Definition space={space} name={name} />
      {d.returns && <details><summary>Schema of the result</summary><Text of={JSON.stringify(d.returns, null, 2)} label="Schema of the result" /></details>}
    </article>
  );
}

// Lately are the last calls of a tool.
function Lately({ space, name }) {
  const [calls, setCalls] = useState([]);
  useEffect(() => { get("/api/calls", { space, tool: name, limit: 5 }).then((g) => setCalls(g.calls), () => {}); }, []);
  if (!calls.length) return null;
  return <section class="card"><h2>Last calls <a class="end" href={to("activity", { space, tool: name })}>all</a></h2><ul class="plain pad">{calls.map((c) => <li><i class={`dot ${colourOf(c.status)}`} /> <Ago ms={c.began / 1000} after=" ago" />{" "}
    <a href={linkTo(c)}>{c.call}</a> <span class="hint">{c.status}{c.took ? `, ${duration(c.took)}` : ""}</span></li>)}</ul></section>;
}

// Definition shows the block of agent.hcl that declares the tool, where one does.
function Definition({ space, name }) {
  const [text, setText] = useState("");
  const look = (e) => {
    if (!e.currentTarget.open || text) return;
    get("/api/config", { space }).then((c) => {
      const lines = ((c.file && c.file.content) || "").split("\n");
      const from = lines.findIndex((l) => /^(tool|passthrough)\s+"/.test(l) && l.split('"')[1].replaceAll("-", "_") === name.replaceAll("-", "_"));
      const to = lines.findIndex((l, i) => i >= from && /^}/.test(l));
      setText(from < 0 ? "agent.hcl has no block for it: it comes from its source as it is." : lines.slice(from, to < 0 ? undefined : to + 1).join("\n"));
    }, (f) => setText(f.message));
  };
  return <details onToggle={look}><summary>Definition in agent.hcl</summary>{text && <Text of={text} label="Definition" />}</details>;
}

// Filled is a call that is filled in, as a form or as JSON, checked, tried and made.
function Filled({ space, toolset, name, told, risk }) {
  const schema = told.schema ? JSON.parse(told.schema) : { type: "object", properties: {} };
  const root = field(schema, schema);
  const cannot = root.kind === "object" || root.kind === "choice" ? "" : root.reason || "the parameters are not an object";
  const begin = () => {
    const a = again.value;
    again.value = null;
    return a && a.tool === name ? read(a.params) : drafts.get(`${space} ${toolset} ${name}`) || new Map();
  };
  const [value, setValue] = useState(begin);
  useEffect(() => { drafts.set(`${space} ${toolset} ${name}`, value); }, [value]);
  const asks = list.value.find((c) => c.space === space && c.session === "console" && c.tool === name);
  const [json, setJSON] = useState(cannot ? "{}" : null); // the text, in JSON mode
  const [violations, setViolations] = useState([]);
  const [failed, setFailed] = useState(null);
  const [done, setDone] = useState(null);
  const [armed, setArmed] = useState(false);
  const [busy, setBusy] = useState("");
  const [saved, setSaved] = useState([]);
  const [label, setLabel] = useState("");
  const load = () => get("/api/saved", { space, toolset, tool: name }).then(setSaved, setFailed);
  useEffect(() => { load(); }, []);
  const fill = (v) => {
    setValue(v);
    if (json !== null) setJSON(escaped(write(v, true)));
    setViolations([]);
    setDone(null);
    setFailed(null);
  };
  const change = () => {
    try {
      if (json === null) setJSON(escaped(write(value, true)));
      else { setValue(read(json)); setJSON(null); }
      setFailed(null);
    } catch (e) { setFailed({ message: `This is not valid JSON: ${e.message}`, next: "Correct it first." }); }
  };
  const attempt = async (what) => {
    setFailed(null);
    setArmed(false);
    const wrong = json === null ? broken(value) : [];
    setViolations(wrong);
    if (wrong.length || busy) return;
    setBusy(what);
    try {
      const got = await post("/api/try", { space, toolset, tool: name, params: json ?? write(value), do: what });
      setViolations(got.violations || []);
      setDone(got.violations ? null : { what, ...got });
    } catch (e) { setFailed(e); setDone(null); }
    setBusy("");
  };
  const keep = (call, params) => post("/api/save", { space, toolset, tool: name, name: call, params }).then(load, setFailed);
  return (
    <>
      <div class="bar">
        {!cannot && <button onClick={change}>{json === null ? "As JSON" : "As a form"}</button>}
        {told.examples.map((e, i) => <button onClick={() => fill(read(e))}>Example {i + 1}{told.shown.examples[i].description ? `: ${told.shown.examples[i].description}` : ""}</button>)}
        <button class="quiet" onClick={() => fill(new Map())}>Clear</button>
      </div>
      {saved.length > 0 && <div class="bar" role="group" aria-label="Saved calls">Saved: {saved.map((c) => <span>
        <button onClick={() => fill(read(c.params))}>{c.name}</button>
        <button class="small" aria-label={`Forget ${c.name}`} onClick={() => keep(c.name, "")}>×</button></span>)}</div>}
      {cannot && <p class="hint">There is no form: {cannot}.</p>}
      {json === null ? <Form schema={schema} value={value} set={setValue} violations={violations} />
        : <div><label>Parameters as JSON<textarea class="json" rows={12} value={json} spellcheck={false} onInput={(e) => setJSON(e.target.value)} /></label>
          {violations.length > 0 && <div class="wrong" role="alert">{violations.map((v) => <div>{shown(v.path ? `${v.path}: ${v.message}` : v.message)}</div>)}</div>}</div>}
      <Problem of={failed} />
      <div class="bar">
        <button disabled={!!busy} onClick={() => attempt("check")}>Check</button>
        <button disabled={!!busy} onClick={() => attempt("plan")}>Dry run</button>
        {armed ? <><button onClick={() => setArmed(false)}>Cancel</button> <button class="go" autofocus disabled={!!busy} onClick={() => attempt("run")}>Run {name} now</button></>
          : <button class="primary" disabled={!!busy} onClick={() => (risk === "read_only" ? attempt("run") : setArmed(true))}>Run</button>}
        <label>Save as <input value={label} maxLength={80} onInput={(e) => setLabel(e.target.value)} /></label>
        <button disabled={!label.trim()} onClick={() => { keep(label.trim(), json ?? write(value)); setLabel(""); }}>Save</button>
        {busy && <span class="hint" role="status">{busy === "run" ? asks ? "It waits for your word, here or in the inbox." : "Running." : "Asking."}</span>}
      </div>
      {asks && <section class="card asks"><h2><Badge kind="amber">This call waits</Badge></h2><Waiting key={asks.key} call={asks} keys={false} /></section>}
      {done && <Outcome of={done} />}
    </>
  );
}

// Outcome is what came of a check, a dry run or a call.
function Outcome({ of }) {
  const { decision: d, result: r } = of;
  const plan = r && r.dry_run && r.dry_run.plan;
  return (
    <div class="outcome" aria-live="polite">
      <h3>{of.what === "check" ? "It is valid" : of.what === "plan" ? "What it would do" : "What it did"}</h3>
      {d && <p class="said">{d.action}: {d.reason}{d.rule && ` (rule ${d.rule})`}</p>}
      {plan && (plan.preview ? <Diff of={plan.preview} label="What it would change" /> : <Text of={JSON.stringify(plan, null, 2)} label="Plan" />)}
      {r && r.error && r.error.message && <Problem of={{ message: r.error.message, next: r.error.suggestion || "" }} />}
      {of.large && <p class="said">The result has {of.large.toLocaleString()} bytes. {of.call ? <a href={linkTo(of.call)}>See it in pieces</a> : "The newest call of session console in the timeline has it."}</p>}
      {r && typeof r.output === "string" && r.output !== "" && <Text of={r.output} label="Output" />}
      {r && <details open={!plan && !r.output}><summary>All of it</summary><Result of={r} /></details>}
    </div>
  );
}
