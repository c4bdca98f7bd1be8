// Values of JSON as a form holds them: numbers as they were written, objects as
// maps, and what is not given as undefined.

export class Num { constructor(text) { this.text = text; } }

// Raw is what somebody has typed where a field takes any JSON.
export class Raw { constructor(text) { this.text = text; } }

export function read(text) {
  return JSON.parse(text, function (_, v, at) {
    if (typeof v === "number") return new Num(at && at.source !== undefined ? at.source : JSON.stringify(v));
    return v && typeof v === "object" && !Array.isArray(v) && !(v instanceof Num) ? new Map(Object.entries(v)) : v;
  });
}

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

// write gives JSON, over several lines where pretty. A number that is none goes as
// the text that it is, and is refused as such.
export function write(v, pretty = false, indent = "\n") {
  const inner = pretty ? indent + "  " : "";
  const list = (open, parts, close) => parts.length
    ? open + inner + parts.join("," + inner) + (pretty ? indent : "") + close : open + close;
  if (v === undefined) return "null";
  if (v instanceof Num) return number.test(v.text) ? v.text : JSON.stringify(v.text);
  if (v instanceof Raw) return v.text;
  if (Array.isArray(v)) return list("[", v.map((x) => write(x, pretty, inner)), "]");
  if (!(v instanceof Map)) return JSON.stringify(v);
  return list("{", [...v].filter(([, x]) => x !== undefined)
    .map(([name, x]) => JSON.stringify(name) + (pretty ? ": " : ":") + write(x, pretty, inner)), "}");
}

// broken are the places where what was typed is no JSON.
export function broken(v, path = "", found = []) {
  if (v instanceof Raw) {
    try { JSON.parse(v.text); } catch (e) { found.push({ path, message: "is not valid JSON: " + e.message }); }
  } else if (Array.isArray(v)) v.forEach((x, i) => broken(x, `${path}[${i}]`, found));
  else if (v instanceof Map) v.forEach((x, name) => broken(x, join(path, name), found));
  return found;
}

// join names a property as toolhost does in what it reports.
export const join = (path, name) => path ? `${path}.${name}` : name;

// plainly is a value read from JSON, of what JSON.parse gives without read.
export const plainly = (v) => read(JSON.stringify(v));

const hidden = /[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f]/gu;

// shown has what hides or turns text written out.
export const shown = (text) => String(text).replace(hidden, (c) => c === "\n" || c === "\t" ? c
  : c.codePointAt(0) > 0xffff ? `\\U${c.codePointAt(0).toString(16).padStart(8, "0")}` : `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);

// hides reports whether a text box would not show a text as it is.
export const hides = (text) => shown(text) !== text;

// escaped is JSON with what hides or turns text escaped: the same value.
export const escaped = (json) => json.replace(hidden, (c) => c === "\n" || c === "\t" ? c
  : [...Array(c.length).keys()].map((i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, "0")}`).join(""));
