/** A task run through a graph, and the sessions of workflows. */
import { describe, expect, it } from "vitest";
import { said } from "../support/workflow-graphs.ts";
import { type Body, client, codeOf, get, post, send } from "./session-client.ts";
import { executed, type Run, run } from "./workflow-client.ts";

const visited = ({ stages }: Run): string[] => stages.map(({ node_id, branch }) => `${node_id}:${branch}`);

interface Session extends Body {
  run: { id: string };
  transcript: { id: string };
}
const answerOf = async (name: string, body: object): Promise<Session> => {
  const response = await post(`/workflows/${name}`, body);
  const text = await response.text();
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""]);
  return JSON.parse(text);
};
const done = (more: object = {}): Promise<Session> =>
  answerOf("task_run", { task: "Write.", flow: { act: said("a note") }, ...more });

describe("a workflow run", () => {
  it("has its record at the path that it names, which belongs to the last run that named it", async () => {
    const graph = { nodes: { a: said("one"), b: said("two") }, edges: [{ from: "a", to: "b" }] };
    const kept = { persist_path: "kept/run.json" };
    const first = await run(graph, { options: { ...kept, max_steps: 1 } });
    const at = (id: string) => `/sessions/${id}/files/kept/run.json`;
    expect([first.persisted_path, await get(at(first.id))]).toEqual(["kept/run.json", first]);
    const second = await run(graph, { options: { ...kept, resume_path: "kept/run.json" } });
    expect([visited(second), second.parent_run_id]).toEqual([["a:success", "b:success"], first.id]);
    expect(await get(at(second.id))).toEqual(second);
    const replayed = await run(graph, { options: { replay_path: "kept/run.json" } });
    expect(replayed).toMatchObject({ parent_run_id: second.id, persisted_path: `runs/${replayed.id}.json` });
    const restored = await post("/workflows/session_restore", { path: "kept/run.json" });
    expect(await restored.json()).toMatchObject({ run: { id: second.id }, persisted_path: "kept/run.json" });
    expect((await send("DELETE", `/sessions/${second.id}`)).status).toBe(204);
    const gone = await executed(graph, { options: { resume_path: "kept/run.json" } });
    expect(await gone.json()).toMatchObject({ errors: [{ path: "options.resume_path" }] });
    // Without a path of its own, a run makes no file.
    expect(await get(`/sessions/${replayed.id}/files`)).toMatchObject({ data: [] });
  });
});

describe("task_run", () => {
  it("answers what act and verify came to", async () => {
    const flow = { act: said("a note"), verify: { verify: { expect_text: "" } } };
    expect(await done({ flow })).toMatchObject({
      task: "Write.",
      workflow: { entry: "act" },
      status: "completed",
      text: "a note",
      result: "a note",
      act: { node_id: "act" },
      repair: null,
      verification: { ok: true },
      transcript: { _type: "transcript" },
      run: { _type: "run_record", status: "completed" },
    });
  });

  it("needs attention where something was repaired", async () => {
    const flow = {
      act: said("wrong"),
      verify: { verify: { expect_text: "right" } },
      repair: { ...said("right"), output_contract: { output_kinds: ["patch"] } },
    };
    const repaired = await done({ flow, overrides: { max_steps: 3 } });
    expect(repaired).toMatchObject({
      status: "needs_attention",
      text: "right",
      repair: { node_id: "repair" },
      verification: { ok: false },
      artifacts: { length: 3 },
    });
  });

  it.each([
    [{ task: "" }, "task"],
    [{ flow: 1 }, "flow"],
    [{ overrides: { max_steps: 0 } }, "overrides.max_steps"],
    [{ overrides: { resume_run: "wf_1" } }, "overrides.resume_run"],
  ])("names the fault of %j", async (more, path) => {
    const response = await post("/workflows/task_run", { task: "t", flow: { act: {} }, ...more });
    expect([response.status, await response.json()]).toMatchObject([422, { errors: [{ path }] }]);
  });
});

describe("a workflow session", () => {
  it("is forked, archived, resumed, compacted and reset with its usage", async () => {
    const session = await answerOf("workflow_session", { result: await done() });
    expect(session).toMatchObject({
      _type: "workflow_session",
      persisted_path: expect.stringMatching(/^runs\/wf_\w+\.json$/),
      status: "completed",
      workflow: "workflow",
      task: "Write.",
      summary: null,
      message_count: 2,
      asset_count: 0,
      usage: { call_count: 1, output_tokens: expect.any(Number) },
    });
    const { usage, transcript } = session;
    const kept = { usage, run: { _type: "run_record" } };
    const forked = await answerOf("session_fork", { session });
    expect(forked).toMatchObject({ ...kept, transcript_state: "forked", message_count: 2 });
    expect(forked.transcript).not.toMatchObject({ id: transcript.id });
    const archived = await answerOf("session_archive", { session: forked });
    expect(archived).toMatchObject({ ...kept, transcript_state: "archived" });
    const resumed = await answerOf("session_resume", { session: archived });
    expect(resumed).toMatchObject({ ...kept, transcript_state: "active" });
    const asked = { session: resumed, keep_last: 1, strategy: "truncate", summary: "It wrote a note." };
    const compacted = await answerOf("session_compact", asked);
    expect(compacted).toMatchObject({ ...kept, summary: "It wrote a note.", asset_count: 1 });
    const reset = await answerOf("session_reset", { session: compacted });
    expect(reset).toMatchObject({ ...kept, transcript_state: "active", message_count: 0 });
  });

  it("is persisted among its run's files, and restored from there or by its run", async () => {
    const { run } = await done();
    const session = await answerOf("session_fork", { session: await answerOf("session", { result: run }) });
    const stored = await answerOf("session_persist", { session, path: "kept/chat.json" });
    const persisted_path = `${run.id}/kept/chat.json`;
    expect(stored).toMatchObject({ persisted_path, run: { persisted_path } });
    expect(await answerOf("session_restore", { path: persisted_path })).toEqual(stored);
    expect(await answerOf("session_fork", { session: stored })).toMatchObject({ persisted_path: null });
    for (const path of [run.id, `runs/${run.id}.json`])
      expect(await answerOf("session_restore", { path })).toMatchObject({
        transcript_state: "active",
        run: { id: run.id },
      });
    await client.fetch(`/workflows/runs/${run.id}`, { method: "DELETE" });
    expect(await codeOf(await post("/workflows/session_restore", { path: persisted_path }))).toEqual([
      404,
      "not_found",
    ]);
  });

  it("begins without a run, since it cannot be persisted", async () => {
    const session = await answerOf("session_new", { metadata: { title: "Chat" } });
    expect(session).toMatchObject({ run: null, usage: null, transcript: { metadata: { title: "Chat" } } });
    expect(await answerOf("session_fork", { session })).toMatchObject({ transcript_state: "forked" });
    const faults: [string, object][] = [
      ["session_persist", { session }],
      ["session_fork", { session, colour: 1 }],
      ["session", { result: { transcript: { _type: "chat" } } }],
      ["session", { result: {} }],
      ["session_archive", {}],
    ];
    for (const [name, body] of faults)
      expect([name, ...(await codeOf(await post(`/workflows/${name}`, body)))]).toEqual([
        name,
        422,
        "input_invalid",
      ]);
    const { run } = await done();
    const persist = { session: await answerOf("session", { result: run }), path: "../x" };
    expect(await codeOf(await post("/workflows/session_persist", persist))).toEqual([400, "bad_path"]);
    const missing = { path: `${run.id}/no.json` };
    expect(await codeOf(await post("/workflows/session_restore", missing))).toEqual([404, "file_not_found"]);
    expect(await codeOf(await post("/workflows/sesion_fork", {}))).toEqual([404, "operation_not_found"]);
  });
});
