import { expect, test } from "vitest";
import { runName } from "../../../src/console/run-shapes.ts";

test.each([
  ["hello", '<a href="/console/skills/hello">hello</a>'],
  ["runs", "runs"],
  ["responses", "responses"],
  ["messages", "messages"],
  ["chat/completions", "chat/completions"],
  [null, "call"],
])("a call named %s has a page only if it is one of a skill", async (name, shown) => {
  expect(String(await runName({ name, session: null, kind: "call" }))).toBe(shown);
});
