import { render } from "preact";
import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { enter, get } from "./api.js";
import { Activity } from "./activity.jsx";
import { Call } from "./call.jsx";
import { Changes } from "./changes.jsx";
import { Components } from "./components.jsx";
import { Config } from "./config.jsx";
import { Icon } from "./icons.jsx";
import { Inbox, followInbox, list, lost } from "./inbox.jsx";
import { project } from "./names.jsx";
import { Over, over } from "./over.jsx";
import { Problem } from "./parts.jsx";
import { at, go, look, to } from "./route.js";
import { SessionPage } from "./session.jsx";
import { Sources } from "./sources.jsx";
import { Toast } from "./toast.jsx";
import { Tools } from "./tools.jsx";

// pages by the first part of the address. Those without a title are reached from others.
const pages = { inbox: ["Inbox", Inbox], activity: ["Activity", Activity], changes: ["Changes", Changes], tools: ["Tools", Tools], sources: ["Sources", Sources], config: ["Config", Config],
  call: ["", Call], session: ["", SessionPage], components: ["", Components] };
const titled = Object.entries(pages).filter(([, [title]]) => title).map(([id, [title]]) => [id, title]);
export const spaces = signal([]);

function useSpaces() {
  useEffect(() => {
    let timer;
    const look = () => get("/api/spaces").then((s) => { if (JSON.stringify(s) !== JSON.stringify(spaces.value)) spaces.value = s; }, () => {}).then(() => { timer = setTimeout(look, document.hidden ? 30000 : 5000); });
    look();
    return () => clearTimeout(timer);
  }, []);
}

function App() {
  useSpaces();
  const { page, ...params } = at.value;
  const [, Page] = pages[page] || ["", Unknown];
  return (
    <>
      <header class="top">
        <a class="logo" href={to("inbox", { space: params.space })} aria-label="toolhost"><Icon name="logo" /><b>toolhost</b></a>
        <nav aria-label="Pages">
          {titled.map(([id, title]) => (
            <a href={to(id, { space: params.space })} aria-current={page === id ? "page" : undefined}>
              {title}{id === "inbox" && list.value.length > 0 && <span class="badge amber">{list.value.length}</span>}
            </a>
          ))}
        </nav>
        <div class="space">
          <span class="live" role="status">{lost.value ? <><i class="dot red" />not connected</> : <><i class="dot green" />live</>}</span>
          <label><span class="unseen">Project</span><select value={params.space || ""} onChange={(e) => (["call", "session"].includes(page) ? location.hash = to("activity", { space: e.target.value }) : go({ space: e.target.value, tool: "", path: "", session: "", call: "", in: "", of: "" }))}>
            <option value="">All projects</option>{spaces.value.map((s) => <option value={s.id} title={s.root}>{nameOf(s)}</option>)}</select></label>
          <button class="quiet find" onClick={() => { over.value = "go"; }} title="Go to a tool, call, file or project"><Icon name="search" /><span>Go to</span> <kbd>Ctrl K</kbd></button>
          <button class="quiet icon" onClick={() => { over.value = "keys"; }} aria-label="Keys">?</button>
        </div>
      </header>
      {lost.value && <Lost why={lost.value} />}
      <main class={lost.value ? "lost" : ""} inert={!!lost.value}>{Page === Call || Page === SessionPage ? <Page at={params} /> : <Page place={location.hash} />}</main>
      <Toast />
      <Over spaces={spaces.value} pages={titled} />
    </>
  );
}

// nameOf is a project's name, with the directory before it where two are called alike.
const nameOf = (s) => (spaces.value.filter((o) => project(o.root) === project(s.root)).length > 1 ? s.root.split("/").slice(-2).join("/") : project(s.root));

const Unknown = () => <section class="empty"><h1>There is no such page</h1><p><a href={to("inbox")}>Go to the inbox</a></p></section>;

// Lost says why nothing comes any more: the console has ended, which is tried again, or the login is over.
function Lost({ why }) {
  const [code, setCode] = useState("");
  const [failed, setFailed] = useState(null);
  const open = async (e) => {
    e.preventDefault();
    location.hash = `code=${code.trim().replace(/^.*code=/, "")}`;
    try { await enter(); location.reload(); } catch (f) { setFailed(f); }
  };
  if (why.status !== 401) return <div class="notice" role="alert"><strong>Connection lost.</strong> Trying again. What you see may be old; nothing can be decided until it is back.</div>;
  return (
    <form class="notice" role="alert" onSubmit={open}><strong>This page is no longer logged in.</strong> Press Enter where toolhost console runs, and give the address that it prints:
      <input aria-label="Address" value={code} onInput={(e) => setCode(e.target.value)} /><button disabled={!code.trim()}>Log in</button>{failed && <span>{failed.message}</span>}</form>
  );
}

// icon has the number of calls that wait as a dot.
function icon(n) {
  const dot = n ? "<circle cx='12' cy='4' r='4' fill='%23e0a030'/>" : "";
  document.querySelector("link[rel=icon]").href = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><rect x='1' y='1' width='14' height='14' rx='4' fill='none' stroke='%23888' stroke-width='1.6'/><path d='M5 6l2 2-2 2M8.5 10.5h3' fill='none' stroke='%23888' stroke-width='1.6'/>${dot}</svg>`;
}

const root = document.getElementById("app");
enter().then(() => {
  look();
  followInbox();
  effect(() => {
    document.title = list.value.length ? `(${list.value.length}) toolhost` : "toolhost";
    icon(list.value.length);
  });
  root.replaceChildren();
  render(<App />, root);
}, (e) => { root.replaceChildren(); render(<Problem of={e} />, root); });
