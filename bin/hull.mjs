#!/usr/bin/env node
// Runs scripts/hull.ts on Node 24 or later. An older Node hands over to the binary of the package `node`, which a checkout of
// Hull has as a development dependency; a package of Hull leaves the choice of Node to the project.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { constants, homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NEEDED = 24;
/** Node strips types outside node_modules only. */
const isPackage = import.meta.url.includes("/node_modules/");
const flags = isPackage ? ["--import", new URL("./typescript.mjs", import.meta.url).href] : [];
const script = fileURLToPath(new URL("../scripts/hull.ts", import.meta.url));
// Stripping types and compiling would take longer than a short command itself. Where Node cannot write there, it does without.
process.env.NODE_COMPILE_CACHE ??= join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "hull");

if (Number.parseInt(process.versions.node, 10) >= NEEDED) {
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  if (isPackage) await import("./typescript.mjs");
  await import(new URL("../scripts/hull.ts", import.meta.url).href);
} else {
  const binary = findBinary();
  if (binary === null) {
    const remedy = isPackage
      ? `Install Node ${NEEDED} (https://nodejs.org), or for this project alone: npm install --save-dev node@${NEEDED}`
      : `Run: npm ci   (in ${dirname(dirname(script))})`;
    process.stderr.write(
      `hull: this is Node ${process.versions.node}, and Hull needs Node ${NEEDED}.\n  ${remedy}\n`,
    );
    process.exit(1);
  }
  run(binary);
}

/** @returns {string | null} */
function findBinary() {
  try {
    const folder = dirname(module.createRequire(import.meta.url).resolve("node/package.json"));
    const binary = join(folder, "bin", process.platform === "win32" ? "node.exe" : "node");
    return existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

/** @param {string} binary */
function run(binary) {
  // Scripts that name `node` get the Node that Hull brings along, too.
  const env = { ...process.env, PATH: [dirname(binary), process.env.PATH].filter(Boolean).join(delimiter) };
  const child = spawn(binary, [...flags, script, ...process.argv.slice(2)], {
    stdio: "inherit",
    env,
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // Ctrl-C in a terminal reaches the child by itself; a second one would skip its orderly end.
      if (signal === "SIGINT" && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on("error", (error) => {
    process.stderr.write(`hull: ${binary} cannot be started: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
  });
}
