// What came of a decision, said in a line, and the last ones in a list.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "./api.js";
import { Ago, duration } from "./names.jsx";
import { linkTo } from "./route.js";

const told = signal(null);
export const decisions = signal([]);
const mostDecisions = 20, shownFor = 8000, soughtFor = 60_000;

export const tell = (text, kind = "green", link) => { told.value = { text, kind, link }; };

const words = { once: "Allowed", always: "Always allowed", deny: "Denied" };

// decided keeps a decision, says it, and looks for the call that came of it.
export function decided(call, verdict, reason = "") {
  const one = { call, verdict, reason, at: Date.now(), ran: null };
  decisions.value = [one, ...decisions.value].slice(0, mostDecisions);
  tell(outcome(one), verdict === "deny" ? "red" : "green");
  if (verdict !== "deny" && !call.worker) seek(one);
}

export const outcome = ({ call, verdict, reason, ran }) => `${words[verdict]}: ${call.tool}${reason ? `, “${reason}”` : ""}`
  + (ran ? `, ${ran.status === "success" ? "ran" : ran.status} in ${duration(ran.took - (ran.waited || 0))}${ran.files ? `, ${ran.files} file${ran.files > 1 ? "s" : ""} changed` : ""}`
    : "");

async function seek(one) {
  const { call } = one;
  for (let pause = 200; Date.now() - one.at < soughtFor; pause = Math.min(2 * pause, 3000)) {
    await new Promise((go) => setTimeout(go, pause));
    const news = await get("/api/calls", { space: call.space, session: call.session, tool: call.tool, limit: 20 }).catch(() => null);
    const ran = news?.calls.find((c) => c.call === call.call && !["running", "asks", "dry run"].includes(c.status) && c.began / 1000 + c.took >= one.at - 500);
    if (!ran) continue;
    one.ran = ran;
    decisions.value = [...decisions.value];
    if (decisions.value[0] === one) tell(outcome(one), ran.status === "success" ? "green" : "red", linkTo(ran));
    return;
  }
}

export function Toast() {
  const t = told.value;
  useEffect(() => {
    if (!t) return;
    const timer = setTimeout(() => { if (told.value === t) told.value = null; }, shownFor);
    return () => clearTimeout(timer);
  }, [t]);
  return <div role="status">{t && <div class="toast"><i class={`dot ${t.kind}`} /><span>{t.text}</span>{t.link && <a href={t.link}>See the call</a>}
    <button aria-label="Close" onClick={() => { told.value = null; }}>×</button></div>}</div>;
}

// Decided lists the last decisions of this page.
export function Decided() {
  if (!decisions.value.length) return null;
  return (
    <section class="done" aria-label="Decided" tabIndex={0}>
      <div class="group"><b>Decided</b><span>on this page</span></div>
      {decisions.value.map((d) => <div class="row" key={d.at}><i class={`dot ${d.verdict === "deny" ? "red" : "green"}`} />
        <span class="main">{d.call.call}</span><Ago ms={d.at} />
        <span class="more">{outcome(d)}{d.ran ? <> · <a href={linkTo(d.ran)}>{d.ran.files ? "see it, or undo it" : "see it"}</a></>
          : d.verdict !== "deny" && " · runs when the agent makes the call again"}</span></div>)}
    </section>
  );
}
