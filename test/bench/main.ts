/**
 * `npm run bench [-- --json FILE] [--quick]`: Hull's figures beside floors measured in the same run. A floor is what the
 * platform needs for the same work without Hull: a bare Worker, a bare spawn. Load generator, provider and scripts
 * share the machine's cores with what is measured, for floor and Hull alike.
 */
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { buildRow } from "./build.ts";
import { bundleRows } from "./bundle.ts";
import { hookRows } from "./hooks.ts";
import { ledgerRows } from "./ledger.ts";
import { llmRows } from "./llm.ts";
import type { Row } from "./row.ts";
import { scriptRows } from "./script.ts";
import { startSubjects } from "./subjects.ts";
import { toolVaultRows } from "./tool-vault.ts";

const quick = process.argv.includes("--quick");
const rounds = quick ? 60 : 300;
const rows: Row[] = [];

const subjects = await startSubjects();
try {
  rows.push(...(await llmRows(subjects, rounds)));
  rows.push(...(await ledgerRows(subjects, rounds)));
  rows.push(...(await scriptRows(subjects, rounds)));
} finally {
  await subjects.stop();
}
rows.push(...(await toolVaultRows(rounds)));
rows.push(...(await hookRows(rounds)));
rows.push(...(await bundleRows()));
rows.push(await buildRow(quick ? 200 : 2000));

console.log(
  `${availableParallelism()} cores, Node ${process.versions.node}, ${rounds} calls a block, median of 5 blocks\n`,
);
const columns = ["what", "floor", "hull", "measure", "target", ""] as const;
const table = rows.map((row) => [
  row.what,
  row.floor,
  row.hull,
  row.measure,
  row.target,
  row.pass ? "ok" : "MISSED",
]);
const widths = columns.map((title, i) =>
  Math.max(title.length, ...table.map((cells) => cells[i]?.length ?? 0)),
);
for (const cells of [columns, ...table]) {
  console.log(cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
}
const at = process.argv.indexOf("--json");
const file = at === -1 ? undefined : process.argv[at + 1];
const report = { at: new Date().toISOString(), cores: availableParallelism(), rounds, rows };
if (file === undefined) console.log(`\n${JSON.stringify(report)}`);
else await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
