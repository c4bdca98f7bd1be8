import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { diffLines, inRows } from "./diff.jsx";

const beside = signal(localStorage.getItem("toolhost-diff") === "beside");

// Problem says what went wrong, and what to do.
export function Problem({ of }) {
  if (!of) return null;
  return <div class="problem" role="alert"><strong>Failed:</strong> {of.message} <span>{of.next}</span></div>;
}

const piece = 100_000;

// Text shows a text exactly, line by line; a huge one piece by piece.
export function Text({ of, label }) {
  const [at, setAt] = useState(0);
  const text = String(of ?? ""), count = Math.ceil(text.length / piece);
  if (count <= 2) return <pre class="text" tabIndex={0} aria-label={label}>{text}</pre>;
  const from = whole(text, Math.min(at, count - 1) * piece), to = whole(text, Math.min(at + 1, count) * piece);
  return <Piece {...{ label, at, count, go: setAt, from, to, size: text.length, unit: "characters" }} text={text.slice(from, to)} />;
}

// whole is the place at or before i that splits no character.
const whole = (text, i) => (i > 0 && i < text.length && /[\udc00-\udfff]/.test(text[i]) ? i - 1 : i);

// Piece is one of the pieces of a huge text, with the way to the others.
export function Piece({ text, label, at, count, go, from, to, size, unit }) {
  const move = (name, n) => <button type="button" class="small" disabled={n === at} onClick={() => go(n)}>{name}</button>;
  return (
    <div class="pieces" role="group" aria-label={label}>
      <div class="bar">{move("First", 0)}{move("Back", Math.max(0, at - 1))}{move("Next", Math.min(count - 1, at + 1))}{move("Last", count - 1)}
        <span class="hint" role="status">{(from + 1).toLocaleString()} to {to.toLocaleString()} of {size.toLocaleString()} {unit}</span></div>
      <pre class="text" tabIndex={0} aria-label={label}>{text}</pre>
    </div>
  );
}

export const ago = (time, now = Date.now()) => {
  const s = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;
};

// Diff shows a diff, unified or side by side: each line keeps its sign, so that
// nothing depends on colour. What is no diff is shown as it is.
export function Diff({ of, label }) {
  const lines = useMemo(() => (of.length > 5 * piece ? [] : diffLines(of)), [of]);
  if (!lines.some((l) => l.kind === "file")) return <Text of={of} label={label} />;
  const flip = () => { beside.value = !beside.value; localStorage.setItem("toolhost-diff", beside.value ? "beside" : ""); };
  return (
    <div class="diffs">
      <button type="button" class="small" aria-pressed={beside.value} onClick={flip}>Side by side</button>
      {beside.value ? <Beside lines={lines} label={label} />
        : <pre class="text diff" tabIndex={0} aria-label={label}>{lines.map((l) => <span class={l.kind}>{l.shown}{"\n"}</span>)}</pre>}
    </div>
  );
}

function Beside({ lines, label }) {
  const side = (l) => <td class={l ? l.kind : "none"}>{l && l.shown}</td>;
  return (
    <div class="text diff" tabIndex={0} role="group" aria-label={label}><table>
      <thead><tr><th scope="col">Before</th><th scope="col">After</th></tr></thead>
      <tbody>{inRows(lines).map(([a, b]) => (a === b && a.kind !== "same"
        ? <tr><td colSpan={2} class={a.kind}>{a.shown}</td></tr> : <tr>{side(a)}{side(b)}</tr>))}</tbody>
    </table></div>
  );
}

// Rows shows as many of count rows as fit, each of the same height. It brings row
// at into view when another is chosen, and keeps it there while rows come and go;
// a person who has scrolled away from it stays where they are.
export function Rows({ count, height, row, label, at, chosen, role = "listbox", near }) {
  const box = useRef(null);
  const last = useRef({});
  const [view, setView] = useState({ top: 0, size: 800 });
  const look = () => {
    const b = box.current;
    if (!b) return;
    setView({ top: b.scrollTop, size: b.clientHeight });
    if (near && b.scrollTop + 3 * b.clientHeight > b.scrollHeight) near();
  };
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const b = box.current, before = last.current;
    last.current = { at, chosen };
    if (at === undefined || at < 0) return;
    const away = (i) => (i * height < b.scrollTop ? -1 : (i + 1) * height > b.scrollTop + b.clientHeight ? 1 : 0);
    if (before.chosen === chosen && away(before.at)) return;
    if (away(at) < 0) b.scrollTop = at * height;
    else if (away(at) > 0) b.scrollTop = (at + 1) * height - b.clientHeight;
  }, [at, chosen]);
  const from = Math.max(0, Math.floor(view.top / height) - 5);
  const to = Math.min(count, Math.ceil((view.top + view.size) / height) + 5);
  const shown = [];
  for (let i = from; i < to; i++) shown.push(row(i, { top: `${i * height}px`, height: `${height}px` }));
  return (
    <div class="rows" ref={box} onScroll={look} role={role} aria-label={label} tabIndex={0}>
      <div class="all" style={{ height: `${count * height}px` }}>{shown}</div>
    </div>
  );
}
