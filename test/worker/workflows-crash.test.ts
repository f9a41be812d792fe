/** What a workflow run survives: its process dies at any of its writes, and the next one continues. */
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { recordOf, resumed } from "../../src/engine/workflow/origin.ts";
import type { WorkflowRecord } from "../../src/engine/workflow/records.ts";
import { applyRecord, type WorkflowState } from "../../src/engine/workflow/state.ts";
import { readText } from "../../src/run/long-text.ts";
import { parentEvents } from "../../src/run/task/parent-event.ts";
import { childSessions } from "../../src/run/workflow/attempt.ts";
import { Rows } from "../../src/session/conversation/rows.ts";
import { ConversationStore } from "../../src/session/conversation/store.ts";
import { indexedRun } from "../../src/session/run-index.ts";
import { workflowWork } from "../../src/session/task/work.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { edge, graphOf, said, specOf } from "../support/workflow-graphs.ts";
import { bindings } from "./file-bindings.ts";
import { counting } from "./session-storage.ts";
import { inWorld, type World } from "./session-world.ts";

/** A fork, a map, a retry, a person and a sub-agent. */
const GRAPH = {
  entry: "f",
  nodes: {
    f: { kind: "fork" },
    m: { kind: "map", prompt: "work", map_policy: { items: ["a", "b"] }, ...said("mapped") },
    v: { kind: "verify", verify: { expect_text: "never" }, retry_policy: { max_attempts: 2 } },
    j: { kind: "join" },
    w: { kind: "wait", wait: { approval: "Go on?" } },
    s: { kind: "subagent", ...said("delegated ##DONE##") },
    r: { kind: "reduce" },
  },
  edges: [
    edge("f", "m"),
    edge("f", "v"),
    edge("m", "j"),
    edge("v", "j"),
    edge("j", "w"),
    edge("w", "s"),
    edge("s", "r"),
  ],
};

const begin = (world: World, graph: Json) => {
  const spec = specOf(world.id, graph);
  return world.ask("beginWorkflow", { spec, account: "a", request: { name: "begin", hash: "h" } });
};

/** Plays the person, until the run has ended. */
async function played(world: World) {
  for (;;) {
    const run = await world.ask("workflow", { wait: "none" });
    if (run.finished_at !== null) return run;
    // Whatever happens to this process, something comes back to the run, unless it has gone on since the question.
    const kinds = world.store.due.list().map(({ kind }) => kind);
    if (run.status === "running" && !kinds.includes("workflow"))
      expect((await world.ask("workflow", { wait: "none" })).status).not.toBe("running");
    if (run.status === "waiting") {
      const request = { name: "answer", hash: "h" };
      await world.ask("answerWorkflow", { node: "w", granted: true, by: "p", reason: null, request });
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

type JournalRow = WorkflowRecord | { type: "head" };

function journal(world: World): { state: WorkflowState; records: WorkflowRecord[] } {
  const rows = new Rows<JournalRow | JournalRow[]>(world.storage.sql, "journal");
  const records = [...rows.after(0)].flatMap((row) =>
    row.ok ? [row.value].flat().flatMap((record) => (record.type === "head" ? [] : [record])) : [],
  );
  const state = records.reduce<WorkflowState | null>(applyRecord, null);
  return { state: state ?? expect.fail("no run"), records };
}

/** The status of each run that an attempt's session has had. */
async function statusesOf(id: string): Promise<string[]> {
  const { SESSIONS } = bindings;
  const caller = { tenant: "t", id, request_id: "r", mock_scope: "" };
  const question = JSON.stringify({ caller, type: "runs", input: { limit: 10, before: 1_000_000 } });
  const answer = JSON.parse(await readText(await SESSIONS.get(SESSIONS.idFromName(`t/${id}`)).ask(question)));
  return answer.value.data.map(({ status }: { status: string }) => status);
}

const runsOf = async (id: string): Promise<number> => (await statusesOf(id)).length;

/** Names of the events that the run has of a run inside it. */
const toldOf = (world: World, session: string): string[] =>
  world
    .events()
    .filter(({ data }) => "run_id" in data && data.run_id === session.replace("wfs_", "run_"))
    .map(({ event }) => event);

/** Names of those events of an attempt's own log that the run above gets. */
async function eventsOf(session: string): Promise<string[]> {
  const { SESSIONS } = bindings;
  return runInDurableObject(SESSIONS.get(SESSIONS.idFromName(`t/${session}`)), (_, { storage }) => {
    const store = new ConversationStore(storage);
    if (store.session() === null) return [];
    const shown = { run_id: "", parent_run_id: null, session_id: "", name: "", task: "", sub_agent: false };
    const told = store.events(0).flatMap((event) => parentEvents(event, shown));
    return told.map(({ event }) => event);
  });
}

describe("a workflow run", () => {
  it.each([false, true])(
    "settles once, with each effect once, whatever write is the last (stored: %s)",
    async (after) => {
      let deaths = 0;
      // Of all writes every other one is the last that is stored, in either way another one.
      for (let writes = 1; writes < 300; writes += 2) {
        const died = await inWorld(
          { replies: [] },
          async (world) => {
            await begin(world, GRAPH);
            const run = await played(world);
            const { state, records } = journal(world);
            const stages = state.stages.map(
              ({ node_id, branch, attempts }) => `${node_id}:${branch}:${attempts.length}`,
            );
            expect({ writes, status: run.status, stages: stages.toSorted() }).toEqual({
              writes,
              status: "completed",
              stages: [
                "f:fork:1",
                "j:join:1",
                "m:mapped:1",
                "r:reduced:1",
                "s:success:1",
                "v:failed:2",
                "w:success:1",
              ],
            });
            expect(records.filter(({ type }) => type === "finished")).toHaveLength(1);
            const children = childSessions(state);
            const runs = await Promise.all(children.map((id) => runsOf(id).catch(() => 0)));
            expect({ writes, runs: runs.filter((count) => count > 0) }).toEqual({ writes, runs: [1, 1, 1] });
            // Each event of a run inside is among those of the run, once.
            for (const child of children) expect(toldOf(world, child)).toEqual(await eventsOf(child));
            const done = world.events().filter(({ event }) => event === "done");
            expect(done).toHaveLength(1);
            world.now += 120_000;
            await world.revive();
            await world.over();
            expect({ writes, due: world.store.due.list(), alarm: await world.storage.getAlarm() }).toEqual({
              writes,
              due: [],
              alarm: null,
            });
            return world.deaths;
          },
          { writes, after },
        );
        deaths += died;
        if (died === 0) break;
      }
      expect(deaths).toBeGreaterThan(10);
    },
  );

  it("ends as failed if the engine throws at its next step", async () => {
    const nodes = {
      f: { kind: "fork" },
      w: { kind: "wait", wait: { event: "go" } },
      s: { kind: "subagent", ...said("late ##DONE##") },
    };
    const spec = specOf("r", { entry: "f", nodes, edges: [edge("f", "w"), edge("w", "s")] });
    // No graph that Hull has checked makes the engine throw.
    const impossible: typeof spec = JSON.parse(JSON.stringify(spec), (key, value) =>
      key === "s" ? { ...value, context_policy: { include_kinds: 5 } } : value,
    );
    await inWorld({ replies: [] }, async (world) => {
      const request = { name: "begin", hash: "h" };
      const given = { ...impossible, run_id: world.id, root_run_id: world.id };
      await world.ask("beginWorkflow", { spec: given, account: "a", request });
      const event = { name: "go", key: null, payload: null, request: { name: "go", hash: "" } };
      await world.ask("workflowEvent", event);
      const run = await world.ask("workflow", { wait: "none" });
      expect(run).toMatchObject({
        status: "failed",
        error: {
          code: "run_lost",
          message: expect.stringMatching(/Hull failed at its next step: TypeError: /),
        },
      });
      expect(
        journal(world)
          .records.map(({ type }) => type)
          .slice(-3),
      ).toEqual(["ended", "stopped", "finished"]);
      world.now += 120_000;
      await world.revive();
      await world.over();
      expect(world.store.due.list()).toEqual([]);
    });
  });

  it("undoes each stage once, whichever write is the last", async () => {
    const undone = {
      entry: "a",
      nodes: {
        a: { ...said("did a"), compensation: "ua" },
        b: { ...said("did b"), compensation: "ub" },
        w: { kind: "wait", wait: { event: "never" } },
        ua: said("undid a"),
        ub: { kind: "verify", verify: { expect_text: "never" }, retry_policy: { max_attempts: 2 } },
      },
      edges: [edge("a", "b"), edge("b", "w")],
    };
    let deaths = 0;
    for (let writes = 1; writes < 300; writes += 1) {
      const died = await inWorld(
        { replies: [] },
        async (world) => {
          await begin(world, undone);
          for (;;) {
            const { status, finished_at } = await world.ask("workflow", { wait: "none" });
            if (finished_at !== null) break;
            const stop = { kill: false, reason: "no", request: { name: "stop", hash: "" } };
            if (status === "waiting") await world.ask("stopWorkflow", stop);
            await new Promise((resolve) => setTimeout(resolve, 2));
          }
          const { state, records } = journal(world);
          expect({
            writes,
            undone: state.compensations.map(({ id, metadata }) => [id, metadata.compensates]),
          }).toEqual({
            writes,
            undone: [
              [`${world.id}:ub:1`, `${world.id}:b:1`],
              [`${world.id}:ua:1`, `${world.id}:a:1`],
            ],
          });
          expect(records.filter(({ type }) => type === "finished")).toHaveLength(1);
          const runs = await Promise.all(childSessions(state).map((id) => runsOf(id).catch(() => 0)));
          expect({ writes, runs: runs.filter((count) => count > 0) }).toEqual({ writes, runs: [1, 1, 1] });
          return world.deaths;
        },
        { writes, after: false },
      );
      deaths += died;
      if (died === 0) break;
    }
    expect(deaths).toBeGreaterThan(10);
  });

  it("undoes a stage that succeeded unknown to it, if its time passed meanwhile, whichever write is the last", async () => {
    const nodes = { a: { ...said("did a"), compensation: "ua" }, ua: said("undid a") };
    let [deaths, unknown] = [0, 0];
    for (let writes = 1; writes < 300; writes += 1) {
      const died = await inWorld(
        { replies: [] },
        async (world) => {
          const request = { name: "begin", hash: "h" };
          const spec = specOf(world.id, { entry: "a", nodes }, { deadline: world.now + 10_000 });
          const begin = { spec, account: "a", request };
          await world.tryAsk("beginWorkflow", begin);
          // Even a process that can store nothing more begins what it has stored.
          const [stored] = world.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'journal'");
          const started =
            stored !== undefined && journal(world).records.some(({ type }) => type === "started");
          if (started) {
            const [child = ""] = childSessions(journal(world).state);
            const ended = () =>
              statusesOf(child).then(
                ([status]) => status === "done",
                () => false,
              );
            while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 2));
            await world.over();
            if (journal(world).state.stages.length === 0) unknown += 1;
          }
          await world.ask("beginWorkflow", begin);
          while ((await world.ask("workflow", { wait: "none" })).finished_at === null)
            await new Promise((resolve) => setTimeout(resolve, 2));
          const { stages, compensations, finished } = journal(world).state;
          const undone = compensations.map(({ metadata }) => metadata.compensates);
          const succeeded = stages.map(({ id, branch }) => [id, branch]);
          const late = finished?.status === "failed";
          expect({ writes, succeeded, undone }).toEqual({
            writes,
            succeeded: !started && late ? [] : [[`${world.id}:a:1`, "success"]],
            undone: !started || !late ? [] : [`${world.id}:a:1`],
          });
          return world.deaths;
        },
        { writes, after: false },
      );
      deaths += died;
      if (died === 0) break;
    }
    expect(deaths).toBeGreaterThan(3);
    expect(unknown).toBeGreaterThan(0);
  });

  it("continues where its journal has a row for each record, and its stages' sessions are noted as they begin", async () => {
    await inWorld({ replies: [] }, async (world) => {
      await begin(world, GRAPH);
      const statusOf = async () => (await world.ask("workflow", { wait: "none" })).status;
      while ((await statusOf()) !== "waiting") await new Promise((resolve) => setTimeout(resolve, 2));
      await world.over();
      const before = await world.ask("workflow", { wait: "none" });
      const { sql } = world.storage;
      const rows = new Rows<JournalRow | JournalRow[]>(sql, "journal");
      const records = [...rows.after(0)].flatMap((row) => (row.ok ? [row.value].flat() : []));
      sql.exec("DELETE FROM journal");
      for (const [n, record] of records.entries()) rows.insert(n + 1, record);
      // Its stage has sent nothing yet.
      const [child] = childSessions(journal(world).state);
      sql.exec("UPDATE delegate SET relayed = 0, over = 0 WHERE child = ?", child);

      await world.revive();
      await world.over();
      expect(await world.ask("workflow", { wait: "none" })).toEqual(before);
      const relay = { child: child ?? "", after: 0, events: [], last: 1, over: true };
      expect(await world.ask("relay", relay)).toEqual({ known: 1, goes_on: true });
      expect(await played(world)).toMatchObject({ status: "completed" });
    });
  });

  it("keeps long outputs next to its journal, and has them after a restart", async () => {
    const long = "x".repeat(300_000);
    await inWorld({ replies: [] }, async (world) => {
      const graph = {
        entry: "a",
        nodes: {
          a: said(long),
          b: { kind: "reduce", context_policy: { include_stages: ["a"] } },
          w: { kind: "wait", wait: { approval: "Go on?" } },
          r: { kind: "reduce", input_contract: { input_kinds: ["artifact"] } },
        },
        edges: [edge("a", "b"), edge("b", "w"), edge("w", "r")],
      };
      const { FILES } = bindings;
      const stored = async () => {
        const { objects } = await FILES.list({ prefix: `sessions/t/${world.id}/outputs/` });
        return objects.map(({ key }) => key.split(`/outputs/${world.id}/`)[1]);
      };
      await begin(world, graph);
      const statusOf = async () => (await world.ask("workflow", { wait: "none" })).status;
      while ((await statusOf()) !== "waiting") await new Promise((resolve) => setTimeout(resolve, 2));
      expect(await stored()).toEqual(["a/1/1", "b/1/1"]);
      const rows = [...world.storage.sql.exec("SELECT length(data) AS size FROM journal WHERE seq > 2")];
      expect(rows.every(({ size }) => Number(size) < 10_000)).toBe(true);
      const before = await world.ask("workflow", { wait: "none" });

      await world.revive();
      const read = vi.spyOn(FILES, "get").mockRejectedValueOnce(new TypeError("Network connection lost."));
      await world.over();
      expect(await world.ask("workflow", { wait: "none" })).toEqual(before);
      read.mockClear();
      await world.ask("relay", { child: "wfs_another", after: 0, events: [], last: 1, over: true });
      expect(await world.ask("workflow", { wait: "none" })).toEqual(before);
      await world.over();
      expect(read).not.toHaveBeenCalled();
      read.mockRestore();
      const done = await played(world);
      expect(done.stages).toMatchObject([
        { visible_text: long },
        { visible_text: long },
        {},
        { visible_text: long },
      ]);
      await world.ask("remove", null);
      await world.over();
      expect(await stored()).toEqual([]);
    });
  });

  it("is given up after four consecutive attempts that broke off, and another run continues from there", async () => {
    const { FILES } = bindings;
    let [away, tried] = [true, 0];
    const { promise: quiet, resolve: isQuiet } = Promise.withResolvers<void>();
    const env = {
      FILES: new Proxy(FILES, {
        get(bucket, name) {
          if (name === "put" && away)
            return async () => {
              await quiet;
              tried += 1;
              throw new TypeError("R2 is away");
            };
          const value: unknown = Reflect.get(bucket, name);
          return typeof value === "function" ? value.bind(bucket) : value;
        },
      }),
    };
    const nodes = {
      a: { ...said("first"), compensation: "ua" },
      f: { kind: "fork" },
      b: { ...said("x".repeat(300_000)), retry_policy: { max_attempts: 3 } },
      // Its client never answers.
      c: {
        mode: "agent",
        tools: [{ name: "ask", description: "Asks.", parameters: {} }],
        model_policy: { provider: "mock", mock: [{ tool_calls: [{ name: "ask", arguments: {} }] }] },
      },
      j: { kind: "join", join_policy: { strategy: "first" } },
      ua: said("undone"),
    };
    const edges = [edge("a", "f"), edge("f", "b"), edge("f", "c"), edge("b", "j"), edge("c", "j")];
    const graph = { entry: "a", nodes, edges };
    const stagesOf = ({ state }: { state: WorkflowState }) =>
      state.stages.map(({ node_id, branch }) => `${node_id}:${branch}`);
    const lost = await inWorld({ replies: [], env }, async (world) => {
      await begin(world, graph);
      // What the stages report meanwhile is progress.
      const explained = async () => (await world.ask("workflow", { wait: "none" })).explanation;
      await expect.poll(explained).toContain("c waits");
      for (const child of childSessions(journal(world).state))
        await expect.poll(() => toldOf(world, child)).toEqual(await eventsOf(child));
      isQuiet();
      for (let times = 1; times <= 4; times += 1) {
        expect(await world.ask("workflow", { wait: "none" })).toMatchObject({ status: "running" });
        await vi.waitFor(() => expect(tried).toBe(times), 20_000);
        world.now += 20_000;
        world.alarm();
      }
      await expect.poll(() => world.ask("workflow", { wait: "none" })).toMatchObject({ status: "failed" });
      const run = await world.ask("workflow", { wait: "none" });
      expect(run).toMatchObject({ status: "failed", compensations: [], pending_nodes: ["c", "b"] });
      expect(run.error).toMatchObject({
        code: "run_lost",
        message: expect.stringContaining('"b" broke off'),
      });
      expect(run.explanation).toContain(`resume_run: "${world.id}"`);
      expect(stagesOf(journal(world))).toEqual(["a:success", "f:fork", "b:error", "c:error"]);
      expect(workflowWork(journal(world).state, world.id, "r")).toMatchObject({
        how: "lost",
        error: { code: "run_lost", detail: expect.stringContaining("broke off") },
      });
      world.now += 20_000;
      world.alarm();
      await world.over();
      expect(tried).toBe(4);
      await expect
        .poll(() => indexedRun({ env: bindings, tenant: "t" }, world.id))
        .toMatchObject({ state: "failed", code: "run_lost" });
      return recordOf(run);
    });
    away = false;
    await inWorld({ replies: [], env }, async (world) => {
      const spec = specOf(world.id, graph, { origin: resumed(lost, graphOf(graph)) });
      await world.ask("beginWorkflow", { spec, account: "a", request: { name: "begin", hash: "h" } });
      const ended = () => stagesOf(journal(world));
      await vi.waitFor(() => expect(ended().slice(4)).toEqual(["b:success", "j:join"]), 20_000);
      await world.ask("remove", null);
    });
  });

  it("keeps of a removed run what a repetition needs, for a day and although processes die", async () => {
    await inWorld({ replies: [] }, async (world) => {
      const begun = () => begin(world, { nodes: { a: said("x") } });
      const known = () => world.ask("known", { request: { name: "begin", hash: "h" } });
      await begun();
      await world.ask("workflow", { wait: "terminal" });
      expect(await known()).not.toBeNull();
      await world.ask("remove", null);
      const left = () =>
        ["records", "events", "run", "due"].map((table) => [
          table,
          world.storage.sql.exec(`SELECT * FROM ${table}`).toArray().length,
        ]);
      const gone = { code: "not_found" };
      for (const _ of [1, 2]) {
        expect(left()).toEqual([
          ["records", 0],
          ["events", 0],
          ["run", 0],
          ["due", 1],
        ]);
        await expect(known()).rejects.toMatchObject(gone);
        await expect(begun()).rejects.toMatchObject(gone);
        await expect(world.ask("workflow", { wait: "none" })).rejects.toMatchObject(gone);
        await world.revive();
      }
      world.now += 24 * 3_600_000;
      world.alarm();
      await world.over();
      const tables = "SELECT name FROM sqlite_master WHERE name = 'session'";
      expect([world.storage.sql.exec(tables).toArray(), await world.storage.getAlarm()]).toEqual([[], null]);
      expect(await known()).toBeNull();
    });
  });

  const next = (data: string) =>
    `INSERT INTO journal (seq, part, data) VALUES ((SELECT max(seq) + 1 FROM journal), 0, ${data})`;
  const asRow = (value: Json) => `CAST('${JSON.stringify(value)}' AS BLOB)`;

  it.each([
    ["cannot be read", next("x'7b'"), ["a"]],
    ["is of a later version", next(asRow({ type: "thought_over", at: 1 })), ["a"]],
    ["is not a record", next(asRow(5)), ["a"]],
    ["lacks its outcome", next(asRow({ type: "ended", at: 1, node: "w", visit: 1, attempt: 1 })), ["a"]],
    ["with the caller of the run is lost", "UPDATE journal SET data = x'7b' WHERE seq = 1", ["a"]],
    ["with the specification of the run is lost", "UPDATE journal SET data = x'7b' WHERE seq = 2", []],
    [
      "with the specification of the run is empty",
      `UPDATE journal SET data = ${asRow({ type: "begun", at: 1, spec: {} })} WHERE seq = 2`,
      [],
    ],
  ])("ends if a record %s, and neither continues nor undoes anything", async (_, damage, known) => {
    await inWorld({ replies: [] }, async (world) => {
      const nodes = {
        a: { ...said("first"), compensation: "ua" },
        w: { kind: "wait", wait: { approval: "Go on?" } },
        b: said("second"),
        ua: said("undone"),
      };
      await begin(world, { entry: "a", nodes, edges: [edge("a", "w"), edge("w", "b")] });
      const run = () => world.ask("workflow", { wait: "none" });
      await expect.poll(run).toMatchObject({ status: "waiting" });
      world.storage.sql.exec(damage);
      await world.revive();
      expect(await world.ask("workflow", { wait: "terminal" })).toMatchObject({
        id: world.id,
        status: "failed",
        error: { code: "run_lost", message: expect.stringContaining("cannot read") },
        stages: known.map((node_id) => ({ node_id })),
        compensations: [],
      });
      await world.revive();
      expect(await run()).toMatchObject({ error: { code: "run_lost" } });
      world.now += 60_000;
      world.alarm();
      await world.over();
      expect(await indexedRun({ env: bindings, tenant: "t" }, world.id)).toMatchObject({
        state: "failed",
        code: "run_lost",
      });
      await world.ask("remove", null);
      await world.over();
      expect(await indexedRun({ env: bindings, tenant: "t" }, world.id)).toBeNull();
    });
  });

  it("leaves nothing of an outcome that is being written to R2 when the run is removed", async () => {
    const { FILES } = bindings;
    const [begun, on] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let cleared = false;
    const slow = new Proxy(FILES, {
      get: (bucket, name) => {
        if (name === "put")
          return async (...[key, ...rest]: Parameters<R2Bucket["put"]>) => {
            if (key.includes("/outputs/")) begun.resolve();
            await on.promise;
            return bucket.put(key, ...rest);
          };
        const value: unknown = Reflect.get(bucket, name);
        if (name === "list") cleared = true;
        return typeof value === "function" ? value.bind(bucket) : value;
      },
    });
    await inWorld({ replies: [], env: { FILES: slow } }, async (world) => {
      await begin(world, { nodes: { a: said("x".repeat(300_000)) } });
      await begun.promise;
      cleared = false;
      const removed = world.ask("remove", null);
      // A removal that does not wait clears R2 in one of these turns.
      for (let turn = 0; turn < 300 && !cleared; turn++)
        await new Promise((resolve) => setTimeout(resolve, 0));
      on.resolve();
      await removed;
      await world.over();
      expect((await FILES.list({ prefix: `sessions/t/${world.id}/` })).objects).toEqual([]);
    });
  });

  it("leaves nothing of its row in the lists that is being written when the run is removed", async () => {
    const [begun, on] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const rows = new WeakSet<D1PreparedStatement>();
    let [holds, forgotten] = [false, false];
    const slow = new Proxy(bindings.DB, {
      get: (db, name) => {
        if (name === "prepare")
          return (sql: string) => {
            if (sql.startsWith("DELETE FROM workflow_runs")) forgotten = true;
            const statement = db.prepare(sql);
            if (!sql.startsWith("INSERT INTO workflow_runs")) return statement;
            return {
              bind: (...values: unknown[]) => {
                const bound = statement.bind(...values);
                rows.add(bound);
                return bound;
              },
            };
          };
        if (name === "batch")
          return async (statements: D1PreparedStatement[]) => {
            if (holds && statements.some((one) => rows.has(one))) {
              begun.resolve();
              await on.promise;
            }
            return db.batch(statements);
          };
        const value: unknown = Reflect.get(db, name);
        return typeof value === "function" ? value.bind(db) : value;
      },
    });
    await inWorld({ replies: [], env: { DB: slow } }, async (world) => {
      const nodes = { a: { kind: "reduce" }, w: { kind: "wait", wait: { sleep_ms: 3_600_000 } } };
      await begin(world, { entry: "a", nodes, edges: [edge("a", "w")] });
      await world.over();
      holds = true;
      const request = { name: "stop", hash: "h" };
      await world.ask("stopWorkflow", { kill: true, reason: "over", request });
      await begun.promise;
      const removed = world.ask("remove", null);
      // A removal that does not wait removes the row in one of these turns.
      for (let turn = 0; turn < 300 && !forgotten; turn++)
        await new Promise((resolve) => setTimeout(resolve, 0));
      if (forgotten) await removed;
      on.resolve();
      await removed;
      await world.over();
      expect(await indexedRun({ env: bindings, tenant: "t" }, world.id)).toBeNull();
    });
  });

  it("sleeps with one due time, and writes nothing when it is read", async () => {
    const storage = counting();
    await inWorld(
      { replies: [] },
      async (world) => {
        const nodes = { a: { kind: "reduce" }, w: { kind: "wait", wait: { sleep_ms: 3_600_000 } } };
        await begin(world, { entry: "a", nodes, edges: [edge("a", "w")] });
        await world.over();
        const due = (): string[] => world.store.due.list().map(({ kind }) => kind);
        await expect.poll(due).toEqual(["workflow"]);
        const before = storage.written();
        await world.ask("workflow", { wait: "none" });
        expect(storage.written() - before).toBe(0);
        world.now += 3_600_000;
        await world.revive();
        await world.over();
        expect(await world.ask("workflow", { wait: "none" })).toMatchObject({ status: "completed" });
      },
      undefined,
      storage.wrap,
    );
  });
});
