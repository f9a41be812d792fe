/**
 * `npm run bench [-- GROUP...] [--quick] [--json FILE] [--husk COMMAND]`: Hull's figures next to floors measured in the same
 * run. A floor is what the platform needs for the same work without Hull: a bare Worker, a bare spawn. Load generator,
 * provider and scripts share the machine's cores with what is measured, for floor and Hull alike. docs/performance.md
 */
import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { buildRow } from "./build.ts";
import { bundleRows } from "./bundle.ts";
import { consoleRows } from "./console.ts";
import { formatRows } from "./formats.ts";
import { isolateRows } from "./handlers.ts";
import { handlerRows } from "./handlers-runner.ts";
import { hookRows } from "./hooks.ts";
import { ledgerRows } from "./ledger.ts";
import { limitRows } from "./limits.ts";
import { llmRows } from "./llm.ts";
import { modelRows } from "./model.ts";
import { redactRows } from "./redact.ts";
import { republishRows } from "./republish.ts";
import type { Row } from "./row.ts";
import { scriptRows } from "./script.ts";
import { servingRows } from "./serving.ts";
import { runRows, sessionRows } from "./sessions.ts";
import { skillToolRows } from "./skill-tools.ts";
import { startSubjects } from "./subjects.ts";
import { toolVaultRows } from "./tool-vault.ts";
import { vendorRows } from "./vendors.ts";
import { workflowRows } from "./workflows.ts";
import { workspaceToolRows } from "./workspace-tools.ts";

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, json: { type: "string" }, husk: { type: "string" } },
  allowPositionals: true,
});
const { quick } = values;
const rounds = quick ? 60 : 300;
const many = quick ? 200 : 2000;

/** In this order unless groups are named. */
const GROUPS: Record<string, () => Promise<Row[]>> = {
  async calls() {
    const subjects = await startSubjects();
    try {
      return [
        ...(await llmRows(subjects, rounds)),
        ...(await ledgerRows(subjects, rounds)),
        ...(await scriptRows(subjects, rounds)),
      ];
    } finally {
      await subjects.stop();
    }
  },
  model: () => modelRows(rounds),
  tools: async () => [...(await toolVaultRows(rounds)), ...(await skillToolRows(rounds))],
  hooks: () => hookRows(rounds),
  runs: () => runRows(rounds),
  sessions: () => sessionRows(rounds),
  workflows: () => workflowRows(rounds),
  handlers: () => isolateRows(rounds),
  "handlers-runner": () => handlerRows(rounds),
  "workspace-tools": () => workspaceToolRows(rounds),
  vendors: () => vendorRows(rounds, quick ? 1000 : 10_000),
  bundle: bundleRows,
  console: () => consoleRows(rounds),
  formats: () => formatRows(quick ? 240 : 2400),
  build: async () => [await buildRow(many)],
  publish: () => republishRows(many),
  serving: () => servingRows(rounds, values.husk ?? null),
  redact: async () => redactRows(),
  limits: () => limitRows(rounds),
};

const wanted = positionals.length === 0 ? Object.keys(GROUPS) : positionals;
const rows: Row[] = [];
for (const name of wanted) {
  const group = GROUPS[name];
  if (group === undefined) throw new RangeError(`no group "${name}": ${Object.keys(GROUPS).join(", ")}`);
  rows.push(...(await group()));
}

console.log(
  `${availableParallelism()} cores, Node ${process.versions.node}, ${rounds} calls a block, median of 5 blocks\n`,
);
const columns = ["what", "floor", "hull", "HUSK", "measure", "target", ""] as const;
const table = rows.map((row) => [
  row.what,
  row.floor,
  row.hull,
  row.peer,
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
const report = { at: new Date().toISOString(), cores: availableParallelism(), rounds, rows };
if (values.json === undefined) console.log(`\n${JSON.stringify(report)}`);
else await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
