import { useState } from "preact/hooks";

const some = 200;

// Tree shows JSON, of which each part is opened and closed. Only what is open is
// on the page.
export function Tree({ of, name, closed }) {
  const [open, setOpen] = useState(!closed);
  const [count, setCount] = useState(some);
  const label = name === undefined ? "" : `${name}: `;
  if (of === null || typeof of !== "object") {
    return <div class="leaf"><span class="name">{label}</span><code>{typeof of === "string" ? `"${of}"` : String(of)}</code></div>;
  }
  const all = Object.entries(of);
  return (
    <details class="tree" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><span class="name">{label}</span>{Array.isArray(of) ? `[${all.length}]` : `{${all.length}}`}</summary>
      {open && all.slice(0, count).map(([key, value]) => <Tree key={key} name={key} of={value} closed={all.length > 30} />)}
      {open && all.length > count && <button class="small" onClick={() => setCount(count + 10 * some)}>{all.length - count} more</button>}
    </details>
  );
}
