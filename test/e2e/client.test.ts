/** `hullrun/client` against a real `hull dev`, through a network that breaks its connections. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Hull, HullConnectionError, HullError, type HullEvent } from "hullrun/client";
import { afterAll, afterEach, beforeAll, expect, expectTypeOf, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { type CuttingProxy, startCuttingProxy } from "../support/cutting-proxy.ts";

/** Counts to ten, not all at once, and notes each of its runs in the file that its input names. */
const COUNT = `#!/bin/bash
read -r note; echo run >> "$note"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i"; sleep 0.05; done
`;
const SLEEP = "#!/bin/bash\necho begun; sleep 60\n";
const script = (name: string, more = ""): string =>
  `---\nname: ${name}\ndescription: ${name}. Use in tests.\nmode: script\nrun: [bash, run.sh]\n${more}---\n`;
const ASKER =
  "---\nname: asker\ndescription: Asks. Use when asked.\nmode: llm\nprovider: mock\ntools:\n  - {name: look, description: Looks, " +
  "command: [echo, seen], parameters: [{name: where, description: w}], annotations: {destructive: true}}\n---\nAsk.\n";

let upstreamCalls = 0;
const upstream = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith("/skills/") === true) {
    upstreamCalls += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    // "ä" in Latin-1, as bytes that are no UTF-8; with line ends of every kind, and no last event.
    const start = "id: ex_1:1\r\nevent: start\r\ndata: {}\r\n\r\n";
    const events = `${start}: hb\n\nid: ex_1:2\rdata: {"b64":\rdata: "5A=="}\revent: delta\r\r`;
    // In pieces of one character.
    const write = (at: number): unknown =>
      at === events.length ? response.end() : response.write(events.charAt(at), () => write(at + 1));
    return void write(0);
  }
  if (request.url !== "/long") return void response.end(request.url);
  upstreamCalls += 1;
  response.end("x".repeat(4096));
});
await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
const { port } = upstream.address() as AddressInfo;

const { hull: server } = await commonHull({
  "count/SKILL.md": script("count"),
  "count/run.sh": COUNT,
  "sleeper/SKILL.md": script("sleeper"),
  "sleeper/run.sh": SLEEP,
  "asker/SKILL.md": ASKER,
  "passed-on/SKILL.md": `---\nname: passed-on\ndescription: Passes on. Use in tests.\nmode: proxy\nproxy: http://127.0.0.1:${port}/long\n---\n`,
  "looked-up/SKILL.md": `---\nname: looked-up\ndescription: Looks up. Use in tests.\nmode: proxy\nmethod: GET\nproxy: http://127.0.0.1:${port}/where\n---\n`,
});
let proxy: CuttingProxy;
let hull: Hull;
/** Without anything between. */
const direct = new Hull({ url: server.url });

beforeAll(async () => {
  proxy = await startCuttingProxy(server.url);
  // Each call has a connection of its own, so that the plan says which one is cut.
  hull = new Hull({ url: proxy.url, headers: { connection: "close" } });
});
afterEach(() => proxy.cut());
afterAll(async () => {
  await proxy.close();
  upstream.close();
});

const lines = Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join("");
const note = (name: string): string => join(server.root, name);
const runs = async (name: string): Promise<number> =>
  (await readFile(note(name), "utf8")).split("\n").length - 1;
const textOf = (events: readonly HullEvent[]): string =>
  events.map((event) => (event.event === "delta" ? (event.data.text ?? "") : "")).join("");
async function all<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test("a stream that is cut repeatedly loses nothing and repeats nothing", async () => {
  // Within the headers, within an event, after some events.
  proxy.cut(100, 700, 1100, 900);
  const before = proxy.connections();
  const events = await all(hull.stream("count", note("cut")));
  expect(textOf(events)).toBe(lines);
  expect(events.map(({ id }) => Number(id.split(":")[1]))).toEqual(events.map((_, i) => i + 1));
  expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true, exit_code: 0 } });
  expect(proxy.connections() - before).toBeGreaterThanOrEqual(5);
  expect(await runs("cut")).toBe(1);
});

test("text() yields the whole answer so far, readable() its bytes, result() the result", async () => {
  proxy.cut(800);
  let text = "";
  for await (text of hull.stream("count", note("text")).text()) expect(lines.startsWith(text)).toBe(true);
  expect(text).toBe(lines);
  proxy.cut(800);
  expect(await new Response(hull.stream("count", note("bytes")).readable()).text()).toBe(lines);
  const stream = hull.llm.stream({ prompt: "Who?", options: { mock: [{ text: "Me." }] } });
  const answer = await stream.result();
  await expect(stream.result()).rejects.toThrow("has been read before");
  expect(answer).toMatchObject({ ok: true, text: "Me.", llm_ms: expect.any(Number) });
  expectTypeOf(answer.text).toEqualTypeOf<string>();
  expectTypeOf(answer.llm_ms).toEqualTypeOf<number | undefined>();
});

test("the client asks again for an answer that is lost on its way, and gets the same run", async () => {
  proxy.cut(0, 40);
  const answer = await hull.run("count", note("lost"));
  expect(answer.text).toBe(lines);
  expect(await runs("lost")).toBe(1);
  proxy.cut(0);
  await expect(hull.run("count", note("once"), { idempotencyKey: false })).rejects.toThrow(
    HullConnectionError,
  );
});

test("if the answer of a proxy skill's call is lost, the upstream does not get the call again", async () => {
  proxy.cut(300);
  await expect(hull.run("passed-on", "x")).rejects.toThrow(HullConnectionError);
  expect(upstreamCalls).toBe(1);
});

test("the client asks again for a stream that ends too early where that is safe, and returns bytes unchanged", async () => {
  const early = new Hull({ url: `http://127.0.0.1:${port}`, retries: 1 });
  for (const [settings, calls] of [
    [{ idempotencyKey: false }, 1],
    [{}, 3],
  ] as const) {
    upstreamCalls = 0;
    const events: HullEvent[] = [];
    const read = async (): Promise<void> => {
      for await (const event of early.stream("early", "x", settings)) events.push(event);
    };
    await expect(read()).rejects.toThrow(HullConnectionError);
    // The second time the client gets no card, which would say what kind of skill it is.
    expect(upstreamCalls).toBeLessThanOrEqual(calls);
    expect(events.map(({ event }) => event)).toEqual(["start", "delta"]);
  }
  const reader = early.stream("early", "x", { idempotencyKey: false }).readable().getReader();
  expect(await reader.read()).toEqual({ done: false, value: Uint8Array.of(0xe4) });
  await reader.cancel();
});

test("a failure is a HullError with the members of the problem document", async () => {
  const error = await hull.run("nobody").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HullError);
  expect(error).toMatchObject({ code: "skill_not_found", status: 404, requestId: expect.any(String) });
  const failed = hull.stream("asker", "x", { headers: { "x-hull-nothing": "1" }, files: ["file_x"] });
  await expect(failed.result()).rejects.toMatchObject({ status: expect.any(Number), name: "HullError" });
  const mock = [{ error: { category: "auth", message: "no" } }];
  await expect(hull.llm.stream({ prompt: "x", options: { mock } }).result()).rejects.toMatchObject({
    code: "provider_auth_failed",
  });
  await expect(new Hull({ url: "http://127.0.0.1:1", retries: 0 }).run("x")).rejects.toThrow(
    HullConnectionError,
  );
});

test("the client refuses what it cannot send as the caller means it, and sends nothing", async () => {
  const sent: string[] = [];
  const client = new Hull({
    url: server.url,
    fetch: (url, init) => {
      sent.push(url);
      return fetch(url, init);
    },
  });
  const circular: { self?: object } = {};
  circular.self = circular;
  const keyless = new Hull({ url: server.url, key: () => Promise.reject(new RangeError("no key")) });
  const faults: [() => Promise<unknown>, string][] = [
    // `fetch` resolves these, so they would reach other routes.
    [() => client.session("s").files.delete("../../other"), "names something"],
    [() => client.session("s").files.get("a/./b"), "names something"],
    [() => client.session("..").run({ prompt: "x" }), "names something"],
    [() => client.session("").get(), "names something"],
    [() => client.card(".."), "names something"],
    [() => client.run(""), "names something"],
    [() => client.stream("/%2E%2e/runs").result(), "names something"],
    [() => client.run("/skills\\..\\healthz"), "names something"],
    [() => client.request("GET", ".example.com/x"), "names something"],
    [() => client.run("count", circular), "circular"],
    [() => client.llm.stream({ prompt: "x", options: { seed: Object(1n) } }).result(), "BigInt"],
    [() => client.run("count", "x", { idempotencyKey: "№ 1" }), "ByteString"],
    [() => client.run("count", new Map()), "not accepted"],
    [() => client.run("count", new ReadableStream()), "not accepted"],
    [() => client.run("count", Promise.resolve("x")), "not accepted"],
    [() => client.run("count", new Map(), { method: "GET" }), "not accepted"],
    [() => client.run("count", new Blob(["x"]), { method: "GET" }), "not with bytes"],
    [() => client.run("count", "x", { method: "GET", files: ["file_x"] }), "no stored files"],
    // A program in JavaScript may do it.
    [
      () => Reflect.apply(client.session("s").files.put, client.session("s").files, ["a", {}]),
      "not accepted",
    ],
    [() => Reflect.apply(client.files.upload, client.files, [["a"]]), "not accepted"],
    [async () => new Hull({ url: "localhost:3000" }), "must begin with http"],
    [() => client.run("count", new Blob(["x"]), { files: ["file_x"] }), "not with bytes"],
    [() => keyless.run("count", "x"), "no key"],
    [() => keyless.stream("count", "x").result(), "no key"],
  ];
  for (const [call, text] of faults) await expect(call()).rejects.toThrow(text);
  expect(sent).toEqual([]);
  expect(await (await client.request("GET", "/skills?q=/../")).json()).toEqual([]);
});

test("leaving a stream stops the run, by break and by the signal", async () => {
  const ids: string[] = [];
  for await (const event of direct.stream("sleeper")) {
    if (event.event === "start") ids.push(event.data.execution_id ?? "");
    if (event.event === "delta") break;
  }
  const controller = new AbortController();
  const stream = direct.stream("sleeper", undefined, { signal: controller.signal });
  const read = async (): Promise<void> => {
    for await (const event of stream) {
      if (event.event === "start") ids.push(event.data.execution_id ?? "");
      if (event.event === "delta") controller.abort(new Error("enough"));
    }
  };
  await expect(read()).rejects.toThrow("enough");
  // A reader of bytes may leave while it waits for the next ones.
  const heard = new Hull({
    url: server.url,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (url.endsWith("/skills/sleeper")) ids.push(response.headers.get("x-hull-execution-id") ?? "");
      return response;
    },
  });
  const reader = heard.stream("sleeper").readable().getReader();
  await reader.read();
  const silence = reader.read();
  await setImmediate();
  await reader.cancel();
  expect(await silence).toEqual({ done: true });
  expect(ids).toHaveLength(3);
  for (const id of ids) expect(await direct.execution(id)).toMatchObject({ status: "cancelled" });
});

test("a session's run waits for an approval while its stream is cut, and continues", async () => {
  const session = await hull.sessions.open({ metadata: { of: "client" } });
  const mock = [
    { tool_calls: [{ name: "look", arguments: { where: "here" } }] },
    { tool_calls: [{ name: "look", arguments: { where: "there" } }] },
    { text: "Done." },
  ];
  const options = { skill: "asker", mock, approval_policy: { require_approval: ["look"] } };
  const follower = new AbortController();
  const followed = all(session.events({ signal: follower.signal })).catch((reason: unknown) => reason);
  proxy.cut(900, 1200);
  const events: HullEvent[] = [];
  for await (const event of session.stream({ prompt: "Look.", options })) {
    events.push(event);
    if (event.event !== "approval_request") continue;
    const [waiting] = await session.approvals.list();
    expect(waiting).toMatchObject({ tool: "look", id: event.data.id });
    if (event.data.arguments.where === "here") await session.approvals.approve(event.data);
    else await session.approvals.deny(event.data, "not there");
    await expect(session.approvals.approve(event.data)).rejects.toMatchObject({ code: "approval_closed" });
  }
  expect(events.at(-1)).toMatchObject({ event: "done", data: { ok: true, text: "Done." } });
  const results = events.flatMap((event) => (event.event === "tool_result" ? [event.data.status] : []));
  expect(results).toEqual(["ok", "rejected"]);
  const sequence = events.map(({ id }) => Number(id.split(":")[1]));
  expect(sequence).toEqual(sequence.map((_, i) => (sequence[0] ?? 0) + i));
  follower.abort("seen");
  expect(await followed).toBe("seen");

  const said = [];
  for await (const message of session.messages()) said.push(message.role);
  expect(said[0]).toBe("user");
  expect(await session.transcript()).toContain("Done.");
  expect((await session.get()).metadata).toEqual({ of: "client" });
  const [run] = await all(session.runs());
  expect(await session.getRun(run?.run_id ?? "")).toMatchObject({ status: "done" });
});

test("events of a session begin at the requested number, and come once although connections break", async () => {
  const session = direct.session("followed");
  await direct.sessions.open({ id: "followed" });
  for (const prompt of ["a", "b"]) await session.run({ prompt, options: { mock: [{ text: prompt }] } });
  const { last_event } = await session.get();
  proxy.cut(600, 700);
  const ids: number[] = [];
  for await (const { id } of hull.session("followed").events({ after: 0 })) {
    ids.push(Number(id.split(":")[1]));
    if (ids.length === last_event) break;
  }
  expect(ids).toEqual(Array.from({ length: last_event }, (_, i) => i + 1));
});

test("files of calls and of sessions are uploaded and downloaded", async () => {
  const stored = await hull.files.upload("a,b\n", { filename: "t.csv", mime: "text/csv" });
  expect(stored).toMatchObject({ filename: "t.csv", mime: "text/csv", size: 4 });
  expect(await (await hull.files.get(stored.id)).text()).toBe("a,b\n");
  const named = await hull.files.upload(new File(["a"], "ä b.csv", { type: "text/csv" }));
  expect(named).toMatchObject({ filename: "ä b.csv", mime: "text/csv", size: 1 });
  await hull.files.delete(stored.id);
  await expect(hull.files.get(stored.id)).rejects.toMatchObject({ code: "file_not_found" });
  const session = await hull.sessions.open();
  await session.files.put("notes/ä b.txt", new TextEncoder().encode("hi"));
  expect(await all(session.files.list())).toMatchObject([{ path: "notes/ä b.txt", size: 2 }]);
  expect(await (await session.files.get("notes/ä b.txt")).text()).toBe("hi");
  await session.files.delete("notes/ä b.txt");
  await session.delete();
  await expect(session.get()).rejects.toMatchObject({ status: 404 });
});

test("a daemon is spawned, gets events, stops and is removed", async () => {
  const daemon = await hull.daemons.spawn({ task: "Watch.", provider: "mock", name: "watcher" });
  await daemon.send({ mail: 17 });
  await daemon.wake();
  expect(await daemon.stop()).toMatchObject({ status: "stopped" });
  expect((await daemon.resume()).status).toBe("running");
  const names = (await all(hull.daemons.list())).map(({ name }) => name);
  expect(names).toContain("watcher");
  await daemon.delete();
  await expect(daemon.get()).rejects.toMatchObject({ status: 404 });
});

test("a task is spawned, awaited and closed, and a sub-agent answers its envelope", async () => {
  const options = { mock: [{ text: "Found." }, { text: "Found again." }] };
  const body = { task: "Find it.", node: { kind: "subagent" as const }, options };
  const task = await hull.tasks.spawn(body);
  const [ended] = await hull.tasks.wait([task.id], { timeout_ms: 60_000 });
  expect(ended).toMatchObject({ id: task.id, status: "completed" });
  expect(JSON.stringify(ended?.result)).toContain("Found.");
  expect((await all(hull.tasks.list())).map(({ id }) => id)).toContain(task.id);
  expect((await task.input("Once more.")).status).toBe("running");
  expect(await task.session.transcript()).toContain("Find it.");
  await task.close();
  expect((await hull.task(task.id).get()).history).toEqual(["Find it.", "Once more."]);
  expect((await hull.tasks.stream(body).result()).ok).toBe(true);
  expect(await hull.tasks.runSubAgent({ task: "Find it.", options })).toMatchObject({
    ok: true,
    summary: "Found.",
  });
});

test("a workflow is checked, stored, begun, signalled and followed to its end", async () => {
  const graph = { entry: "w", nodes: { w: { kind: "wait" as const, wait: { event: "go" } } }, edges: [] };
  expect((await hull.workflows.validate({ graph })).valid).toBe(true);
  await hull.workflows.put("by-client", graph);
  expect(await hull.workflows.get("by-client")).toMatchObject({ version: 1 });
  const run = await hull.workflows.start({ workflow: "by-client", task: "Wait." });
  expect((await run.signal({ name: "go", payload: { n: 1 } })).queued_events).toBeGreaterThanOrEqual(0);
  proxy.cut(200, 400);
  expect((await run.events().result()).ok).toBe(true);
  expect(await hull.workflowRun(run.id).get()).toMatchObject({ status: "completed" });
  expect((await all(hull.workflows.runs({ status: "completed" }))).map(({ id }) => id)).toContain(run.id);
  const again = await run.fork({ from: "w" });
  expect(await again.cancel("enough")).toMatchObject({ id: again.id });
  await run.delete();
  await expect(run.get()).rejects.toMatchObject({ status: 404 });
  await hull.workflows.delete("by-client");
});

test("a session's conversation is changed, copied and closed", async () => {
  const session = await hull.sessions.open();
  for (const text of ["a", "b"]) await session.run({ prompt: text, options: { mock: [{ text }] } });
  expect(await Promise.all([session.exists(), session.length()])).toEqual([true, 4]);
  const fork = await session.forkAt(2);
  expect(await fork.length()).toBe(2);
  expect((await session.ancestry()).child_ids).toEqual([fork.id]);
  expect((await session.trim(2)).length).toBe(2);
  expect((await session.compact({ summary: "They greeted." })).compacted).toBeDefined();
  const copy = await hull.sessions.open({ transcript: await fork.rawTranscript() });
  expect(await copy.length()).toBe(2);
  const done = await all(session.listEvents({ event: "done" }));
  expect(done.map(({ event }) => event)).toEqual(["done", "done"]);
  expect((await session.reset()).length).toBe(0);
  expect((await session.archive()).state).toBe("archived");
  expect((await session.resume()).state).toBe("active");
  expect((await session.close()).state).toBe("closed");
});

test("calls that Hull keeps, models, budgets and the tenant's use", async () => {
  const idempotencyKey = "client-kept";
  const { executionId } = await direct.run("asker", "x", {
    idempotencyKey,
    headers: { prefer: "respond-async" },
  });
  const id = executionId ?? "";
  await hull.executions.result(id).catch(() => {});
  expect(await hull.executions.get(id)).toMatchObject({ id });
  const events = await all(hull.executions.events(id));
  expect(events.at(-1)?.event).toBe("done");
  expect((await all(hull.executions.trace(id))).length).toBeGreaterThan(0);
  expect(await hull.getRun(id)).toMatchObject({ id });
  expect((await hull.runFigures()).data.map(({ name }) => name)).toContain("asker");
  await hull.executions.delete(id);
  expect(await hull.llm.tier("claude-haiku-4-5-20251001")).toHaveProperty("tier");
  expect(await hull.llm.cost({ model: "mock", provider: "mock", input_tokens: 1 })).toHaveProperty(
    "cost_usd",
  );
  expect((await all(hull.llm.providers())).map(({ name }) => name)).toContain("mock");
  expect(await hull.llm.provider("mock")).toMatchObject({ protocol: "mock" });
  await hull.budgets.set("skill:asker", { window: "day", max_cost_usd: 1 });
  expect(await hull.budgets.get("skill:asker")).toMatchObject({ window: "day" });
  await hull.budgets.delete("skill:asker");
  expect(await all(hull.budgets.list())).toEqual([]);
  expect(Array.isArray(await all(hull.usage({ group_by: "day" })))).toBe(true);
  expect((await hull.config("asker")).tools).toBeDefined();
  expect(await all(hull.versions("asker"))).toHaveLength(1);
});

test("cards, agents and other routes", async () => {
  expect((await all(hull.skills())).map(({ slug }) => slug)).toContain("count");
  expect(await hull.card("asker")).toMatchObject({ mode: "llm", tools: ["look"] });
  const run = await hull.runAgent({
    prompt: "x",
    options: { mock: [{ text: "y" }], temperature: null, max_iterations: null, openai: null },
  });
  expect(run).toMatchObject({ status: "done", text: "y", session_id: null });
  const schema = { type: "object" };
  expect(
    await hull.llm.structured({ prompt: "x", schema, options: { mock: [{ text: '{"a":1}' }] } }),
  ).toMatchObject({ ok: true, data: { a: 1 } });
  interface Asked {
    q: string;
  }
  const asked: Asked = { q: "a b" };
  expect((await hull.run("looked-up", asked, { method: "GET" })).text).toBe("/where?q=a+b");
  expect((await hull.run("looked-up", null, { method: "GET" })).text).toBe("/where?input=null");
  const bytes = new DataView(new TextEncoder().encode("xaby").buffer, 1, 2);
  expect((await hull.run("asker", bytes, { headers: { "Content-Type": "text/plain" } })).text).toContain(
    "ab",
  );
  expect(await (await hull.request("GET", "/healthz")).json()).toMatchObject({ status: "ok" });
});
