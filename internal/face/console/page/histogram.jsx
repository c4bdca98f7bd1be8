import { useMemo, useRef, useState } from "preact/hooks";
import { go } from "./route.js";

const buckets = 80;

// Histogram shows how many calls there were when, and how many of them failed. Dragging over a time shows that alone;
// buttons do the same.
export function Histogram({ calls, since, until }) {
  const box = useRef(null);
  const [brush, setBrush] = useState(null); // two parts of the width
  const { bars, first, last, most } = useMemo(() => {
    const first = since || calls.at(-1)?.began || 0, last = Math.max(until || calls[0]?.began || 0, first + 1000);
    const bars = Array.from({ length: buckets }, () => [0, 0]);
    for (const c of calls) {
      const bar = bars[Math.min(buckets - 1, Math.floor((c.began - first) / (last - first) * buckets))];
      if (!bar) continue;
      bar[0]++;
      if (!["success", "running", "dry run", "asks"].includes(c.status)) bar[1]++;
    }
    return { bars, first, last, most: Math.max(1, ...bars.map(([n]) => n)) };
  }, [calls, since, until]);
  if (!calls.length && !since) return null;
  const part = (e) => { const r = box.current.getBoundingClientRect(); return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)); };
  const choose = (a, b) => go({ from: String(Math.round(a)), until: String(Math.round(b)), since: "" });
  const timeAt = (p) => first + p * (last - first);
  const release = () => {
    if (brush && Math.abs(brush[1] - brush[0]) > .01) choose(timeAt(Math.min(...brush)), timeAt(Math.max(...brush)));
    setBrush(null);
  };
  const middle = (first + last) / 2, span = last - first;
  const label = (micro) => new Date(micro / 1000).toLocaleString([], span > 1728e8 ? { month: "short", day: "numeric", hour: "2-digit", hour12: false } : { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return (
    <>
      <div class="hist" ref={box} role="img" aria-label={`${calls.length} calls from ${label(first)} to ${label(last)}`}
        onPointerDown={(e) => { box.current.setPointerCapture(e.pointerId); setBrush([part(e), part(e)]); }}
        onPointerMove={(e) => brush && setBrush([brush[0], part(e)])} onPointerUp={release}>
        {bars.map(([n, bad], i) => <b key={i} style={{ height: n ? `${Math.max(8, 100 * n / most)}%` : "1px" }}>{bad > 0 && <i style={{ height: `${Math.max(20, 100 * bad / n)}%` }} />}</b>)}
        {brush && <span class="brush" style={{ left: `${100 * Math.min(...brush)}%`, width: `${100 * Math.abs(brush[1] - brush[0])}%` }} />}
      </div>
      <div class="axis"><span>{label(first)}</span>
        <span><button class="quiet small" onClick={() => choose(middle - span / 4, middle + span / 4)}>Zoom in</button>
          <button class="quiet small" onClick={() => choose(first - span / 2, last - span / 2)}>Earlier</button>
          {(since || until) ? <button class="quiet small" onClick={() => go({ from: "", until: "", since: "" })}>All, live</button> : null}</span>
        <span>{label(last)}</span></div>
    </>
  );
}
