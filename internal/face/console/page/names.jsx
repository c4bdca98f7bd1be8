// Names that a person knows: a project and not a path, a client and not an id, and how long ago. The exact one is in a
// title.
import { signal } from "@preact/signals";

export const now = signal(Date.now());
setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);

// project is the last part of a workspace's path.
export const project = (root = "") => root.split(/[/\\]/).filter(Boolean).at(-1) || root;

const clients = { "claude-code": "Claude Code", "claude-ai": "Claude", codex: "Codex", "codex-mcp-client": "Codex", cursor: "Cursor", "cursor-vscode": "Cursor", zed: "Zed",
  "visual studio code": "VS Code", "visual-studio-code": "VS Code", "gemini-cli": "Gemini CLI", goose: "Goose", "toolhost call": "the terminal" };
export function clientName(client = "") {
  const name = client.replace(/ v?\d\S*$/, "");
  return clients[name.toLowerCase()] || name;
}

// sessions are when each was first seen, to tell two of one client apart.
const begun = new Map();
export function seen(c, began) {
  const key = `${c.space}/${c.session}`;
  if (c.session && !(begun.get(key)?.began <= began)) begun.set(key, { began, client: c.client || begun.get(key)?.client });
  else if (c.client && !begun.get(key)?.client && begun.has(key)) begun.get(key).client = c.client;
}

// sessionName is "Claude Code, 12:43" for a session without a name of its own.
export function sessionName(c) {
  if (c.session === "cli") return "the terminal";
  if (c.session === "console") return "this page";
  const known = begun.get(`${c.space}/${c.session}`), client = clientName(c.client || known?.client);
  if (c.session && !/^(mcp|http)-/.test(c.session)) return client ? `${client}, ${c.session}` : c.session;
  if (!c.session && !client) return "any session";
  return [client || "a client", known && minutes(known.began)].filter(Boolean).join(", ");
}

export const Session = ({ of }) => <span title={`session ${of.session || "any"}${of.client ? `, client ${of.client}` : ""}`}>{sessionName(of)}</span>;
export const Project = ({ root }) => <span title={root}>{project(root)}</span>;

const minutes = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
export const clock = (micro) => new Date(micro / 1000).toLocaleTimeString([], { hour12: false });
export const moment = (ms) => new Date(ms).toLocaleString([], { hour12: false });
export const duration = (ms) => ms < 1 ? "<1 ms" : ms < 1000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round(ms % 60_000 / 1000)} s`;

export const ago = (ms, at = Date.now()) => {
  const s = Math.max(0, Math.round((at - ms) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
};

// Ago ticks.
export const Ago = ({ ms, before = "", after = "" }) => <time dateTime={new Date(ms).toISOString()} title={moment(ms)}>{before}{ago(ms, now.value)}{after}</time>;

// size counts bytes as people do.
export const size = (bytes) => bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

// timeFrom reads "12:00", "30m", "2h", "3d" or a date, and gives milliseconds, 0 where it is none.
export function timeFrom(text, at = Date.now()) {
  const back = /^(\d+)\s*(m|min|h|d)$/.exec(text.trim()), clockTime = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
  if (back) return at - back[1] * { m: 6e4, min: 6e4, h: 36e5, d: 864e5 }[back[2]];
  if (clockTime) {
    const day = new Date(at);
    day.setHours(+clockTime[1], +clockTime[2], 0, 0);
    return +day > at ? +day - 864e5 : +day;
  }
  return Date.parse(text) || 0;
}
