/**
 * What a task survives: its process dies at any of its writes, and the next one continues. The session above knows each
 * event once.
 */

import { expect, it, vi } from "vitest";
import { Deployment } from "../../src/deployment.ts";
import { NO_CEILINGS } from "../../src/engine/agent/delegation.ts";
import type { AgentSpec } from "../../src/engine/agent/spec.ts";
import { detachedContext } from "../../src/run/context.ts";
import { type SessionClient, sessionClient } from "../../src/run/session-client.ts";
import type { TaskSettings } from "../../src/run/task/handle.ts";
import { readEvents } from "../support/sse.ts";
import { said, specOf } from "../support/workflow-graphs.ts";
import { bindings } from "./file-bindings.ts";
import { inWorld, type Script, SPEC, tool, type World } from "./session-world.ts";
import { settingsOf } from "./task-settings.ts";

const journal = { ...tool("write"), handler: "journal" };
const SCRIPT: Script = {
  spec: { tools: [journal] },
  replies: [{ text: "First I write.", calls: [["write", {}]] }, "It is done."],
};
const request = (name: string) => ({ name, hash: "h" });

let parents = 0;
/** A session above, which the test does not kill. */
async function above(): Promise<SessionClient> {
  const deployment = new Deployment(bindings);
  const context = detachedContext(deployment, { requestId: "r", tenant: "t", startedAt: 0 }, () => {});
  const session = sessionClient(context, `above-${++parents}`);
  await session.ask("open", { metadata: {}, request_hash: null, imported: null });
  return session;
}

async function play(world: World, parent: string, named: boolean): Promise<void> {
  const prompt: AgentSpec["prompt"] = [{ role: "user", content: [{ type: "text", text: "Dig." }] }];
  const delegation = { parent: { session_id: parent, run_id: null }, levels: 1, account: parent };
  const spec = { ...SPEC, ...world.script.spec, prompt, run_id: "r1", session_id: world.id, delegation };
  const settings = settingsOf(parent);
  await world.ask("spawn_task", {
    work: { agent: spec },
    settings,
    imported: null,
    listed: false,
    wait: false,
    request: named ? request("spawn") : null,
  });
  await world.ask("task_wait", { timeout_ms: null, until: "end" });
  await world.ask("task_input", { run_id: "r2", task: "Dig on.", request: request("input") });
  await world.ask("task_wait", { timeout_ms: null, until: "end" });
}

/** All events of the session above. */
async function told(session: SessionClient) {
  const { last_event } = await session.ask("view", null);
  const reader = (await session.events(null, 0)).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(`:${last_event}\n`) || !text.endsWith("\n\n")) {
    text += decoder.decode((await reader.read()).value, { stream: true });
  }
  await reader.cancel();
  return readEvents(new Response(text));
}

it.each([false, true])(
  "loses and repeats nothing whichever write is the last (stored: %s)",
  async (after) => {
    let deaths = 0;
    // Of all writes every other one is the last that is stored, in either way another one.
    for (let writes = 1; writes < 200; writes += 2) {
      const parent = await above();
      const died = await inWorld(
        SCRIPT,
        async (world) => {
          await play(world, parent.id, after);
          const task = await world.ask("task", null);
          expect([writes, task.status, task.history]).toEqual([writes, "completed", ["Dig.", "Dig on."]]);
          expect(task.result).toMatchObject({ ok: true, status: "done" });
          // An effect of each run, once.
          expect(world.performed).toEqual(["r1 tool-0-0 write", "r2 tool-0-0 write"]);
          // A task that dies after the answer reports its end when its alarm fires.
          await world.revive();
          await world.ask("task_wait", { timeout_ms: null, until: "end" });
          const events = await told(parent);
          const counted = (name: string): number => events.filter(({ event }) => event === name).length;
          expect([writes, counted("sub_agent_start"), counted("sub_agent_result")]).toEqual([writes, 2, 2]);
          expect([writes, counted("tool_call"), counted("tool_result")]).toEqual([writes, 2, 2]);
          const own = world.events().filter(({ event }) => !["start", "done", "error"].includes(event));
          const names = events.map(({ event }) => event).filter((name) => !name.startsWith("sub_agent_"));
          expect(names).toEqual(own.map(({ event }) => event));
          return world.deaths;
        },
        { writes, after },
      );
      deaths += died;
      if (died === 0) break;
    }
    expect(deaths).toBeGreaterThan(8);
  },
);

/** The sessions, of which each dies once it has stored events of a task; until `revive` nothing reaches one any more. */
function dying() {
  const dead = Promise.withResolvers<void>();
  let alive = true;
  const broken = (): Error => new Error("the session above has died");
  const revive = (): void => {
    alive = true;
  };
  const SESSIONS = new Proxy(bindings.SESSIONS, {
    get(namespace, member) {
      if (member !== "get") return Reflect.get(namespace, member).bind(namespace);
      return (id: DurableObjectId) => {
        const stub = namespace.get(id);
        return {
          async ask(question: Parameters<typeof stub.ask>[0]) {
            if (!alive) throw broken();
            const answer = await stub.ask(question);
            if (!/"last":[1-9]/.test(JSON.stringify(question).replaceAll("\\", ""))) return answer;
            alive = false;
            dead.resolve();
            throw broken();
          },
        };
      };
    },
  });
  return { SESSIONS, dead: dead.promise, revive };
}

it("a session above that dies before it answers gets what comes after, and the end", async () => {
  const parent = await above();
  const sessions = dying();
  const asked = (iteration: number): Promise<void> => (iteration === 0 ? Promise.resolve() : sessions.dead);
  await inWorld({ ...SCRIPT, env: { SESSIONS: sessions.SESSIONS }, asked }, async (world) => {
    const delegation = { parent: { session_id: parent.id, run_id: null }, levels: 1, account: parent.id };
    const spec = { ...SPEC, ...SCRIPT.spec, run_id: "r1", session_id: world.id, delegation };
    const task = {
      settings: settingsOf(parent.id),
      imported: null,
      listed: false,
      wait: false,
      request: null,
    };
    await world.ask("spawn_task", { work: { agent: spec }, ...task });
    await world.ask("task_wait", { timeout_ms: null, until: "end" });
    sessions.revive();
    world.now += 20_000;
    world.alarm();
    const own = world.events().filter(({ event }) => !["start", "done", "error"].includes(event));
    const names = ["sub_agent_start", ...own.map(({ event }) => event), "sub_agent_result"];
    await expect.poll(async () => (await told(parent)).map(({ event }) => event)).toEqual(names);
  });
});

it("a task that dies before its run begins holds no budget; after that it does", async () => {
  const over = Promise.withResolvers<void>();
  const script = { spec: { token_budget: 100 }, replies: [], asked: () => over.promise };
  await inWorld(script, async (world) => {
    try {
      await world.open();
      await world.start("r1", "go");
      // What the session of a task asked for, before its process died.
      const asks = { task_run: "t0", tokens: 60, usd: null, ended: null };
      await world.ask("delegate", { child: "dead", run_id: "r1", asks });
      const begun = await waitingTask(world, 30);
      const left = async (): Promise<number | null> => (await world.ask("ceilings", null)).tokens;
      expect(await left()).toBe(10);
      world.now += 20_000;
      world.alarm();
      await expect.poll(left).toBe(70);
      world.now += 20_000;
      world.alarm();
      expect((await begun.ask("task", null)).status).toBe("running");
      expect(await left()).toBe(70);
      await begun.ask("task_close", { request: null });
    } finally {
      await world.ask("cancel", { run_id: "r1" });
      over.resolve();
    }
  });
});

/** A task below the run of this session that waits for its client. */
async function waitingTask({ id, script }: World, token_budget: number): Promise<SessionClient> {
  const origin = { requestId: "r", tenant: "t", startedAt: 0 };
  const session = sessionClient(
    detachedContext(new Deployment(bindings), origin, () => {}),
    `${id}-child`,
  );
  const agent: AgentSpec = {
    ...SPEC,
    ...script.spec,
    tools: [{ ...tool("ask"), executor: "client" }],
    token_budget,
    prompt: [{ role: "user", content: [{ type: "text", text: "Dig." }] }],
    delegation: { parent: { session_id: id, run_id: "r1" }, levels: 1, account: id },
    run_id: "t1",
    session_id: session.id,
    call: { provider: "mock", mock: [{ tool_calls: [{ name: "ask", arguments: {} }] }] },
  };
  const settings = settingsOf(id);
  settings.parent = { session_id: id, run_id: "r1", task_id: null };
  const rest = { imported: null, listed: true, wait: false, request: null };
  await session.ask("spawn_task", { work: { agent }, settings, ...rest });
  return session;
}

it.each([false, true])("as a stage of a workflow, loses and repeats nothing (stored: %s)", async (after) => {
  let deaths = 0;
  for (let writes = 1; writes < 100; writes += 1) {
    const parent = await above();
    const died = await inWorld(
      SCRIPT,
      async (world) => {
        await parent.ask("delegate", { child: world.id, run_id: "wf_1" });
        const opens = { workflow_run_id: "wf_1" };
        const delegation = { parent: { session_id: parent.id, run_id: null }, levels: 1, account: "a" };
        const spec = { ...SPEC, ...SCRIPT.spec, run_id: "r1", session_id: world.id, delegation };
        await world.ask("start", { run_id: "r1", work: { spec }, request: null, wait: "terminal", opens });
        await world.revive();
        await world.over();
        const shown = world.events().filter(({ event }) => !["start", "done", "error"].includes(event));
        const events = (await told(parent)).map(({ event }) => event);
        expect([writes, events]).toEqual([writes, shown.map(({ event }) => event)]);
        expect(world.performed).toEqual(["r1 tool-0-0 write"]);
        // Everything is reported: nothing is due any more.
        const kinds = world.store.due.list().map(({ kind }) => kind);
        expect([writes, kinds.filter((kind) => kind === "watch" || kind === "relay")]).toEqual([writes, []]);
        return world.deaths;
      },
      { writes, after },
    );
    deaths += died;
    if (died === 0) break;
  }
  expect(deaths).toBeGreaterThan(5);
});

/** Far longer than sessions wait before they check what they have not reported (`WATCH_MS`), also on a busy machine. */
const CHECKED = { timeout: 120_000 };
const GRAPH = {
  entry: "r",
  nodes: { r: { kind: "reduce" }, s: { kind: "subagent", ...said("dug ##DONE##") } },
  edges: [{ from: "r", to: "s" }],
};

/** Asks again and again: a request that waits in a process that then dies would wait forever. */
async function ended(world: World): Promise<void> {
  for (;;) {
    const { task } = await world.ask("task_wait", { timeout_ms: 5, until: "end" });
    if (task.status !== "running") return;
  }
}

/** The same for a task whose work is a workflow run. */
async function playGraph(world: World, parent: string): Promise<void> {
  const above = { ...NO_CEILINGS, session_id: parent, account: parent };
  const spec = specOf(world.id, GRAPH, { task: "Dig.", above });
  const settings: TaskSettings = { ...settingsOf(parent), mode: "workflow" };
  const task = { settings, imported: null, listed: false, wait: false, request: request("spawn") };
  await world.ask("spawn_task", { work: { workflow: spec }, ...task });
  await ended(world);
  await world.ask("task_input", { run_id: "unused", task: "Dig on.", request: request("input") });
  await ended(world);
}

it.each([false, true])("with a graph, loses and repeats nothing (stored: %s)", async (after) => {
  let deaths = 0;
  for (let writes = 1; writes < 200; writes += 2) {
    const parent = await above();
    const died = await inWorld(
      { replies: [] },
      async (world) => {
        await playGraph(world, parent.id);
        const task = await world.ask("task", null);
        expect([writes, task.status, task.history]).toEqual([writes, "completed", ["Dig.", "Dig on."]]);
        expect(task).toMatchObject({
          child_run_id: `${world.id}.r2`,
          result: { visible_text: "dug" },
        });
        await world.revive();
        await world.ask("task_wait", { timeout_ms: null, until: "end" });
        // The sub-agent of each run, and each run, report their beginnings and ends once. What a sub-agent could not report
        // while the process was dead comes at its next check.
        const updates = () => world.events().filter(({ event }) => event === "task_update").length;
        await vi.waitFor(() => expect([writes, updates()]).toEqual([writes, 8]), CHECKED);
        const own = world.events();
        const ends = own.filter(({ event }) => event === "done").map(({ data }) => data);
        expect([writes, ends]).toMatchObject([writes, [{ ok: true }, { ok: true }]]);
        const shown = own.filter(({ event }) => !["start", "done", "error"].includes(event));
        const names = shown.map(({ event }) => event);
        const above = async () => (await told(parent)).map(({ event }) => event);
        await vi.waitFor(async () => expect(await above()).toEqual(names), CHECKED);
        return world.deaths;
      },
      { writes, after },
    );
    deaths += died;
    if (died === 0) break;
  }
  expect(deaths).toBeGreaterThan(10);
});
