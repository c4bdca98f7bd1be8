import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";
import { Piece, Problem } from "./parts.jsx";

const titles = { result: "Result", params: "Parameters", plan: "Plan" };

// Pieces shows what is too large to be sent whole: each part is asked for when it
// is opened.
export function Pieces({ at, of, bytes }) {
  return (
    <>
      <h2>{titles[of]}</h2>
      <p class="hint">It has {bytes.toLocaleString()} bytes, and is shown in pieces.</p>
      <Part at={{ ...at, of }} name={titles[of]} path="" open={4} />
    </>
  );
}

// Part is one part of it. open says how many levels open by themselves, as long as
// there are few ways to go.
function Part({ at, name, path, kind, open }) {
  const [shown, setShown] = useState(open > 0);
  const [got, setGot] = useState(null);
  const [piece, setPiece] = useState(0);
  const [failed, setFailed] = useState(null);
  useEffect(() => {
    if (!shown) return;
    const stop = new AbortController();
    get("/api/piece", { ...at, path, piece: String(piece) }, stop.signal).then((p) => { setGot(p); setFailed(null); },
      (e) => e.name === "AbortError" || setFailed(e));
    return () => stop.abort();
  }, [shown, path, piece]);
  const text = (got ? got.kind : kind) === "text";
  return (
    <details class="tree" open={shown} onToggle={(e) => setShown(e.currentTarget.open)}>
      <summary><span class="name">{name}: </span>{got ? words(got) : kind ? words(kind) : ""}</summary>
      <Problem of={failed} />
      {shown && got && text && <Piece text={got.text} label={name} at={piece} count={got.pieces} go={setPiece} from={got.from} to={got.to} size={got.size} unit="bytes" />}
      {shown && got && !text && got.parts.map((p, i) => (p.kind
        ? <Part key={`${got.from + i}`} at={at} name={p.name} kind={p} path={path ? `${path}.${got.from + i}` : String(got.from + i)} open={got.parts.length <= 3 ? open - 1 : 0} />
        : <div class="leaf"><span class="name">{p.name}: </span><code>{p.value}</code></div>))}
      {shown && got && !text && got.pieces > 1 && <div class="bar">
        <button class="small" disabled={!piece} onClick={() => setPiece(piece - 1)}>Back</button>
        <button class="small" disabled={piece + 1 >= got.pieces} onClick={() => setPiece(piece + 1)}>Next</button>
        <span class="hint" role="status">{(got.from + 1).toLocaleString()} to {got.to.toLocaleString()} of {got.size.toLocaleString()} parts</span></div>}
    </details>
  );
}

const words = ({ kind, size }) => (kind === "text" ? `text of ${size.toLocaleString()} bytes` : kind === "list" ? `[${size.toLocaleString()}]` : `{${size.toLocaleString()}}`);
