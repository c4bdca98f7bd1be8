import { render } from "preact";
import { signal, effect } from "@preact/signals";
import { enter } from "./api.js";
import { Problem } from "./parts.jsx";
import { Call } from "./call.jsx";
import { Changes } from "./changes.jsx";
import { Config } from "./config.jsx";
import { Sources } from "./sources.jsx";
import { Tools } from "./tools.jsx";
import { Timeline } from "./timeline.jsx";
import { Inbox, followInbox, list } from "./inbox.jsx";

const place = signal(location.hash);
addEventListener("hashchange", () => { place.value = location.hash; });

// pages by the first part of the address.
const pages = { inbox: ["Inbox", Inbox], timeline: ["Timeline", Timeline], changes: ["Changes", Changes], tools: ["Tools", Tools], sources: ["Sources", Sources],
  config: ["Config", Config],
  call: ["", Call] };

function App() {
  const [, name = ""] = place.value.split(/[/?]/);
  const [, Page] = pages[name] || pages.inbox;
  return (
    <>
      <header>
        <strong>toolhost</strong>
        <nav aria-label="Pages">
          {Object.entries(pages).filter(([, [title]]) => title).map(([id, [title]]) => (
            <a href={`#/${id}`} aria-current={(pages[name] ? name : "inbox") === id ? "page" : undefined}>
              {title}{id === "inbox" && list.value.length > 0 && <span class="badge"> {list.value.length}</span>}
            </a>
          ))}
        </nav>
      </header>
      <main><Page place={place.value} /></main>
    </>
  );
}

const root = document.getElementById("app");
enter().then(() => {
  followInbox();
  effect(() => { document.title = list.value.length ? `(${list.value.length}) toolhost` : "toolhost"; });
  root.replaceChildren();
  render(<App />, root);
}, (e) => { root.replaceChildren(); render(<Problem of={e} />, root); });
