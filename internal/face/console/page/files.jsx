// Paths as a tree: what lies in one directory stands together below its name.
export function byDirectory(files) {
  const dirs = new Map();
  for (const f of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const cut = f.path.replace(/\/$/, "").lastIndexOf("/") + 1;
    const dir = f.path.slice(0, cut) || "./";
    dirs.set(dir, [...(dirs.get(dir) || []), { ...f, name: f.path.slice(cut) }]);
  }
  return [...dirs];
}

export function Tree({ of, row = (f) => <div class="row"><span /><code>{f.name}</code></div> }) {
  return <div class="files">{byDirectory(of).map(([dir, files]) => <div key={dir}><div class="dir">{dir}</div>{files.map((f) => <div key={f.path}>{row(f)}</div>)}</div>)}</div>;
}
