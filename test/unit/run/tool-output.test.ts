/** What watchers see of a call's output while it runs. */
import { expect, test } from "vitest";
import { Redactor } from "../../../src/redact.ts";
import type { RunEvent } from "../../../src/run/events.ts";
import { ToolOutput } from "../../../src/run/handler/output.ts";

test("a call ends although the reader of its output is slow", async () => {
  const redactor = new Redactor(["secret-canary"]);
  const sent: RunEvent[] = [];
  const output = new ToolOutput("c1", redactor, (event) => {
    sent.push(event);
    return new Promise<void>(() => {});
  });
  output.push("stdout", "it begins like secret-can");
  await output.end();
  expect(sent.map(({ data }) => data)).toEqual([
    { call_id: "c1", stream: "stdout", text: "it begins like " },
    { call_id: "c1", stream: "stdout", text: "secret-can" },
  ]);
});
