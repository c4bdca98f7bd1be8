import { useEffect, useMemo, useRef, useState } from "preact/hooks";

const lane = 16, most = 8, axis = 16;
const laneOf = (c) => `${c.space}/${c.session}`; // workspaces and forks have sessions of one name

// summed are the lanes of calls, their names, and the time that they are in.
function summed(calls) {
  const names = new Map();
  let first = Infinity, last = 0;
  for (const c of calls) {
    const lane = laneOf(c);
    if (!names.has(lane)) names.set(lane, c.fork ? `${c.fork} · ${c.session}` : c.session);
    first = Math.min(first, c.began);
    last = Math.max(last, c.began + (c.took || 0) * 1000);
  }
  return { names, sessions: [...names.keys()], first, last };
}

// Lanes shows the calls as spans, a lane for each session, and below them in their
// lanes, as lines, tasks and plugins from their start to their end. Who drags over a time
// sees that alone; the wheel zooms, and so do the buttons.
export function Lanes({ calls, spans, since, until, choose }) {
  const canvas = useRef(null);
  const [width, setWidth] = useState(0);
  const [brush, setBrush] = useState(null); // two places, in pixels
  const [at, setAt] = useState(null);
  const [scheme, setScheme] = useState("");
  const { sessions, names, first, last } = useMemo(() => summed(calls), [calls]);
  const shown = sessions.slice(0, most), rows = new Map(shown.map((s, i) => [s, i]));
  const now = Date.now() * 1000;
  const ends = (c) => c.status === "running" ? now : c.began + c.took * 1000;
  const lives = spans.filter((s) => rows.has(laneOf(s)) && s.began >= first);
  const tasks = Math.max(last, ...lives.filter((s) => s.kind === "task").map((s) => s.ended || now));
  const from = since || first, to = until || Math.max(tasks, calls.some((c) => c.status === "running") ? now : last);
  const span = Math.max(1000, to - from);
  const left = Math.min(120, width / 4);
  const x = (t) => left + (t - from) / span * (width - left - 4);
  const timeAt = (px) => Math.round(from + (px - left) / Math.max(1, width - left - 4) * span);
  const height = Math.max(1, shown.length) * lane + axis;
  useEffect(() => {
    const watch = new ResizeObserver(() => setWidth(canvas.current?.clientWidth || 0));
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => { // a canvas keeps its colours until it is drawn again
    const dark = matchMedia("(prefers-color-scheme: dark)"), turn = () => setScheme(String(dark.matches));
    dark.addEventListener("change", turn);
    return () => dark.removeEventListener("change", turn);
  }, []);
  useEffect(() => {
    const c = canvas.current, scale = devicePixelRatio || 1;
    if (!width || !calls.length) return;
    c.width = width * scale;
    c.height = height * scale;
    draw(c.getContext("2d"), scale);
  }, [calls, spans, width, brush, scheme, since, until]);
  function draw(g, scale) {
    const style = getComputedStyle(canvas.current), colour = (name) => style.getPropertyValue(name) || style.color;
    g.scale(scale, scale);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const [ink, faint, mark, stop] = ["--ink", "--faint", "--mark", "--stop"].map((n) => lightOrDark(colour(n), canvas.current));
    shown.forEach((s, i) => { g.fillStyle = faint; g.fillText(fit(g, names.get(s), left - 8), 4, i * lane + lane / 2); });
    const drawn = []; // by row: what would be drawn on the same place again is left out
    for (const c of calls) {
      const row = rows.get(laneOf(c));
      if (row === undefined) continue;
      const a = Math.max(left, x(c.began)), b = Math.max(a + 2, x(ends(c)));
      const bad = c.status !== "success" && c.status !== "running" && c.status !== "dry run";
      const before = drawn[row];
      if (before && c.status !== "running" && before.bad === bad && a >= before.a - .5 && b <= before.b) continue;
      drawn[row] = { a, b, bad };
      g.fillStyle = g.strokeStyle = bad ? stop : mark;
      const y = row * lane + 3;
      if (c.status === "running") g.strokeRect(a + .5, y + .5, b - a, lane - 7);
      else g.fillRect(a, bad ? y - 2 : y, b - a, bad ? lane - 2 : lane - 6); // what failed is higher, not only of another colour
    }
    for (const s of lives) {
      const a = Math.max(left, x(s.began)), b = Math.min(width, Math.max(a + 2, x(s.ended || now)));
      if (b <= left || a >= width) continue;
      const y = rows.get(laneOf(s)) * lane + (s.kind === "task" ? lane - 3 : lane - 1);
      g.fillStyle = failed(s) ? stop : s.kind === "task" ? mark : faint;
      g.fillRect(a, y, b - a, s.kind === "task" ? 2 : 1);
      if (failed(s)) g.fillRect(b - 2, y - 4, 2, 6); // an end that is seen without colour
    }
    g.fillStyle = faint;
    for (let i = 0, n = Math.max(1, Math.floor((width - left) / 160)); i <= n; i++) {
      const t = from + span * i / n, text = label(t, span);
      g.fillText(text, Math.min(x(t), width - g.measureText(text).width - 2), height - axis / 2);
    }
    if (brush) { g.globalAlpha = .2; g.fillStyle = ink; g.fillRect(Math.min(...brush), 0, Math.abs(brush[1] - brush[0]), height); g.globalAlpha = 1; }
  }
  const place = (e) => Math.max(left, e.clientX - canvas.current.getBoundingClientRect().left);
  const zoom = (factor, around = from + span / 2) => {
    const size = span * factor;
    choose(Math.round(around - (around - from) * factor), Math.round(around - (around - from) * factor + size));
  };
  const release = () => {
    if (brush && Math.abs(brush[1] - brush[0]) > 4) choose(timeAt(Math.min(...brush)), timeAt(Math.max(...brush)));
    setBrush(null);
  };
  const under = (e) => {
    const px = place(e), row = Math.floor((e.clientY - canvas.current.getBoundingClientRect().top) / lane);
    return calls.find((c) => laneOf(c) === shown[row] && x(c.began) - 2 <= px && px <= Math.max(x(ends(c)), x(c.began) + 2) + 2)
      || lives.find((s) => laneOf(s) === shown[row] && x(s.began) <= px && px <= x(s.ended || now));
  };
  return (
    <div class="lanes" role="group" aria-label="Lanes by session" hidden={!calls.length && !since}>
      <canvas ref={canvas} role="img" aria-label={`${calls.length} calls of ${sessions.length} sessions as spans; the list below has them all`}
        style={{ height: `${height}px` }} title={at ? (at.kind ? `${at.kind} ${at.name} · ${at.state}` : `${at.call} · ${at.status}`) : ""}
        onPointerDown={(e) => { canvas.current.setPointerCapture(e.pointerId); setBrush([place(e), place(e)]); }}
        onPointerMove={(e) => (brush ? setBrush([brush[0], place(e)]) : setAt(under(e)))} onPointerUp={release}
        onWheel={(e) => { e.preventDefault(); zoom(e.deltaY < 0 ? .7 : 1.4, timeAt(place(e))); }} />
      <div class="bar"><button class="small" onClick={() => zoom(.5)}>Zoom in</button><button class="small" onClick={() => zoom(2)}>Zoom out</button>
        <button class="small" onClick={() => choose(from - Math.round(span / 2), to - Math.round(span / 2))}>Earlier</button>
        <button class="small" disabled={!until} onClick={() => choose(from + Math.round(span / 2), to + Math.round(span / 2))}>Later</button>
        <button class="small" disabled={!since && !until} onClick={() => choose(0, 0)}>All, live</button>
        <span class="hint">{sessions.length > most ? `${most} of ${sessions.length} sessions. ` : ""}Drag to zoom.</span></div>
    </div>
  );
}

// lightOrDark gives the colour that light-dark() stands for: a canvas takes no such.
function lightOrDark(value, at) {
  const probe = at.parentElement;
  const before = probe.style.color;
  probe.style.color = value;
  const found = getComputedStyle(probe).color;
  probe.style.color = before;
  return found;
}

function fit(g, text, width) {
  if (g.measureText(text).width <= width) return text;
  while (text && g.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}

const failed = (s) => ["crashed", "failed", "unresponsive", "killed", "timed_out", "lost"].includes(s.state);

const label = (micro, span) => new Date(micro / 1000).toLocaleString([], span > 172800e6 ? { month: "short", day: "numeric", hour: "2-digit", hour12: false }
  : { hour: "2-digit", minute: "2-digit", second: span < 3600e6 ? "2-digit" : undefined, hour12: false });
