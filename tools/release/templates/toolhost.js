#!/usr/bin/env node
// Runs the toolhost of this machine's package. The packages of the other
// machines are not installed, and nothing is downloaded here.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const machine = `${process.platform}-${process.arch}`;
const name = `@toolhost/${machine}`;

let root;
try {
  root = path.dirname(require.resolve(`${name}/package.json`));
} catch {
  console.error(`toolhost: the package ${name} is missing. If toolhost supports this machine, install again without ` +
    `--omit=optional and --no-optional; it supports ${Object.keys(require("../package.json").optionalDependencies).join(", ")}.`);
  process.exit(1);
}

const child = spawn(path.join(root, "bin/toolhost"), process.argv.slice(2), { stdio: "inherit" });

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`toolhost: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal !== null) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code);
});
