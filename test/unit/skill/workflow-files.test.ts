/** Workflows as files of a skill: what is read, and the places of faults. */

import { expect, test } from "vitest";
import { sha256 } from "../../../src/bytes.ts";
import { readSkillGraph } from "../../../src/engine/workflow/skill-file.ts";
import { Findings } from "../../../src/skill/findings.ts";
import { findWorkflows } from "../../../src/skill/workflow-files.ts";

async function found(files: Record<string, string>) {
  const sources = Object.entries(files).map(([path, text]) => ({
    path,
    mode: 0o644 as const,
    bytes: new TextEncoder().encode(text),
  }));
  const findings = new Findings("a", "a/SKILL.md");
  const { workflows } = await findWorkflows(findings, sources, readSkillGraph, sha256);
  const told = findings.list.map(({ level, code, file, line, column, field }) =>
    [level, code, `${file}:${line ?? ""}:${column ?? ""}`, field ?? "-"].join(" "),
  );
  return { workflows, told };
}

const GOOD =
  "entry: draft\nnodes:\n  draft: {prompt: hi}\n  check: {kind: verify}\nedges:\n  - {from: draft, to: check}\n";

test("graphs are read from YAML and JSON, the same to the same digest", async () => {
  const json = JSON.stringify({
    edges: [{ from: "draft", to: "check" }],
    nodes: { check: { kind: "verify" }, draft: { prompt: "hi" } },
    entry: "draft",
  });
  const { workflows, told } = await found({
    "workflows/flow.yaml": GOOD,
    "workflows/other.yml": "act: {prompt: do}",
    "other/workflows/no.yaml": GOOD,
    "workflows/deep/no.yaml": GOOD,
    "workflows/README.md": "text",
    "workflows/flow.test.yaml": "graph: flow.yaml\ncases: [{name: it goes through}]",
  });
  expect(told).toEqual([]);
  expect(workflows.map(({ name, graph }) => [name, graph.name, graph.entry])).toEqual([
    ["flow", "flow", "draft"],
    ["other", "other", "act"],
  ]);
  expect(workflows[0]?.graph.id).toMatch(/^wfg_[0-9a-f]{32}$/);
  const again = await found({ "workflows/flow.json": json });
  expect(again.workflows[0]?.digest).toBe(workflows[0]?.digest);
});

test.each<[text: string, told: string, name?: string]>([
  ["nodes: {a: {kind: dance}}", "error workflow_invalid a/workflows/f.yaml:1:13 nodes.a.kind"],
  ["nodes:\n  a.b:\n    colour: 1", "error workflow_invalid a/workflows/f.yaml:3:5 nodes.a.b.colour"],
  [
    "nodes:\n  a: {}\nedges:\n  - from: a\n    to: x",
    "error workflow_invalid a/workflows/f.yaml:5:5 edges.0.to",
  ],
  [
    "nodes:\n  a:\n    tools:\n      - name: a b",
    "error workflow_invalid a/workflows/f.yaml:4:9 nodes.a.tools.0.name",
  ],
  [
    "nodes:\n  a:\n    auto_compact:\n      fold: 1",
    "error workflow_invalid a/workflows/f.yaml:4:7 nodes.a.auto_compact.fold",
  ],
  [
    "nodes:\n  a:\n    auto_compact: {threshold: null}\n  b: {}\nentry: a",
    "warning workflow_doubtful a/workflows/f.yaml:4:3 nodes.b",
  ],
  ["entry: x\nnodes:\n  a: {}", "error workflow_invalid a/workflows/f.yaml:1:1 entry"],
  ["nodes: [", "error workflow_unreadable a/workflows/f.yaml:1:9 -"],
  ["{,}", "error workflow_unreadable a/workflows/f.json:1:2 -", "f.json"],
  ["nodes:\n  a: {}\n  b: {}\nentry: a", "warning workflow_doubtful a/workflows/f.yaml:3:3 nodes.b"],
  ["", "error workflow_unreadable a/workflows/f.yaml:1:1 -"],
  ["# later\n", "error workflow_unreadable a/workflows/f.yaml:1:1 -"],
  ["jobs: {}", "info workflow_foreign a/workflows/f.yaml:1:1 -"],
  ['{"nodes": [{"id": "1"}], "connections": {}}', "info workflow_foreign a/workflows/f.json:1:1 -", "f.json"],
  ["nodes: [{id: a}]", "error workflow_invalid a/workflows/f.yaml:1:1 nodes"],
])("%j is reported with its place", async (text, told, name = "f.yaml") => {
  const result = await found({ [`workflows/${name}`]: text });
  expect(result.told).toContain(told);
  expect(result.workflows.length).toBe(told.startsWith("warning") ? 1 : 0);
});

test("if two files have one name, the first is used", async () => {
  const { workflows, told } = await found({ "workflows/f.json": '{"act": {}}', "workflows/f.yaml": GOOD });
  expect([workflows.map(({ graph }) => graph.entry), told]).toEqual([
    ["act"],
    ["error workflow_twice a/workflows/f.yaml:: -"],
  ]);
});
