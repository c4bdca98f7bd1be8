// What a unified diff says, line by line.
import { shown } from "./values.js";

const mostPaired = 500, mostCompared = 40000;

// diffLines gives each line with its kind, and with the words marked in which it
// differs from the line that it replaces. How many lines a hunk has says which
// lines are of it: a line that is taken out may begin with two more dashes.
export function diffLines(text) {
  const lines = [];
  let before = 0, after = 0, a = 0, b = 0;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = before <= 0 && after <= 0 && /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    const at = {};
    let kind = { "+": "plus", "-": "minus" }[line[0]] || "same";
    if (hunk) {
      kind = "hunk";
      [a, before, b, after] = [+hunk[1], +(hunk[2] ?? 1), +hunk[3], +(hunk[4] ?? 1)];
    } else if (before > 0 || after > 0) {
      if (line[0] === "\\") kind = "none";
      if (kind === "same" || kind === "minus") { before--; at.a = a++; }
      if (kind === "same" || kind === "plus") { after--; at.b = b++; }
    } else if (/^(\+\+\+|---) /.test(line)) kind = "file";
    lines.push({ kind, text: line, shown: line, ...at });
  }
  for (const [gone, come] of blocks(lines)) {
    if (gone.length === come.length && gone.length <= mostPaired) gone.forEach((l, i) => mark(l, come[i]));
  }
  return lines;
}

// blocks are the lines that go together with those that come in their place.
function* blocks(lines) {
  for (let i = 0; i < lines.length;) {
    const gone = run(lines, i, "minus"), come = run(lines, i + gone.length, "plus");
    if (gone.length && come.length) yield [gone, come];
    i += gone.length + come.length || 1;
  }
}

function run(lines, from, kind) {
  let to = from;
  while (to < lines.length && lines[to].kind === kind) to++;
  return lines.slice(from, to);
}

// inRows are the lines side by side; a line of both sides is there twice.
export function inRows(lines) {
  const rows = [];
  for (let i = 0; i < lines.length;) {
    const gone = run(lines, i, "minus"), come = run(lines, i + gone.length, "plus");
    for (let n = 0; n < Math.max(gone.length, come.length); n++) rows.push([gone[n], come[n]]);
    i += gone.length + come.length;
    if (!gone.length && !come.length) rows.push([lines[i], lines[i++]]);
  }
  return rows;
}

function mark(gone, come) {
  const a = words(gone.text), b = words(come.text), [inA, inB] = kept(a, b);
  if (!inA.some((k, i) => k && /\S/.test(a[i]))) return; // nothing of it is left
  gone.shown = ["-", ...parts(a, inA)];
  come.shown = ["+", ...parts(b, inB)];
}

const words = (line) => line.slice(1).match(/[\p{L}\p{N}_]+|\s+|./gu) || [];

// kept says of the words of both which the other has too, in the same order.
function kept(a, b) {
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const of = (words) => words.map((_, i) => i < head || i >= words.length - tail);
  const inA = of(a), inB = of(b), rows = a.length - head - tail, columns = b.length - head - tail;
  if (!rows || !columns || rows * columns > mostCompared) return [inA, inB];
  const most = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i--) for (let j = columns - 1; j >= 0; j--) {
    most[i][j] = a[head + i] === b[head + j] ? most[i + 1][j + 1] + 1 : Math.max(most[i + 1][j], most[i][j + 1]);
  }
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (a[head + i] === b[head + j]) inA[head + i++] = inB[head + j++] = true;
    else if (most[i + 1][j] >= most[i][j + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

// parts are a line's words, those marked that are in it alone.
function parts(words, kept) {
  const all = [];
  for (let i = 0; i < words.length;) {
    let to = i + 1;
    while (to < words.length && kept[to] === kept[i]) to++;
    const text = words.slice(i, to).join("");
    all.push(kept[i] ? text : <mark>{coloured(text)}</mark>);
    i = to;
  }
  return all;
}

// nameIn is a file's name as a diff has it: in quotes, byte by byte, where it is not plain. What hides or turns text is
// written out.
function nameIn(text) {
  const name = text.slice(4).trim();
  if (!/^".*"$/.test(name)) return name;
  const bytes = [];
  for (const [, octal, one, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gu)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else bytes.push(...new TextEncoder().encode(one ? { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" }[one] || one : plain));
  }
  return shown(new TextDecoder().decode(new Uint8Array(bytes)).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`));
}

// files are the parts of a diff that are about one file each, with how many lines are added and taken out. Lines before
// the first, and a file whose two names do not belong together, keep all that they say.
export function files(lines) {
  const all = [];
  for (let i = 0; i < lines.length; i++) {
    const l = lines[i], next = lines[i + 1];
    const [, from, to] = l.kind === "file" && next?.kind === "file" ? [0, nameIn(l.text), nameIn(next.text)] : [];
    const a = from?.replace(/^a\//, ""), b = to?.replace(/^b\//, "");
    const name = from && (a === b || a === "/dev/null" ? b : b === "/dev/null" ? a : "");
    if (name) {
      all.push({ name, gone: b === "/dev/null", fresh: a === "/dev/null", plus: 0, minus: 0, lines: [] });
      i++;
      continue;
    }
    if (!all.length) all.push({ name: "", plus: 0, minus: 0, lines: [] });
    const of = all.at(-1);
    of.lines.push(l);
    if (l.kind === "plus") of.plus++;
    if (l.kind === "minus") of.minus++;
  }
  return all;
}

const token = /(\/\/.*|(?:^|\s)#.*|--\s.*|\/\*.*?\*\/)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|\b(abstract|as|async|await|begin|break|case|catch|class|const|continue|def|default|defer|del|do|elif|else|end|enum|except|export|extends|false|fi|final|finally|fn|for|from|func|function|go|if|impl|implements|import|in|interface|is|lambda|let|local|match|mod|mut|new|nil|none|not|null|or|package|pass|private|protected|pub|public|raise|return|select|self|static|struct|super|switch|then|this|throw|trait|true|try|type|undefined|use|var|void|where|while|with|yield)\b/g;

// coloured is a piece of code with its words, texts and remarks apart.
export function coloured(text) {
  const all = [];
  let last = 0;
  for (const m of text.matchAll(token)) {
    if (m.index > last) all.push(text.slice(last, m.index));
    all.push(<span class={m[1] ? "rem" : m[2] ? "str" : "word"}>{m[0]}</span>);
    last = m.index + m[0].length;
  }
  if (last < text.length) all.push(text.slice(last));
  return all;
}
