import { describe, expect, it } from "vitest";
import { Client } from "./served.ts";

const client = new Client();
const post = (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  client.fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("x", () => {
  it("runs", async () => {
    const made = await post("/sessions", { id: "a" });
    console.log(made.status, await made.text());
    const run = await post("/sessions/a/runs", { prompt: "one two", options: { provider: "mock" } });
    console.log(run.status, await run.text());
    const list = await client.fetch("/sessions");
    console.log(list.status, await list.text());
    for (const p of ["", "/messages", "/runs", "/length", "/ancestry", "/exists", "/approvals"]) {
      const r = await client.fetch("/sessions/a" + p);
      console.log(p, r.status, await r.text());
    }
    const sse = await post("/sessions/a/runs", { prompt: "three", options: { provider: "mock" } }, { accept: "text/event-stream" });
    console.log(sse.status, await sse.text());
    expect(1).toBe(2);
  });
});
