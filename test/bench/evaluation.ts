/**
 * What V8 needs to compile and evaluate modules that Workers consist of: CPU time in ms of each file, the least of many turns.
 * `node --experimental-vm-modules --single-threaded test/bench/evaluation.ts <turns> <file>…` prints them as a JSON list.
 */
import { readFile } from "node:fs/promises";
import { SourceTextModule, SyntheticModule } from "node:vm";

const [turns = "1", ...files] = process.argv.slice(2);
const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));

/** What a module imports from outside: a class for each name. */
function outside(specifier: string): SyntheticModule {
  const named = texts.flatMap((text) => [
    ...text.matchAll(/import\s*(?:[\w$]+\s*,?\s*)?(?:\{([^}]*)\})?\s*from\s*["']([^"']+)["']/g),
  ]);
  const names = named
    .filter(([, , from]) => from === specifier)
    .flatMap(([, list = ""]) => list.split(",").map((one) => one.trim().split(/\s+as\s+/)[0] ?? ""));
  const all = [...new Set(["default", ...names.filter((name) => name !== "")])];
  return new SyntheticModule(all, function () {
    for (const name of all) this.setExport(name, class {});
  });
}

async function once(text: string): Promise<number> {
  const begun = process.cpuUsage();
  const module = new SourceTextModule(text);
  const compiled = process.cpuUsage(begun);
  await module.link(outside);
  const linked = process.cpuUsage();
  await module.evaluate();
  const evaluated = process.cpuUsage(linked);
  return (compiled.user + compiled.system + evaluated.user + evaluated.system) / 1000;
}

const least = texts.map(() => Number.POSITIVE_INFINITY);
for (let turn = 0; turn < Number(turns); turn += 1) {
  for (const [i, text] of texts.entries()) {
    // Another text each time, which V8 has not compiled before.
    least[i] = Math.min(least[i] ?? 0, await once(`${text}\n//${turn}`));
  }
}
console.log(JSON.stringify(least));
