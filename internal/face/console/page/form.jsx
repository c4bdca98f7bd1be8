import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { field, first, fits, itemOf } from "./schema.js";
import { Num, Raw, escaped, hides, join, shown, write } from "./values.js";

// Form is a form for the object that a schema describes. Violations are shown at
// their fields, or at the nearest that there is.
export function Form({ schema, value, set, violations }) {
  const box = useRef(null);
  const [placed, setPlaced] = useState(new Map());
  useLayoutEffect(() => {
    const paths = [...box.current.querySelectorAll("[data-path]")].map((e) => e.dataset.path);
    const next = new Map();
    for (const v of violations) {
      const at = paths.filter((p) => v.path === p || v.path.startsWith(p + ".") || v.path.startsWith(p + "["))
        .sort((a, b) => b.length - a.length)[0] ?? "";
      next.set(at, [...(next.get(at) || []), at === v.path ? v.message : `${v.path}: ${v.message}`]);
    }
    setPlaced(next);
    if (violations.length) box.current.querySelector(`[data-path="${CSS.escape([...next.keys()][0])}"] :is(input,textarea,select,button)`)?.focus();
  }, [violations]);
  return (
    <div class="form" ref={box}>
      <Wrong of={placed.get("")} />
      <Inner {...{ schema, root: schema, value, set, path: "", depth: 0, placed, label: "Parameters", required: true }} />
    </div>
  );
}

function Wrong({ of, id }) {
  return of ? <div class="wrong" id={id} role="alert">{of.map((m) => <div>{shown(m)}</div>)}</div> : null;
}

// Field is a value with its name, what it is, and what is wrong with it.
function Field({ name, label, remove, ...p }) {
  const id = useId();
  const f = field(p.schema, p.root, p.depth);
  const wrong = p.placed.get(p.path);
  const group = f.kind === "object" || f.kind === "array" || f.kind === "choice";
  const Box = group ? "fieldset" : "div", Name = group ? "legend" : "label";
  const given = p.value !== undefined;
  return (
    <Box class="field" data-path={p.path}>
      <Name for={group ? undefined : id}><span class="name">{shown(label ?? name)}</span>{" "}
        <span class="hint">{what(f)}{p.required && ", required"}</span></Name>{" "}
      {remove}
      {!remove && given && !p.required && <button class="small" onClick={() => p.set(undefined)} aria-label={`Leave out ${shown(name)}`}>Leave out</button>}
      {!given && (group || f.kind === "string") && <button class="small" onClick={() => p.set(first(p.schema, p.root))}
        aria-label={`${group ? "Add" : "Give an empty text"}: ${shown(name)}`}>{group ? "Add" : "Give an empty text"}</button>}
      {(given || !group) && <Inner {...p} id={id} label={shown(label ?? name)} invalid={!!wrong} />}
      {f.s.description && <p class="about">{shown(f.s.description)}</p>}
      <Wrong of={wrong} id={id + "w"} />
    </Box>
  );
}

function what(f) {
  if (f.kind === "enum" && f.s.type === "boolean") return "true or false";
  const type = { number: f.s.type || "number", string: "text", enum: "one of", object: "object", array: "list", choice: "one of several", json: "JSON", never: "must not be given" }[f.kind];
  const limits = [["minimum", "at least"], ["maximum", "at most"], ["exclusiveMinimum", "more than"], ["exclusiveMaximum", "less than"],
    ["minLength", "at least", "characters"], ["maxLength", "at most", "characters"], ["minItems", "at least", "items"], ["maxItems", "at most", "items"],
    ["pattern", "matches"], ["format", "as"]];
  return [type, ...limits.filter(([k]) => f.s[k] !== undefined).map(([k, words, unit]) => `${words} ${shown(f.s[k])}${unit ? ` ${unit}` : ""}`),
    f.s.default !== undefined && `default ${shown(JSON.stringify(f.s.default))}`].filter(Boolean).join(", ");
}

// Inner is the part in which one types.
function Inner(p) {
  const f = field(p.schema, p.root, p.depth);
  const { value, set } = p;
  const known = value === undefined || ({ string: typeof value === "string" && !hides(value), number: value instanceof Num,
    object: value instanceof Map, array: Array.isArray(value), enum: !(value instanceof Raw), choice: !(value instanceof Raw) }[f.kind]);
  if (f.kind === "json" || f.kind === "never" || !known) return <Json {...p} reason={f.reason || (f.kind === "never" ? "" : "what is here does not fit this field")} />;
  const control = { id: p.id, "aria-label": p.id ? undefined : p.label, "aria-invalid": p.invalid || undefined, "aria-describedby": p.invalid ? p.id + "w" : undefined };
  switch (f.kind) {
    case "string":
      return <textarea {...control} rows={Math.min(14, (value || "").split("\n").length)} value={value ?? ""} spellcheck={false}
        placeholder={value === undefined ? "not given" : "empty text"} onInput={(e) => set(e.target.value)} />;
    case "number":
      return <input {...control} inputMode="decimal" value={value ? value.text : ""} placeholder="not given"
        onInput={(e) => set(e.target.value.trim() === "" ? undefined : new Num(e.target.value.trim()))} />;
    case "enum": {
      const at = value === undefined ? -1 : f.values.findIndex((x) => write(x) === write(value));
      return (
        <select {...control} value={String(value !== undefined && at < 0 ? -2 : at)} onChange={(e) => set(e.target.value < 0 ? undefined : f.values[e.target.value])}>
          <option value="-1">not given</option>
          {value !== undefined && at < 0 && <option value="-2">{shown(write(value))}</option>}
          {f.values.map((x, i) => <option value={String(i)}>{shown(typeof x === "string" ? x : write(x))}{f.titles?.[i] && f.titles[i] !== x ? ` (${shown(f.titles[i])})` : ""}</option>)}
        </select>
      );
    }
    case "choice": return <Choice {...p} f={f} />;
    case "array": return <List {...p} f={f} />;
  }
  return <Properties {...p} f={f} />;
}

function Json({ value, set, reason, id, label, invalid }) {
  return (
    <>
      {reason && <p class="hint">As JSON: {shown(reason)}.</p>}
      <textarea class="json" id={id} aria-label={id ? undefined : label} aria-invalid={invalid || undefined} aria-describedby={invalid ? id + "w" : undefined}
        rows={Math.min(14, value === undefined ? 1 : write(value, true).split("\n").length)} spellcheck={false}
        value={value === undefined ? "" : escaped(value instanceof Raw ? value.text : write(value, true))} placeholder="not given"
        onInput={(e) => set(typed(e.target.value))} />
    </>
  );
}

// typed is a value as soon as it is JSON, and until then what was typed.
function typed(text) {
  return text.trim() === "" ? undefined : new Raw(text);
}

function Choice(p) {
  const best = () => {
    const scores = p.f.forms.map((s) => p.value === undefined ? 0 : fits(s, p.root, p.value, p.depth + 1));
    return scores.indexOf(Math.max(...scores));
  };
  const [at, setAt] = useState(best);
  useEffect(() => { if (p.value !== undefined && fits(p.f.forms[at], p.root, p.value, p.depth + 1) < 0) setAt(best()); }, [p.value]);
  const form = p.f.forms[at] || p.f.forms[0];
  return (
    <>
      <select aria-label={`Form of ${p.label}`} value={String(at)} onChange={(e) => { setAt(+e.target.value); p.set(first(p.f.forms[+e.target.value], p.root)); }}>
        {p.f.forms.map((s, i) => <option value={String(i)}>{nameOf(s, p.root, i)}</option>)}
      </select>
      <Inner {...p} key={at} schema={form} depth={p.depth + 1} />
    </>
  );
}

function nameOf(schema, root, i) {
  const f = field(schema, root);
  if (f.s.title) return shown(f.s.title);
  const constant = f.kind === "object" && f.names.map((n) => f.s.properties[n]).find((s) => s && typeof s === "object" && "const" in s);
  return `${i + 1}: ${constant ? shown(JSON.stringify(constant.const)) : what(f)}`;
}

function List(p) {
  const items = p.value || [];
  const put = (i, v) => p.set(items.map((x, j) => j === i ? v : x));
  const swap = (i) => p.set(items.map((x, j) => j === i ? items[i - 1] : j === i - 1 ? items[i] : x));
  return (
    <>
      {items.map((item, i) => (
        <Field key={i} name={`${p.label} ${i + 1}`} schema={itemOf(p.f.s, i)} root={p.root} value={item} set={(v) => put(i, v === undefined ? null : v)}
          path={`${p.path}[${i}]`} depth={p.depth + 1} placed={p.placed} required
          remove={<><button class="small" onClick={() => p.set(items.filter((_, j) => j !== i))} aria-label={`Remove ${p.label} ${i + 1}`}>Remove</button>{" "}
            {i > 0 && <button class="small" onClick={() => swap(i)} aria-label={`Move ${p.label} ${i + 1} up`}>Up</button>}</>} />))}
      <button class="small" onClick={() => p.set([...items, first(itemOf(p.f.s, items.length), p.root)])} aria-label={`Add to ${p.label}`}>Add an item</button>
    </>
  );
}

function Properties(p) {
  const { f } = p;
  const value = p.value || new Map();
  const put = (name, v) => {
    const next = new Map(value);
    if (v === undefined) next.delete(name); else next.set(name, v);
    p.set(next);
  };
  const more = [...value.keys()].filter((name) => !f.names.includes(name));
  const [name, setName] = useState("");
  const fieldFor = (n, schema, extra) => <Field key={n} name={n} schema={schema} root={p.root} value={value.get(n)} set={(v) => put(n, v)}
    path={join(p.path, n)} depth={p.depth + 1} placed={p.placed} required={f.required.has(n)} {...extra} />;
  const add = (e) => {
    e.preventDefault();
    if (!value.has(name)) put(name, first(f.others, p.root));
    setName("");
  };
  return (
    <>
      {f.names.map((n) => fieldFor(n, f.s.properties[n]))}
      {more.map((n) => fieldFor(n, f.others === undefined ? true : f.others,
        { required: true, remove: <button class="small" onClick={() => put(n, undefined)} aria-label={`Remove ${shown(n)}`}>Remove</button> }))}
      {f.others !== undefined && <form class="add" onSubmit={add}><label>Name <input value={name} onInput={(e) => setName(e.target.value)} /></label>
        <button class="small" disabled={value.has(name)}>Add a property to {p.label}</button></form>}
      {!f.names.length && !more.length && f.others === undefined && <p class="hint">It has no parameters.</p>}
    </>
  );
}
