/** The traces of runs. */
import { describe, expect, it } from "vitest";
import type { TraceStep } from "../../src/session/conversation/answers.ts";
import { Client } from "./served.ts";

const client = new Client();
const MOCK = { provider: "mock" };

async function json<T>(path: string): Promise<T> {
  const response = await client.fetch(path);
  expect(response.status).toBe(200);
  return response.json<T>();
}

describe("a trace", () => {
  it("has each model call and tool call with its input, output and time, in pages", async () => {
    await client.post("/sessions", { id: "traced" });
    const tool = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: "why" } }] }, { text: "Because." }];
    const options = { ...MOCK, tools: [tool], mock };
    const answer = await client.post("/sessions/traced/runs?wait=idle", { prompt: "Ask.", options });
    const { run_id, awaiting } = await answer.json<{
      run_id: string;
      awaiting: { tool_call_id: string }[];
    }>();
    const waiting = await json<{ data: TraceStep[] }>(`/sessions/traced/runs/${run_id}/trace`);
    expect(waiting.data.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "message prompt",
      "model mock",
      "tool ask",
    ]);
    expect(waiting.data[2]).toMatchObject({ duration_ms: null, input: { q: "why" } });
    await expect.poll(() => json(`/runs/${run_id}`)).toMatchObject({ kind: "run", state: "awaiting_tool" });
    await client.post("/sessions/traced/tool-results", {
      tool_call_id: awaiting[0]?.tool_call_id,
      content: "so",
    });
    await expect.poll(() => json(`/sessions/traced/runs/${run_id}`)).toMatchObject({ status: "done" });
    const { data } = await json<{ data: TraceStep[] }>(`/sessions/traced/runs/${run_id}/trace`);
    expect(data[2]).toMatchObject({ kind: "tool", ok: true, output: "so", duration_ms: expect.any(Number) });
    expect(data.at(-1)).toMatchObject({ kind: "note", name: "done", ok: true });
    const page = await json<{ data: TraceStep[]; next_cursor: string }>(
      `/sessions/traced/runs/${run_id}/trace?limit=1&cursor=1`,
    );
    expect(page).toMatchObject({
      recovered: false,
      text: "Because.",
      error: null,
      data: [{ number: 2, kind: "model" }],
      next_cursor: "2",
    });
  });

  it("loses a secret whole, also where a step is cut within it", async () => {
    const SECRET = "canary-0123456789-abcdefghij";
    const across = `${"x".repeat(19_985)}${SECRET}${"y".repeat(100)}`;
    const keyed = new Client({ HULL_ENV: "local", OPENAI_API_KEY: SECRET });
    await keyed.post("/sessions", { id: "cut" });
    const tool = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: across } }] }, { text: "Because." }];
    const body = { prompt: across, options: { ...MOCK, tools: [tool], mock } };
    const answer = await keyed.post("/sessions/cut/runs?wait=idle", body);
    const { run_id, awaiting } = await answer.json<{
      run_id: string;
      awaiting: { tool_call_id: string }[];
    }>();
    const tool_call_id = awaiting[0]?.tool_call_id;
    await keyed.post("/sessions/cut/tool-results", { tool_call_id, content: across });
    await expect
      .poll(async () => (await keyed.fetch(`/sessions/cut/runs/${run_id}`)).json())
      .toMatchObject({ status: "done" });
    const trace = await (await keyed.fetch(`/sessions/cut/runs/${run_id}/trace`)).text();
    expect(trace.split("x".repeat(1000)).length).toBeGreaterThan(40);
    expect(trace).not.toContain("canary");
    const alone = { prompt: across, options: { ...MOCK, mock: [{ text: across }] } };
    const begun = await (await keyed.post("/runs?wait=none", alone)).json<{ id: string }>();
    await (await keyed.fetch(`/executions/${begun.id}/result`)).text();
    const ofCall = await (await keyed.fetch(`/executions/${begun.id}/trace`)).text();
    expect(ofCall.split("x".repeat(1000)).length).toBeGreaterThan(30);
    expect(ofCall).not.toContain("canary");
  });

  it("of an execution is visible only to its caller", async () => {
    const begun = await client.post("/runs?wait=none", { prompt: "Hi.", options: MOCK });
    const { id } = await begun.json<{ id: string }>();
    await expect.poll(() => json(`/runs/${id}`)).toMatchObject({ state: "done" });
    const { data } = await json<{ data: TraceStep[] }>(`/executions/${id}/trace`);
    expect(data.some(({ kind }) => kind === "model")).toBe(true);
  });
});
