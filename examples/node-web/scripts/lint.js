// Prints path:line: mistake for the files that are named, or for all of the
// project's, and fails where there is one.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';

const rules = [
  [/\s+$/, 'white space at the end of the line'],
  [/\bvar\s/, 'var: use const or let'],
  [/\bdebugger\b/, 'debugger'],
];

const named = process.argv.slice(2);
const files = named.length > 0 ? named : ['src', 'test', 'scripts'].flatMap((dir) => readdirSync(dir).map((name) => `${dir}/${name}`));

let mistakes = 0;
const report = (where, what) => {
  mistakes++;
  console.log(`${where}: ${what}`);
};
for (const file of files) {
  const { status, stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' });
  if (status !== 0) report(file, stderr.match(/^\w*Error: .*$/m)?.[0] ?? stderr);
  readFileSync(file, 'utf8').split('\n').forEach((line, i) => {
    if (file.startsWith('scripts/')) return; // the rules name what they look for
    for (const [pattern, what] of rules) if (pattern.test(line)) report(`${file}:${i + 1}`, what);
  });
}
console.log(mistakes === 0 ? `files: ${files.length}, no mistake` : `mistakes: ${mistakes}`);
process.exitCode = mistakes === 0 ? 0 : 1;
