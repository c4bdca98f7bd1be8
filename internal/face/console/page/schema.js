// What a field of a form is, by its JSON Schema. The host alone says what is valid:
// here is only decided how a value can be typed.
import { Num, plainly, write } from "./values.js";

const most = 16; // how deep a form goes before it asks for JSON

// resolve follows references and takes what must all hold together. What no field
// can be made of has a reason.
export function resolve(schema, root, seen = 0) {
  if (schema === undefined || schema === true) return {};
  if (schema === false) return { never: true };
  if (typeof schema !== "object" || schema === null) return { reason: "the schema is invalid here" };
  if (seen > most) return { reason: "the schema refers to itself" };
  let { $ref, allOf, ...whole } = schema;
  if ($ref !== undefined) {
    const target = at($ref, root);
    if (target === undefined) return { ...whole, reason: `the schema refers to ${$ref}, which is not part of it` };
    whole = merge(resolve(target, root, seen + 1), whole);
  }
  for (const part of Array.isArray(allOf) ? allOf : []) whole = merge(whole, resolve(part, root, seen + 1));
  return whole;
}

function at(ref, root) {
  if (ref === "#") return root;
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  let found = root;
  for (const part of ref.slice(2).split("/")) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (found === null || typeof found !== "object" || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

function merge(a, b) {
  const both = { ...a, ...b };
  if (a.properties && b.properties) both.properties = { ...a.properties, ...b.properties };
  if (a.required && b.required) both.required = [...new Set([...a.required, ...b.required])];
  return both;
}

// field says how a value is typed: kind, and what that needs.
export function field(schema, root, depth = 0) {
  const s = resolve(schema, root);
  const json = (reason) => ({ kind: "json", s, reason });
  if (s.reason) return json(s.reason);
  if (s.never) return { kind: "never", s };
  if (depth > most) return json("it is nested too deeply for a form");
  if ("const" in s) return { kind: "enum", s, values: [plainly(s.const)] };
  if (Array.isArray(s.enum)) return { kind: "enum", s, values: s.enum.map(plainly) };
  const choices = [s.oneOf, s.anyOf].find((c) => Array.isArray(c) && c.length > 0);
  if (choices) {
    const { oneOf, anyOf, ...base } = s;
    const forms = choices.map((c) => merge(base, resolve(c, root)));
    // Those that only say which properties go together are one form.
    const same = choices.every((c) => c && typeof c === "object" && Object.keys(c).every((k) => k === "required" || k === "not" || k === "title" || k === "description"));
    if (!(same && base.properties)) {
      if (forms.every((f) => "const" in f)) return { kind: "enum", s, values: forms.map((f) => plainly(f.const)), titles: forms.map((f) => f.title) };
      return forms.length === 1 ? field(forms[0], root, depth) : { kind: "choice", s, forms };
    }
  }
  if (Array.isArray(s.type)) {
    if (s.type.length === 1) return field({ ...s, type: s.type[0] }, root, depth);
    if (s.type.length > 1) return { kind: "choice", s, forms: s.type.map((type) => ({ ...s, title: type, type })) };
  }
  switch (s.type || (s.properties || s.additionalProperties || s.patternProperties ? "object" : s.items || s.prefixItems ? "array" : "")) {
    case "string": return { kind: "string", s };
    case "integer": case "number": return { kind: "number", s };
    case "boolean": return { kind: "enum", s, values: [true, false] };
    case "null": return { kind: "enum", s, values: [null] };
    case "object": return { kind: "object", s, ...object(s) };
    case "array": return { kind: "array", s };
    case "": return json("any value is allowed here");
  }
  return json(`${JSON.stringify(s.type)} is not a type that a form has`);
}

// object gives the properties of an object, and what others may be.
function object(s) {
  const names = s.properties && typeof s.properties === "object" ? Object.keys(s.properties) : [];
  const patterns = s.patternProperties ? Object.values(s.patternProperties) : [];
  let others = s.additionalProperties;
  if (others === undefined || others === false) others = patterns.length ? patterns.length === 1 ? patterns[0] : true : names.length || others === false ? undefined : true;
  return { names, others, required: new Set(Array.isArray(s.required) ? s.required : []) };
}

export const itemOf = (s, i) => Array.isArray(s.prefixItems) && i < s.prefixItems.length ? s.prefixItems[i]
  : Array.isArray(s.items) ? s.items[i] ?? s.additionalItems ?? true : s.items ?? true;

// first is what a value begins as when somebody adds it.
export function first(schema, root, depth = 0) {
  const f = field(schema, root, depth);
  if (f.s.default !== undefined) return plainly(f.s.default);
  switch (f.kind) {
    case "string": return "";
    case "number": return new Num(String(f.s.minimum ?? 0));
    case "enum": return f.values[0];
    case "array": return [];
    case "choice": return first(f.forms[0], root, depth + 1);
    case "object": {
      const made = new Map();
      for (const name of f.names) {
        const inner = f.required.has(name) && field(f.s.properties[name], root, depth + 1);
        if (inner && (inner.kind === "object" || inner.kind === "array" || (inner.kind === "enum" && inner.values.length === 1))) {
          made.set(name, first(f.s.properties[name], root, depth + 1));
        }
      }
      return made;
    }
  }
  return null;
}

// fits says how well a value is one of a schema, to choose among forms.
export function fits(schema, root, v, depth = 0) {
  const f = field(schema, root, depth);
  switch (f.kind) {
    case "string": return typeof v === "string" ? 2 : -9;
    case "number": return v instanceof Num ? (f.s.type === "integer" && /[.eE]/.test(v.text) ? 1 : 2) : -9;
    case "enum": return f.values.some((x) => write(x) === write(v)) ? 4 : -9;
    case "array": return !Array.isArray(v) ? -9 : v.length ? 2 + Math.min(...v.map((x, i) => fits(itemOf(f.s, i), root, x, depth + 1))) : 2;
    case "choice": return Math.max(...f.forms.map((g) => fits(g, root, v, depth + 1)));
    case "object": {
      if (!(v instanceof Map)) return -9;
      let score = 2;
      for (const name of f.required) if (v.get(name) === undefined) score -= 2;
      for (const [name, x] of v) {
        if (f.names.includes(name)) score += fits(f.s.properties[name], root, x, depth + 1) > 0 ? 1 : -3;
        else if (f.others === undefined) score -= 2;
      }
      return score;
    }
    case "never": return -9;
  }
  return 0;
}
