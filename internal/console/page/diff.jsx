// What a unified diff says, line by line.

const mostPaired = 500, mostCompared = 40000;

// diffLines gives each line with its kind, and with the words marked in which it
// differs from the line that it replaces. How many lines a hunk has says which
// lines are of it: a line that is taken out may begin with two more dashes.
export function diffLines(text) {
  const lines = [];
  let before = 0, after = 0;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = before <= 0 && after <= 0 && /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    let kind = { "+": "plus", "-": "minus" }[line[0]] || "same";
    if (hunk) {
      kind = "hunk";
      [before, after] = [+(hunk[1] ?? 1), +(hunk[2] ?? 1)];
    } else if (before > 0 || after > 0) {
      if (kind !== "plus" && line[0] !== "\\") before--;
      if (kind !== "minus" && line[0] !== "\\") after--;
    } else if (/^(\+\+\+|---) /.test(line)) kind = "file";
    lines.push({ kind, text: line, shown: line });
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
    all.push(kept[i] ? text : <mark>{text}</mark>);
    i = to;
  }
  return all;
}
