import { useMemo, useState } from "preact/hooks";
import { Text } from "./parts.jsx";

const some = 200, whole = 300, few = 20, long = 10_000;

// Tree shows JSON, of which each part is opened and closed. Only what is open is
// on the page, and of what is large only the first part is.
export function Tree({ of, name, all, inside }) {
  const open0 = useMemo(() => all || !inside || within(of, few) >= 0, []);
  const [open, setOpen] = useState(open0);
  const [count, setCount] = useState(some);
  const every = useMemo(() => all || within(of, whole) >= 0, [of]);
  const label = name === undefined ? "" : `${name}: `;
  if (typeof of === "string" && of.length > long) return <div class="leaf"><span class="name">{label}</span><Text of={of} label={label || "Text"} /></div>;
  if (of === null || typeof of !== "object") {
    return <div class="leaf"><span class="name">{label}</span><code>{typeof of === "string" ? `"${of}"` : String(of)}</code></div>;
  }
  const parts = Array.isArray(of) ? of : Object.keys(of);
  const size = parts.length;
  return (
    <details class="tree" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><span class="name">{label}</span>{Array.isArray(of) ? `[${size}]` : `{${size}}`}</summary>
      {open && parts.slice(0, count).map((part, i) => (Array.isArray(of) ? <Tree key={i} name={i} of={part} all={every} inside />
        : <Tree key={part} name={part} of={of[part]} all={every} inside />))}
      {open && size > count && <button class="small" onClick={() => setCount(count + some)}>{size - count} more</button>}
    </details>
  );
}

// within gives how much room is left when all parts of a value are counted, and
// less than nothing where there are more.
function within(of, room) {
  if (of === null || typeof of !== "object") return room - 1;
  for (const name in of) if ((room = within(of[name], room)) < 0) return room;
  return room - 1;
}
