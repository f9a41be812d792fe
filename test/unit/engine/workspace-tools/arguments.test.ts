import { expect, it } from "vitest";
import { declaredArguments } from "../../../../src/engine/workspace-tools/arguments.ts";

it.each([
  ["Bash", { command: "x", timeout: 5 }, { command: "x", timeout_ms: 5 }],
  ["Bash", { command: "x", timeout: 5, timeout_ms: null }, { command: "x", timeout_ms: 5 }],
  ["Bash", { command: "x", timeout: 5, timeout_ms: 7 }, { command: "x", timeout: 5, timeout_ms: 7 }],
  ["Read", { file_path: "x", timeout: 5 }, { file_path: "x", timeout: 5 }],
])("%s takes timeout for timeout_ms only where that is absent: %o", (tool, args, declared) => {
  expect(declaredArguments(tool, args)).toEqual(declared);
});
