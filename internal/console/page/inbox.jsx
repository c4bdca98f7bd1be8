import { signal, computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { follow, get, post } from "./api.js";
import { Problem, Text, Diff, Rows, ago } from "./parts.jsx";

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const waiting = signal(new Map());
const ready = signal(false);
const trouble = signal(null);
export const list = computed(() => [...waiting.value.values()]
  .sort((a, b) => b.at - a.at || order(b.key, a.key)));
const chosen = signal("");

export function followInbox() {
  let fresh = true, next = null;
  return follow("/api/inbox", {
    begun: () => { fresh = true; next = null; trouble.value = null; },
    tell: (news) => {
      ready.value = true;
      const problems = (news.problems || []).join("\n");
      if (!news.more) trouble.value = problems ? { message: problems, next: "" } : null;
      if (!fresh && !next && !news.add && !news.gone) return;
      next ||= fresh ? new Map() : new Map(waiting.value);
      fresh = false;
      for (const call of news.add || []) next.set(call.key, { ...call, at: Date.parse(call.asked) });
      for (const key of news.gone || []) next.delete(key);
      if (news.more) return; // what is of one moment is shown at once
      waiting.value = next;
      next = null;
    },
    failed: (e) => { trouble.value = e; },
  });
}

// choose keeps to the call that a person looks at as long as it waits, whatever
// comes or goes around it.
let position = 0;
function current() {
  const all = list.value;
  let at = all.findIndex((c) => c.key === chosen.value);
  if (at < 0) at = Math.min(position, all.length - 1);
  position = Math.max(0, at);
  return all[at];
}

// move goes to the next call or the one before, as often as the key is pressed,
// whether the calls between have been drawn or not.
function move(e) {
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
  if (!step || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)
    || e.target.closest(".text")) return;
  e.preventDefault();
  const to = list.value[list.value.findIndex((c) => c.key === chosen.value) + step];
  if (to) chosen.value = to.key;
}

export function Inbox() {
  const call = current();
  const key = call ? call.key : "";
  useEffect(() => { if (!waiting.value.has(chosen.value)) chosen.value = key; }, [key]);
  useEffect(() => {
    addEventListener("keydown", move);
    return () => removeEventListener("keydown", move);
  }, []);
  if (!list.value.length) {
    return (
      <section class="empty">
        <h1>Inbox</h1>
        <Problem of={trouble.value} />
        {ready.value && <p>No call waits for you. This page shows the next one as soon as it comes.</p>}
      </section>
    );
  }
  return (
    <section class="split">
      <div class="side">
        <h1>Inbox <span class="count">{list.value.length} waiting</span></h1>
        <Problem of={trouble.value} />
        <Rows count={list.value.length} height={58} label="Calls that wait" at={position} chosen={key} row={(i, style) => {
          const c = list.value[i];
          return (
            <div key={c.key} class="row" style={style} role="option" aria-selected={c.key === key}
              onClick={() => { chosen.value = c.key; }}>
              <div class="main">{c.call}</div>
              <div class="more">{ago(c.asked)} · {c.session || "any session"}{c.client && ` · ${c.client}`}{c.toolset && ` · ${c.toolset}`} · {c.root}</div>
            </div>
          );
        }} />
      </div>
      <Waiting key={key} call={call} />
    </section>
  );
}

// Waiting shows one call whole, and takes the decision: two strokes each.
function Waiting({ call }) {
  const [look, setLook] = useState(null);
  const [failed, setFailed] = useState(null);
  const [armed, setArmed] = useState("");
  const [busy, setBusy] = useState(false);
  const [again, setAgain] = useState(0);
  const reason = useRef(null);
  const go = useRef(null);
  useEffect(() => {
    const stop = new AbortController();
    setLook(null);
    setArmed("");
    get("/api/pending", { space: call.space, id: call.id }, stop.signal)
      .then((l) => { setLook(l); }, (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [call.key, call.digest, again]);
  useEffect(() => {
    if (armed === "deny") reason.current?.focus();
    else if (armed) go.current?.focus();
  }, [armed]);
  const decide = async (verdict) => {
    if (busy || (verdict !== "deny" && !look)) return;
    setBusy(true);
    setFailed(null);
    try {
      await post("/api/decide", { space: call.space, id: call.id, digest: (look || call).digest,
        shown: look ? look.shown : "", verdict, reason: verdict === "deny" ? reason.current.value : "" });
    } catch (e) {
      setFailed(e);
      if (e.status === 409) setAgain((n) => n + 1);
    }
    setBusy(false);
    setArmed("");
  };
  useEffect(() => {
    const since = Date.now();
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "Escape") return setArmed("");
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
      const verdict = { a: "once", A: "always", d: "deny" }[e.key];
      // A stroke for the call that was here a moment ago decides nothing.
      if (!verdict || Date.now() - since < 250) return;
      e.preventDefault();
      if (verdict === "deny" || (look && !look.problem && !(call.worker && verdict === "always"))) setArmed(verdict);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [call.key, look]);
  const q = look && look.question;
  return (
    <article class="detail" aria-live="polite">
      <h2>{q ? q.headline : call.call}</h2>
      <p class="why">{q && q.why}</p>
      {call.worker && <p>All that is shown here is the word of the worker {call.worker}, which decides as you say.</p>}
      <Problem of={failed} />
      {look && look.problem && <Problem of={{ message: "It can only be denied: " + look.problem, next: "" }} />}
      {q ? <Question of={q} /> : !failed && <p>Looking what it would do.</p>}
      <dl class="facts">
        {call.worker ? <><dt>Worker</dt><dd>{call.worker}</dd><dt>Tenant</dt><dd>{call.tenant}</dd></>
          : <><dt>Workspace</dt><dd>{call.root}</dd></>}
        <dt>Session</dt><dd>{call.session || "any"}</dd>
        {call.client && <><dt>Client</dt><dd>{call.client}</dd></>}
        {call.toolset && <><dt>Toolset</dt><dd>{call.toolset}</dd></>}
        {look && look.flags && <><dt>Started with</dt><dd>{look.flags.join(" ")}</dd></>}
        <dt>Asked</dt><dd>{new Date(call.asked).toLocaleTimeString()}, waits until {new Date(call.expires).toLocaleTimeString()}</dd>
        <dt>Digest</dt><dd class="digest">{call.digest}</dd>
      </dl>
      <div class="decide" role="group" aria-label="Decision">
        {armed === "" && <>
          <button onClick={() => setArmed("once")} disabled={!look || !!look.problem || busy}>Allow once <kbd>a</kbd></button>
          {!call.worker && <button onClick={() => setArmed("always")} disabled={!look || !!look.problem || busy}>Always <kbd>A</kbd></button>}
          <button onClick={() => setArmed("deny")} disabled={busy}>Deny <kbd>d</kbd></button>
          <span class="hint">Enter then confirms. <kbd>j</kbd> <kbd>k</kbd> move.</span>
        </>}
        {armed === "once" && <>
          <button ref={go} class="go" onClick={() => decide("once")} disabled={busy}>Allow this call once <kbd>Enter</kbd></button>
          <button onClick={() => setArmed("")}>Cancel <kbd>Esc</kbd></button>
        </>}
        {armed === "always" && <>
          <div class="rule"><p>This rule is added for this workspace. It allows exactly this call from now on:</p>
            <Text of={JSON.stringify(look.always, null, 2)} label="The rule" /></div>
          <button ref={go} class="go" onClick={() => decide("always")} disabled={busy}>Add the rule and allow <kbd>Enter</kbd></button>
          <button onClick={() => setArmed("")}>Cancel <kbd>Esc</kbd></button>
        </>}
        {armed === "deny" && <form onSubmit={(e) => { e.preventDefault(); decide("deny"); }}>
          <label>Reason, which the agent is told <input ref={reason} maxLength={1000} /></label>
          <button class="stop" disabled={busy}>Deny <kbd>Enter</kbd></button>
          <button type="button" onClick={() => setArmed("")}>Cancel <kbd>Esc</kbd></button>
        </form>}
      </div>
    </article>
  );
}

// Question is all that a call is and would do.
export function Question({ of: q }) {
  return (
    <div class="question">
      {q.argv && <><h3>Command, word by word</h3>
        <ol class="argv">{q.argv.map((word) => <li><code>{word}</code></li>)}</ol></>}
      {q.params && <><h3>Parameters</h3>
        {q.params.map((p) => <div class="param"><span class="name">{p.name}</span><Text of={p.value} label={p.name} /></div>)}</>}
      {q.files && <><h3>Files affected</h3><ul>{q.files.map((f) => <li><code>{f}</code></li>)}</ul></>}
      {q.effect && <><h3>What it would do now</h3><Diff of={q.effect} label="Effect" /></>}
      {q.reason && <><h3>Why you are asked</h3><p class="said">{q.reason}{q.rule && ` (rule ${q.rule})`}</p></>}
    </div>
  );
}
