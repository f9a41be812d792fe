/** What watchers see of a call's output while it runs. */
import { expect, test } from "vitest";
import { Redactor } from "../../../src/redact.ts";
import type { RunEvent } from "../../../src/run/events.ts";
import { ToolOutput } from "../../../src/run/handler/output.ts";

test("a secret at the limit of the output is lost whole", async () => {
  const sent: string[] = [];
  const output = new ToolOutput("c1", new Redactor(["secret-canary"]), ({ data }) => {
    sent.push("text" in data ? String(data.text) : "");
  });
  const filled = 1024 * 1024 - 8;
  output.push("stdout", `${"x".repeat(filled)}sec`);
  output.push("stdout", "ret-canary");
  output.push("stdout", "more");
  await output.end();
  const text = sent.join("");
  expect(text.slice(0, filled)).toBe("x".repeat(filled));
  expect(text.slice(filled)).toMatch(/^\[redacte\n\[hull: the output of this call passed 1 MB; [^[]*$/);
});

test("the limit of the output cuts no character", async () => {
  const sent: string[] = [];
  const output = new ToolOutput("c1", new Redactor([]), ({ data }) => {
    sent.push("text" in data ? String(data.text) : "");
  });
  output.push("stdout", `${"x".repeat(1024 * 1024 - 2)}\u{1f600}`);
  await output.end();
  expect(sent.join("")).toMatch(/x\n\[hull: the output/);
});

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
