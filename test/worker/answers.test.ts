/** How every route that runs something gives its answer: whole, as events, later, or again under a key. */
import { beforeAll, describe, expect, it } from "vitest";
import { dataOf, readEvents } from "../support/sse.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { type Body, client, codeOf, post, session } from "./session-client.ts";

const NO_KEY = "provider: openai\nmode: llm\n";
beforeAll(() =>
  client.publish({
    cat: mockSkill("cat"),
    broken: `---\nname: broken\ndescription: Its provider has no key.\n${NO_KEY}---\nAnswer.\n`,
    files: {
      "SKILL.md": "---\nname: files\ndescription: Makes a file.\noutput: file\nrun: [./go]\n---\n",
      go: "#!/bin/sh\n",
    },
  }),
);

const provider = "mock";
const graph = (mock: object[]) => ({ nodes: { a: { prompt: "x", model_policy: { provider, mock } } } });
const node = { kind: "subagent", mode: "llm" };

/** A request that runs something: its path, and its body with a text and the answers of its model. */
interface Route {
  path: () => Promise<string> | string;
  body: (text: string, mock: object[]) => Body;
  /** It takes `?wait=`. */
  waits?: true;
}
const asked = (text: string, mock: object[]) => ({ prompt: text, options: { provider, mock } });
const ROUTES: { [name: string]: Route } = {
  "a skill": { path: () => "/skills/cat", body: (input) => ({ input }) },
  "a skill in a session": {
    path: async () => `/skills/cat?session_id=${(await session()).split("/").at(-1)}`,
    body: (input) => ({ input }),
  },
  "/llm/call": { path: () => "/llm/call", body: asked },
  "/llm/stream": { path: () => "/llm/stream", body: asked },
  "/llm/structured": {
    path: () => "/llm/structured",
    body: (text, mock) => ({ ...asked(text, mock), schema: {} }),
  },
  "/llm/completion": {
    path: () => "/llm/completion",
    body: (prefix, mock) => ({ prefix, options: { provider, mock } }),
  },
  "/runs": { path: () => "/runs", body: asked, waits: true },
  "/sessions/{id}/runs": { path: async () => `${await session()}/runs`, body: asked, waits: true },
  "/tasks": {
    path: () => "/tasks",
    body: (task, mock) => ({ task, node, options: { provider, mock }, wait: true }),
  },
  "/tasks with a graph": {
    path: () => "/tasks",
    body: (task, mock) => ({ task, graph: graph(mock), wait: true }),
  },
  "/sub-agents": {
    path: () => "/sub-agents",
    body: (task, mock) => ({ task, options: { provider, mock } }),
    waits: true,
  },
  "/workflows/execute": {
    path: () => "/workflows/execute",
    body: (task, mock) => ({ task, graph: graph(mock) }),
    waits: true,
  },
  "/workflows/task_run": {
    path: () => "/workflows/task_run",
    body: (task, mock) => ({ task, flow: graph(mock) }),
    waits: true,
  },
};
const ALL = Object.entries(ROUTES);
const SAID = [{ text: "said" }];
const EVENTS = { accept: "text/event-stream" };

let keys = 0;
const freshKey = () => ({ "idempotency-key": `answer-${++keys}` });

describe.each(ALL)("%s", (name, route) => {
  it("is answered later if the client prefers that, whatever it accepts, and has a place to look", async () => {
    for (const accepts of [{}, EVENTS]) {
      const headers = { prefer: "respond-async", ...accepts };
      const response = await post(await route.path(), route.body("x", SAID), headers);
      expect([response.status, response.headers.get("preference-applied")]).toEqual([202, "respond-async"]);
      expect(await response.json()).toMatchObject({ id: expect.any(String), status: expect.any(String) });
      const location = response.headers.get("location") ?? "";
      expect((await client.fetch(location)).status).toBe(200);
    }
  });

  it.runIf(route.waits)("?wait=none means the same, and is no preference", async () => {
    const response = await post(`${await route.path()}?wait=none`, route.body("x", SAID));
    expect([response.status, response.headers.get("preference-applied")]).toEqual([202, null]);
    expect((await client.fetch(response.headers.get("location") ?? "")).status).toBe(200);
    const never = await post(`${await route.path()}?wait=never`, route.body("x", SAID));
    expect(await codeOf(never)).toEqual([400, "bad_request"]);
  });

  it("streams its run up to done", async () => {
    const response = await post(await route.path(), route.body("x", SAID), EVENTS);
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store, no-transform"]);
    const events = await readEvents(response);
    expect(events.at(0)?.event).toBe("start");
    expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true } });
  });

  it("is one run for all forms of its answer under a key, and says that it ended before", async () => {
    const [path, body, key] = [await route.path(), route.body("x", SAID), freshKey()];
    const later = await post(path, body, { ...key, prefer: "respond-async" });
    const ids = ({ headers }: Response) => [
      headers.get("x-hull-run-id"),
      name.includes("session") ? null : headers.get("x-hull-execution-id"),
    ];
    const whole = await post(path, body, key);
    const stream = await post(path, body, { ...key, ...EVENTS });
    for (const again of [whole, stream]) {
      expect([again.ok, ...ids(again)]).toEqual([true, ...ids(later)]);
      expect(ids(again).some((id) => id !== null)).toBe(true);
    }
    expect(stream.headers.get("x-hull-replayed")).toBe("1");
    if (route.waits) {
      const none = await post(`${path}?wait=none`, body, key);
      expect([none.status, ...ids(none)]).toEqual([202, ...ids(later)]);
    }
    const other = await post(path, route.body("y", SAID), key);
    expect(await codeOf(other)).toEqual([422, "idempotency_key_reused"]);
  });

  it("begins nothing if it cannot be followed after the event that the client names; without events, that is nothing", async () => {
    const [path, key] = [await route.path(), freshKey()];
    for (const named of [key, {}]) {
      const bad = { ...named, ...EVENTS, "last-event-id": "x" };
      expect(await codeOf(await post(path, route.body("x", SAID), bad))).toEqual([400, "bad_request"]);
    }
    const later = { ...key, prefer: "respond-async", "last-event-id": "x" };
    const begun = await post(path, route.body("y", SAID), later);
    expect([begun.status, begun.headers.get("x-hull-replayed")]).toEqual([202, null]);
  });
});

it("the 202 of a workflow run shows no secret that its task holds", async () => {
  const secret = "sk-canary-0123456789";
  const by = new Client({ ...LOCAL, OPENAI_API_KEY: secret });
  const headers = { "content-type": "application/json", prefer: "respond-async" };
  const body = JSON.stringify({ task: `Use ${secret}.`, graph: graph(SAID) });
  const begun = await by.fetch("/workflows/execute", { method: "POST", headers, body });
  const { run } = await begun.json<{ run: { task: string } }>();
  expect([begun.status, run.task]).toEqual([202, "Use [redacted]."]);
});

it("a list of workflow runs cuts no name and no task within a secret", async () => {
  const secret = "sk-canary-0123456789";
  const by = new Client({ ...LOCAL, OPENAI_API_KEY: secret });
  const [name, task] = [120, 190].map((before) => "x".repeat(before) + secret);
  const body = JSON.stringify({ task, graph: { ...graph(SAID), name } });
  const headers = { "content-type": "application/json" };
  expect((await by.fetch("/workflows/execute", { method: "POST", headers, body })).status).toBe(200);
  await expect
    .poll(async () => (await by.fetch("/workflows/runs")).text())
    .toMatch(/"x{120}\[redacte","task":"x{190}\[redacted\]",/);
});

describe("a failure", () => {
  const FAILS = [{ error: { category: "auth", message: "no" } }];
  const failing = ALL.filter(
    ([name]) => !/skill|stream|structured|graph|sub-agents|workflows/.test(name),
  ).concat([["a skill", { path: () => "/skills/broken", body: (input) => ({ input }) }]]);

  it.each(failing)("of %s is the same under its key, now and later", async (_, route) => {
    const [path, body, key] = [await route.path(), route.body("x", FAILS), freshKey()];
    const first = await post(path, body, key);
    const ids = ({ headers }: Response) =>
      ["x-hull-run-id", "x-hull-execution-id"].map((id) => headers.get(id));
    const named = ids(first);
    expect(named.some((id) => id !== null)).toBe(true);
    const code = await codeOf(first);
    expect(code[0]).toBeGreaterThanOrEqual(500);
    const again = await post(path, body, key);
    expect([ids(again), await codeOf(again)]).toEqual([named, code]);
  });

  it.each(["", "key"])("before the first event names its run and skill, too %s", async (keyed) => {
    const key = keyed === "" ? {} : freshKey();
    const told = async (response: Response) => {
      const { headers } = response;
      const names = ["x-hull-execution-id", "x-hull-skill"].map((name) => headers.get(name)?.slice(0, 3));
      return [...(await codeOf(response)), ...names];
    };
    const failed = [503, "provider_not_configured", "ex_", "bro"];
    for (const query of ["", "?stream=1"])
      expect(await told(await post(`/skills/broken${query}`, { input: "x" }, key))).toEqual(failed);
    const invalid = [422, "input_invalid", "ex_", "cat"];
    const options = { provider, skill: "cat", max_iterations: "many" };
    expect(await told(await post("/runs", { prompt: "x", options }, key))).toEqual(invalid);
    expect(await told(await post("/skills/cat", { wrong: 1 }, key))).toEqual(invalid);
  });
});

it("a skill whose output is a file is answered later, also to a client that accepts only events", async () => {
  const headers = { prefer: "respond-async", ...EVENTS };
  expect((await post("/skills/files", { input: "x" }, headers)).status).toBe(202);
});

it("the stream of /workflows/task_run holds what /workflows/execute streams", async () => {
  const { path, body } = ROUTES["/workflows/task_run"] ?? { path: () => "", body: () => ({}) };
  const events = await readEvents(await post(await path(), body("x", SAID), EVENTS));
  expect(dataOf(events, "done")).toMatchObject([{ ok: true, status: "completed", run: { task: "x" } }]);
});
