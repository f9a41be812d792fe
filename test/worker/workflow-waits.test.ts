/** Workflow runs that wait: for time, events and people. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { edge, said } from "../support/workflow-graphs.ts";
import { ASK, asking, type Body, client, codeOf, get, post, send, until } from "./session-client.ts";
import { executed, type Run, run, started, visited } from "./workflow-client.ts";

/** The sessions below another one, as soon as there are some. */
async function children(session: string): Promise<{ child_ids: string[] }> {
  for (;;) {
    const found = await get<{ child_ids: string[] }>(`${session}/ancestry`);
    if (found.child_ids.length > 0) return found;
  }
}

describe("a run that waits", () => {
  const waiting = (wait: object) => ({
    entry: "w",
    nodes: { w: { kind: "wait", wait }, a: said("x") },
    edges: [edge("w", "a")],
  });

  it("wakes by its timer", async () => {
    const whole = await run(waiting({ sleep_ms: 30 }));
    expect(visited(whole)).toEqual(["w:success", "a:success"]);
  });

  it("takes an event by name and key, one that came early too, and leaves no waiter behind", async () => {
    const path = await started(waiting({ event: "paid", key: "42" }));
    await until(path, "waiting");
    expect((await post(`${path}/signals`, { name: "paid", key: "41" })).status).toBe(202);
    expect(await get(path)).toMatchObject({
      status: "waiting",
      explanation: expect.stringContaining("w waits for the event paid"),
    });
    await post(`${path}/signals`, { name: "paid", key: "42", payload: { sum: 7 } });
    const done = await until(path, "completed");
    expect(done.artifacts).toMatchObject([{ kind: "event", data: { sum: 7 } }, {}]);
    expect(await codeOf(await post(`${path}/signals`, { name: "paid" }))).toEqual([409, "workflow_ended"]);

    const early = await started({
      entry: "s",
      nodes: { s: { kind: "wait", wait: { approval: "go?" } }, w: { kind: "wait", wait: { event: "e" } } },
      edges: [edge("s", "w")],
    });
    await until(early, "waiting");
    await post(`${early}/signals`, { name: "e" });
    await post(`${early}/approvals`, { node: "s", decision: "approve" });
    await until(early, "completed");

    const never = waiting({ event: "never" });
    const limited = (limit: object) => ({
      ...never,
      nodes: { ...never.nodes, w: { ...never.nodes.w, ...limit } },
    });
    for (const graph of [
      waiting({ event: "never", timeout_ms: 20 }),
      waiting({ sleep_ms: 60_000, timeout_ms: 20 }),
      limited({ timeout_ms: 20 }),
      limited({ total_timeout_ms: 20 }),
    ])
      expect((await run(graph)).stages[0]).toMatchObject({
        branch: "failed",
        error: { code: "timed_out" },
      });
  });

  it.each([
    ["not today", "not today"],
    [" \t\n", "It was denied."],
  ])("asks a person, once; the reason %j is %j", async (reason, message) => {
    const path = await started(waiting({ approval: "Ship it?" }));
    const { active } = await until(path, "waiting");
    expect(active).toMatchObject([{ node_id: "w", approval: { question: "Ship it?" } }]);
    await post(`${path}/approvals`, { node: "w", decision: "deny", reason });
    const done = await until(path, "completed");
    expect(done.stages).toMatchObject([{ branch: "failed", error: { code: "denied", message } }, {}]);
    expect(await codeOf(await post(`${path}/approvals`, { node: "w", decision: "approve" }))).toEqual([
      409,
      "workflow_ended",
    ]);
  });

  it("runs a sub-agent's node as a task, with its events among its own", async () => {
    const nodes = { s: { kind: "subagent", task_label: "Dig", ...said("dug ##DONE##") } };
    const events = await readEvents(
      await executed({ nodes }, {}, { accept: "text/event-stream", prefer: "wait=60" }),
    );
    const told = events.filter(({ event }) => event === "task_update").map(({ data }) => data);
    expect(told).toMatchObject([
      { name: "Dig", status: "running" },
      { name: "Dig", status: "completed" },
    ]);
    const id = String(told[0]?.task_id);
    expect(await get(`/tasks/${id}`)).toMatchObject({
      mode: "delegated_stage",
      status: "completed",
      parent_stage_id: `${String(events[0]?.data.run_id)}:s:1`,
      provenance: { parent_session_id: events[0]?.data.run_id },
    });
    const last = events.findIndex(({ data }) => data.status === "completed" && data.node_id === "s");
    expect(events.findLastIndex(({ event }) => event === "task_update")).toBeLessThan(last);
    const { stages } = await get<Run>(`/workflows/runs/${String(events[0]?.data.run_id)}`);
    expect(stages).toMatchObject([{ outcome: "subagent_completed", usage: { call_count: 1 } }]);
  });

  it("has one folder for all of its stages", async () => {
    const write = { name: "Write", arguments: { file_path: "a.txt", content: "from a stage" } };
    const mock = [{ tool_calls: [write] }, { text: "##DONE##" }];
    const a = { mode: "agent", model_policy: { provider: "mock", workspace_tools: true, mock } };
    const { id, stages } = await run({ nodes: { a } });
    expect(stages).toMatchObject([{ branch: "success", metadata: { tools_used: ["Write"] } }]);
    expect(await (await client.fetch(`/sessions/${id}/files/a.txt`)).text()).toBe("from a stage");
  });

  it("takes the task of a sub-agent's node with it when it is cancelled", async () => {
    const model_policy = { provider: "mock", mock: asking };
    const path = await started({ nodes: { s: { kind: "subagent", tools: [ASK], model_policy } } });
    const { child_ids } = await children(path.replace("/workflows/runs", "/sessions"));
    const task = `/tasks/${child_ids[0]}`;
    // It is known above before it begins.
    await until(task, "running");
    expect(await (await post(`${path}/cancel`)).json()).toMatchObject({ id: path.split("/").at(-1) });
    await until(path, "cancelled");
    await until(task, "cancelled");
    expect((await send("DELETE", path)).status).toBe(204);
    expect((await client.fetch(task)).status).toBe(404);
  });

  it("is stopped when its session is closed", async () => {
    const nodes = { s: { tools: [ASK], model_policy: { provider: "mock", mock: asking } }, z: said("z") };
    const path = await started({ entry: "s", nodes, edges: [edge("s", "z")] });
    expect((await post(`${path.replace("/workflows/runs", "/sessions")}/close`)).status).toBe(200);
    const { stages, explanation } = await until<Run>(path, "cancelled");
    expect([stages.length, explanation]).toEqual([1, "The run ended as cancelled: Its session was closed."]);
  });

  it("begins nothing more when it is removed, and a client that waits for it learns that", async () => {
    const nodes = { s: { tools: [ASK], model_policy: { provider: "mock", mock: asking } }, z: said("z") };
    const path = await started({ entry: "s", nodes, edges: [edge("s", "z")] });
    const waits = client.fetch(`${path}?wait=terminal`);
    expect((await send("DELETE", path)).status).toBe(204);
    expect(await codeOf(await waits)).toEqual([404, "not_found"]);
    const { data } = await get<{ data: { metadata: Body }[] }>("/sessions?limit=1000&stages=true");
    expect(data.filter(({ metadata }) => path.endsWith(`/${metadata.workflow_run_id}`))).toEqual([]);
  });

  it("is paused, continues, is cancelled", async () => {
    const path = await started(waiting({ event: "e" }));
    await until(path, "waiting");
    expect(await (await post(`${path}/pause`)).json()).toMatchObject({ status: "paused" });
    await post(`${path}/signals`, { name: "e" });
    expect(await codeOf(await post(`${path}/resume?wait=soon`))).toEqual([400, "bad_request"]);
    expect(await get(path)).toMatchObject({ status: "paused" });
    expect(await (await post(`${path}/resume`)).json()).toMatchObject({ id: expect.any(String) });
    await until(path, "completed");

    const other = await started(waiting({ event: "e" }));
    await until(other, "waiting");
    const cancelled = await (await post(`${other}/cancel`, { reason: "no longer wanted" })).json<Body>();
    expect(cancelled).toMatchObject({ status: "cancelled", error: { message: "no longer wanted" } });
    expect(await codeOf(await post(`${other}/pause`))).toEqual([409, "workflow_ended"]);
    const blank = await started(waiting({ event: "e" }));
    expect(await (await post(`${blank}/kill`, { reason: " " })).json()).toMatchObject({
      error: { message: "It was killed." },
    });
  });
});
