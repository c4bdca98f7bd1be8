import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coloured, diffLines, files, inRows } from "./diff.jsx";

const beside = signal(localStorage.getItem("toolhost-diff") === "beside");

// Problem says what went wrong, and what to do.
export function Problem({ of }) {
  if (!of) return null;
  return <div class="problem" role="alert"><strong>Failed:</strong> {of.message} {of.next && <span>{of.next}</span>}</div>;
}

export const Badge = ({ kind = "", title, children }) => <span class={`badge ${kind}`} title={title}>{children}</span>;

// Counts are the lines that were added and taken out.
export const Counts = ({ plus, minus }) => <span class="mono"><span class="plusses">+{plus}</span> <span class="minuses">−{minus}</span></span>;

// risks and statuses have each a colour, and always a word.
export const risks = { dangerous: "red", safe_write: "amber", read_only: "green" };
export const Risk = ({ of }) => of && <Badge kind={risks[of]}>{of.replace("_", " ")}</Badge>;
export const colourOf = (status) => ({ success: "green", "dry run": "green", running: "blue", asks: "amber", waiting: "amber" }[status] || "red");

const piece = 100_000;

// Text shows a text exactly, line by line; a huge one piece by piece.
export function Text({ of, label }) {
  const [at, setAt] = useState(0);
  const text = String(of ?? ""), count = Math.ceil(text.length / piece);
  if (count <= 2) return <pre class="text" tabIndex={0} dir="auto" aria-label={label}>{text}</pre>;
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

// Parameters are a call's: one line each where they are short.
export function Parameters({ of }) {
  return <dl class="params">{of.map((p) => <><dt class="name">{p.name}</dt><dd>{p.value.length < 200 && !p.value.includes("\n")
    ? p.value === "" ? <span class="hint">empty</span> : <code>{p.value}</code> : <Text of={p.value} label={p.name} />}</dd></>)}</dl>;
}

// Command is an argument list, each word by itself.
export function Command({ argv }) {
  return <ol class="argv" aria-label="Command, word by word">{argv.map((word, i) => <li><code class={i === 0 ? "prog" : /^-/.test(word) ? "flag" : /^\$?['"]/.test(word) ? "quoted" : ""}>{word}</code></li>)}</ol>;
}

const mostColoured = 3000;

// Diff shows a diff, unified or side by side, a part for each file: each line keeps its sign, so that nothing depends on
// colour. What is no diff is shown as it is.
export function Diff({ of, label }) {
  const lines = useMemo(() => (of.length > 5 * piece ? [] : diffLines(of)), [of]);
  const parts = useMemo(() => files(lines), [lines]);
  if (!lines.some((l) => l.kind === "file")) return <Text of={of} label={label} />;
  const flip = () => { beside.value = !beside.value; localStorage.setItem("toolhost-diff", beside.value ? "beside" : ""); };
  const one = (f, name) => (beside.value ? <Beside lines={f.lines} label={name} /> : <Lines of={f.lines} label={name} plain={lines.length > mostColoured} />);
  return (
    <div class="diffs">
      <button type="button" class="small flip" aria-pressed={beside.value} onClick={flip}>Side by side</button>
      {parts.map((f) => (f.name ? <details class="filediff" open><summary><span>{f.name}</span><Counts plus={f.plus} minus={f.minus} />{f.fresh ? <Badge kind="green">new</Badge> : f.gone && <Badge kind="red">deleted</Badge>}</summary>{one(f, label)}</details>
        : one(f, label)))}
    </div>
  );
}

const drawn = (shown) => (Array.isArray(shown) ? shown.map((s) => (typeof s === "string" ? coloured(s) : s)) : [shown[0], coloured(shown.slice(1))]);

export function Lines({ of, label, plain }) {
  return <pre class="text diff" tabIndex={0} aria-label={label}>{of.map((l) => <span class={l.kind} data-a={l.a} data-b={l.b}>
    {plain || l.kind === "hunk" || l.kind === "file" || !l.shown ? l.shown : drawn(l.shown)}{"\n"}</span>)}</pre>;
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

// Rows shows as many of count rows as fit, of one height, or of that which tall gives. It brings row at into view when
// another is chosen, and keeps it there while rows come and go; a person who has scrolled away from it stays where they
// are.
export function Rows({ count, height, tall, row, label, at, chosen, role = "listbox", near }) {
  const box = useRef(null);
  const last = useRef({});
  const [view, setView] = useState({ top: 0, size: 800 });
  const tops = useMemo(() => {
    if (!tall) return null;
    const t = new Float64Array(count + 1);
    for (let i = 0; i < count; i++) t[i + 1] = t[i] + tall(i);
    return t;
  }, [tall, count]);
  const top = (i) => (tops ? tops[i] : i * height);
  const under = (y) => { // the row at a place
    if (!tops) return Math.floor(y / height);
    let a = 0, b = count;
    while (a < b) { const m = (a + b) >> 1; if (tops[m + 1] <= y) a = m + 1; else b = m; }
    return a;
  };
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
    if (at === undefined || at < 0 || at >= count) return;
    const away = (i) => (top(i) < b.scrollTop ? -1 : top(i + 1) > b.scrollTop + b.clientHeight ? 1 : 0);
    if (before.chosen === chosen && before.at < count && away(before.at)) return;
    if (away(at) < 0) b.scrollTop = top(at);
    else if (away(at) > 0) b.scrollTop = top(at + 1) - b.clientHeight;
  }, [at, chosen]);
  const from = Math.max(0, under(view.top) - 5), to = Math.min(count, under(view.top + view.size) + 6);
  const shown = [];
  for (let i = from; i < to; i++) shown.push(row(i, { top: `${top(i)}px`, height: `${top(i + 1) - top(i)}px` }));
  return (
    <div class="rows" ref={box} onScroll={look} role={role} aria-label={label} tabIndex={0}>
      <div class="all" role="presentation" style={{ height: `${top(count)}px` }}>{shown}</div>
    </div>
  );
}
