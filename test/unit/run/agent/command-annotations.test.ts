/** What policies know of command tools. */
import { expect, test } from "vitest";
import { commandAnnotations } from "../../../../src/run/agent/command-annotations.ts";
import type { CommandTool } from "../../../../src/skill/manifest.ts";

const published = {};
const uploaded = { uploaded_by: "acme" };
type Said = Pick<CommandTool, "annotations" | "idempotent">;

test.each<[string, Said, object]>([
  ["nothing", {}, {}],
  [
    "a command that only reads",
    { annotations: { kind: "read", side_effect_level: "none" } },
    { side_effect_level: "process_exec" },
  ],
  ["a command that edits", { annotations: { kind: "edit" } }, { kind: "edit" }],
  [
    "a command that uses the network",
    { annotations: { side_effect_level: "network" } },
    { side_effect_level: "network" },
  ],
  ["capabilities", { annotations: { capabilities: { a: ["b"] } } }, { capabilities: { a: ["b"] } }],
  [
    "a command with fewer paths",
    { annotations: { arg_schema: { path_params: ["to"] } } },
    { arg_schema: { path_params: ["path", "file", "file_path", "dir", "directory", "to"] } },
  ],
  ["a command that may run again", { idempotent: true }, { idempotent: true }],
])(
  "%s: a published skill may set all of it, an upload nothing that makes it less safe",
  (_, said, counts) => {
    const idempotent = said.idempotent === true ? { idempotent: true } : {};
    expect(commandAnnotations(published, said)).toEqual({ ...said.annotations, ...idempotent });
    expect(commandAnnotations(uploaded, said)).toEqual(counts);
  },
);
