import { expect, it } from "vitest";
import { assembleSkill } from "../../../src/skill/assemble.ts";
import { executionSpec } from "../../../src/tool/execution.ts";

const TEXT =
  "---\nname: fox\ndescription: d\nmode: script\nrun: python3 scripts/main.py\nconcurrency: 7\n---\n";

it.each([
  ["a published skill", {}, 7],
  ["an uploaded one, whose address is its own", { uploadedBy: "acme" }, 7],
  ["a stored one, whose name any tenant may use", { uploadedBy: "acme", stored: true as const }, undefined],
])("a process of %s counts for the limit of its name: %j %s", async (_, origin, concurrency) => {
  const files = Object.entries({ "SKILL.md": TEXT, "scripts/main.py": "print()" }).map(([path, text]) => {
    return { path, mode: 0o644 as const, bytes: new TextEncoder().encode(text) };
  });
  const { skill, diagnostics } = await assembleSkill(files, { folder: "fox", file: "SKILL.md", ...origin });
  if (skill === null) throw new TypeError(JSON.stringify(diagnostics));
  const spec = executionSpec({
    id: "ex",
    runId: "run",
    record: skill.record,
    digest: "d",
    argv: ["true"],
    env: {},
    timeoutMs: 1000,
    maxOutputBytes: 1000,
    input: { mode: "none" },
    output: "text",
    detach: false,
    settings: { providerKeys: new Set(), grace_ms: 0 },
  });
  expect(spec.limits.concurrency).toBe(concurrency);
});
