/** What a failed workflow run undoes. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { edge, said } from "../support/workflow-graphs.ts";
import { ASK, asking, client, get, post, until } from "./session-client.ts";
import { executed, fails, type Run, started } from "./workflow-client.ts";

describe("compensations", () => {
  /** Two stages that can be undone, one that fails, one that waits; `undo b` fails once. */
  const undone = {
    entry: "a",
    nodes: {
      a: { ...said("did a"), compensation: "ua" },
      b: { ...said("did b"), compensation: "ub" },
      c: { ...fails, compensation: "ua" },
      w: { kind: "wait", wait: { event: "never" } },
      ua: { prompt: "undo", model_policy: { provider: "mock" } },
      ub: { kind: "verify", verify: { expect_text: "never" }, retry_policy: { max_attempts: 2 } },
    },
    edges: [edge("a", "b"), edge("b", "c"), edge("c", "w")],
  };
  const told = ({ compensations }: Run) =>
    compensations.map(({ node_id, branch, attempts, metadata }) => [
      node_id,
      branch,
      attempts.length,
      String(metadata.compensates).split(":")[1],
    ]);

  it("undo the finished stages of a cancelled run, the last one first", async () => {
    const path = await started(undone);
    await until(path, "waiting");
    const after = client.stream(`${path}/events`).then(readEvents);
    await post(`${path}/cancel`, { reason: "changed my mind" });
    const run = await until<Run>(path, "cancelled");
    expect(told(run)).toEqual([
      ["ub", "failed", 2, "b"],
      ["ua", "success", 1, "a"],
    ]);
    // It gets what the stage made.
    expect(run.compensations[1]).toMatchObject({
      consumed_artifact_ids: run.stages[0]?.produced_artifact_ids,
    });
    expect(run).toMatchObject({
      uncompensated: [],
      error: { message: "changed my mind" },
      failed_stages: [{}],
      active: [],
      pending_nodes: ["w"],
    });
    const stages = (await after).filter(({ event, data }) => event === "stage" && "compensates" in data);
    expect(stages).toHaveLength(6);

    // A run that continues it does again what was undone, and so does the next one. Each undoes only its own stages.
    for (let resume_run = run.id, times = 0; times < 2; times += 1) {
      const again = await executed(undone, { options: { resume_run } }, { prefer: "respond-async" });
      const other = again.headers.get("location") ?? "";
      await until(other, "waiting");
      await post(`${other}/cancel`);
      const ended = await until<Run>(other, "cancelled");
      expect(ended.stages.map(({ id }) => id)).toEqual(
        ["a", "b", "c"].map((node) => `${ended.id}:${node}:1`),
      );
      const compensated = ended.compensations.map(({ metadata }) => metadata.compensates);
      expect(compensated).toEqual([`${ended.id}:b:1`, `${ended.id}:a:1`]);
      resume_run = ended.id;
    }
  });

  it("leave the stages alone that a fork took over, also in a run that continues the fork", async () => {
    const path = await started(undone);
    const { id } = await until<Run>(path, "waiting");
    const fork = await post(`${path}/fork`, { from: "w" }, { prefer: "respond-async" });
    const forked = fork.headers.get("location") ?? "";
    const { id: resume_run } = await until<Run>(forked, "waiting");
    await post(`${forked}/kill`);
    await until(forked, "cancelled");
    const again = await executed(undone, { options: { resume_run } }, { prefer: "respond-async" });
    const other = again.headers.get("location") ?? "";
    await until(other, "waiting");
    await post(`${other}/cancel`);
    const ended = await until<Run>(other, "cancelled");
    expect([told(ended), ended.stages.map((stage) => stage.id.startsWith(`${id}:`))]).toEqual([
      [],
      [true, true, true],
    ]);
    await post(`${path}/kill`);
  });

  it("do not run for a killed run, and have a time limit", async () => {
    const killed = await started(undone);
    await until(killed, "waiting");
    await post(`${killed}/kill`);
    expect(await until<Run>(killed, "cancelled")).toMatchObject({ compensations: [], uncompensated: [] });

    const slow = {
      ...undone,
      nodes: {
        ...undone.nodes,
        ub: { tools: [ASK], model_policy: { provider: "mock", mock: asking } },
      },
    };
    const late = await started(slow, { options: { compensation_ms: 50 } });
    await until(late, "waiting");
    await post(`${late}/cancel`);
    const run = await until<Run>(late, "cancelled");
    expect(told(run)).toEqual([["ub", "error", 1, "b"]]);
    expect(run.uncompensated).toEqual([run.stages[0]?.id]);

    const stuck = await started(slow);
    await until(stuck, "waiting");
    await post(`${stuck}/cancel`);
    expect(await get<Run>(stuck)).toMatchObject({ active: [{}, { node_id: "ub" }] });
    await post(`${stuck}/kill`);
    await until(stuck, "cancelled");
  });

  it("come when the run's time is over", async () => {
    const response = await executed(undone, { options: { deadline_ms: 400 } });
    const { run } = await response.json<{ run: Run }>();
    const done = run.stages.filter(({ status }) => status === "completed").map(({ node_id }) => node_id);
    expect(run).toMatchObject({ status: "failed", error: { code: "deadline_exceeded" } });
    expect(told(run).map((entry) => entry[3])).toEqual(done.toReversed());
  });

  it.each([
    ["x", {}],
    ["a", {}],
    ["w", { w: { kind: "wait", wait: { event: "e" } } }],
  ])("name a node that can undo: not %s", async (compensation, more) => {
    const graph = { entry: "a", nodes: { a: { compensation }, ...more } };
    expect(await (await post("/workflows/validate", { graph })).json()).toMatchObject({
      errors: [{ path: "nodes.a.compensation" }],
    });
  });
});
