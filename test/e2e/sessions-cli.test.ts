/** `hull sessions` and `hull logs` against a real `hull dev --direct`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { blocks } from "../support/documents.ts";
import { hullScript, json, REPO, runHull, shared } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { edge } from "../support/workflow-graphs.ts";

const { hull } = await commonHull();

const cli = (...args: string[]) => runHull([...args, "--url", hull.url], { cwd: hull.root });
/** As everybody starts it: once for each command, since most of them run in the process of the test. */
const started = (...args: string[]) =>
  runHull([...args, "--url", hull.url], { cwd: hull.root, process: true });
const sessions = (...args: string[]) => cli("sessions", ...args);
const run = (id: string, mock: object[], more: object = {}) =>
  hull.post(`/sessions/${id}/runs`, { prompt: "go", options: { provider: "mock", mock, ...more } });

test("a session is listed, shown, sent a message, read as a log, and removed", async () => {
  await hull.post("/sessions", { id: "counter" });
  expect(await sessions("send", "counter", "a word before")).toEqual({
    code: 0,
    output: "Kept for the next run.\n",
  });
  await run("counter", [{ text: "hello there" }]);
  expect((await started("sessions", "ls")).output).toMatch(/^ID +STATE .*\ncounter +active /);
  const own = ["--session", "counter", "--status", "done"];
  // The list of all runs learns of an end a moment later.
  await until(
    () => cli("runs", ...own),
    ({ output }) => output.includes("run_"),
  );
  expect((await started("runs", ...own, "--model", "mock/mock")).output).toMatch(
    /^ID +KIND +STATUS .*\nrun_\w+ +run +done .* mock\/mock +counter +\S+\n$/,
  );
  expect((await cli("runs", ...own, "--model", "mock/other")).output.split("\n")).toHaveLength(2);
  const { data } = JSON.parse((await cli("runs", ...own, "--json")).output);
  expect(data).toMatchObject([{ kind: "run", state: "done", model: "mock/mock" }]);
  expect(await cli("runs", "--status", "x")).toMatchObject({
    code: 2,
    output: expect.stringMatching(/no --status "x".*Accepted: running, idle, /s),
  });
  const { output } = await sessions("show", "counter");
  for (const part of [/^state +active$/m, /^run_\w+ +done /m, "a word before", "hello there"]) {
    expect(output).toMatch(part);
  }
  const log = await started("logs", "counter");
  expect(log.output.split("\n").map((line) => line.trim().split(/ +/)[1])).toEqual(
    expect.arrayContaining(["start", "delta", "round", "done"]),
  );
  expect(log.output).toMatch(/^ +\d+ {2}delta +hello there$/m);
  expect(log.output).toMatch(/^ +\d+ {2}done +run_\w+ done$/m);
  expect(log.output.split("\n").filter((line) => line.length > 120)).toEqual([]);
  expect((await cli("logs", "counter", "-v")).output).toMatch(/^ +\d+ {2}done +ok=true .*"input_tokens"/m);
  const last = JSON.parse((await sessions("show", "counter", "--json")).output).last_event;
  const end = (await cli("logs", "counter", "--after", String(last - 1), "--json")).output;
  expect(JSON.parse(end)).toMatchObject({ seq: last, event: "done", data: { ok: true } });
  expect(await cli("logs", "counter", "--after", String(last))).toEqual({ code: 0, output: "" });
  expect(await sessions("rm", "counter")).toEqual({ code: 0, output: "Removed counter.\n" });
  expect(await sessions("show", "counter")).toMatchObject({
    code: 3,
    output: expect.stringMatching(/not_found/),
  });
});

test("a run is followed to its end; one that waits is stopped; a closed session is opened again", async () => {
  await hull.post("/sessions", { id: "live" });
  await run("live", [{ text: "one two" }]);
  const told = await sessions("tail", "live", "--after", "0", "--run");
  expect([told.code, told.output]).toEqual([0, expect.stringMatching(/one two\n.*run_\w+ done/s)]);
  const tools = [{ name: "ask", description: "Asks." }];
  await run("live", [{ tool_calls: [{ name: "ask" }] }], { tools });
  const { last_event } = await json<{ last_event: number }>(await hull.call("/sessions/live"));
  const following = sessions("tail", "live", "--after", String(last_event), "--run");
  expect((await sessions("stop", "live")).output).toMatch(/^run_\w+ is cancelled\.\n$/);
  expect((await following).code).toBe(1);
  expect(await sessions("stop", "live")).toMatchObject({ code: 3 });
  await hull.post("/sessions/live/close", {});
  expect(await sessions("send", "live", "x")).toMatchObject({ code: 1 });
  expect(await sessions("resume", "live")).toEqual({ code: 0, output: "live is active.\n" });
  expect(await json(await hull.call("/sessions/live"))).toMatchObject({ state: "active" });
});

test("tasks are listed, shown, waited for, given more to do and closed", async () => {
  const mock = [{ text: "one" }, { text: "two" }];
  const node = { model_policy: { provider: "mock" } };
  const begun = await hull.post("/tasks", { task: "Count.", name: "counter", node, options: { mock } });
  const { id } = await json<{ id: string }>(begun);
  const tasks = (...words: string[]) => cli("tasks", ...words);
  expect(await tasks("wait", id, "--timeout", "30")).toEqual({ code: 0, output: "one\n" });
  // The list learns of an end a moment later.
  await until(
    () => started("tasks", "ls"),
    ({ output }) => new RegExp(`^${id} +counter +stage +completed`, "m").test(output),
  );
  expect((await tasks("send", id, "Count on.")).output).toMatch(/^cycles +2$/m);
  expect(await tasks("wait", id)).toEqual({ code: 0, output: "two\n" });
  expect((await tasks("close", id)).output).toMatch(/^status +cancelled$/m);
  expect(await tasks("wait", id)).toMatchObject({
    code: 1,
    output: expect.stringContaining("[task_closed]"),
  });
  expect((await tasks("resume", id)).output).toMatch(/^status +completed$/m);
  expect(await tasks("show", id)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^answered +two$/m),
  });
  expect(await tasks("trigger", id)).toMatchObject({ code: 1 });
});

test("workflows are run from a file or by name, shown, explained and forked", async () => {
  const workflow = (...words: string[]) => cli("workflow", ...words);
  const said = (text: string) => ({ model_policy: { provider: "mock", mock: [{ text }] } });
  const graph = {
    entry: "a",
    nodes: { a: said("first"), b: said("second") },
    edges: [{ from: "a", to: "b" }],
  };
  const file = join(hull.root, "flow.json");
  writeFileSync(file, JSON.stringify(graph));
  const ran = await workflow("run", file, "--task", "Do it.");
  expect(ran).toEqual({
    code: 0,
    output: expect.stringMatching(
      /^(wf_\w+) has begun\. .* explain \1\nsecond\n\1: The run has completed\.\n$/,
    ),
  });
  const [id = ""] = /wf_\w+/.exec(ran.output) ?? [];
  // The list learns of an end a moment later.
  await until(
    () => workflow("ls"),
    ({ output }) => new RegExp(`^${id} +workflow +completed`, "m").test(output),
  );
  expect((await workflow("show", id)).output).toMatch(/^b +stage +success +success +1/m);
  expect(await workflow("explain", id)).toEqual({ code: 0, output: "The run has completed.\n" });
  const fork = await workflow("fork", id, "--from", "b", "--json");
  expect(fork).toMatchObject({ code: 0, output: expect.stringContaining('"path"') });
  expect(await workflow("cancel", id)).toMatchObject({ output: expect.stringContaining("[workflow_ended]") });
  await hull.call("/workflows/flow", JSON.stringify({ graph }), { method: "PUT" });
  expect(await workflow("run", "flow", "--task", "Do it.")).toMatchObject({ code: 0 });
  expect(await workflow("run", "no-flow", "--task", "x")).toMatchObject({ code: 3 });
  const yaml = join(hull.root, "night.yaml");
  writeFileSync(
    yaml,
    "entry: n\nnodes:\n  n: {kind: wait, wait: {sleep_ms: 36000000}}\n  d: {}\nedges: [{from: n, to: d}]\n",
  );
  const options = join(hull.root, "try.yaml");
  writeFileSync(options, "test: {virtual_time: true, mocks: {d: [{text: Good morning.}]}}\n");
  const tried = await workflow("run", yaml, "--task", "Sleep.", "--options", options);
  expect(tried).toEqual({ code: 0, output: expect.stringContaining("Good morning.\n") });
  writeFileSync(yaml, "nodes: [");
  expect(await workflow("run", yaml, "--task", "x")).toMatchObject({
    output: expect.stringContaining("night.yaml:1:9: error: the file is not valid YAML"),
  });
});

test("the id of a workflow run is known while it waits, and an interrupted command leaves it alone", async () => {
  writeFileSync(join(hull.root, "ask.yaml"), 'nodes:\n  ask: {kind: wait, wait: {approval: "Now?"}}\n');
  const args = [hullScript(REPO), "workflow", "run", "ask.yaml", "--task", "x", "--url", hull.url];
  const child = spawn(process.execPath, args, {
    cwd: hull.root,
    env: { PATH: process.env.PATH ?? "", ...shared(REPO) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [line] = await once(child.stderr.setEncoding("utf8"), "data");
  const [id = ""] = /wf_\w+/.exec(line) ?? [];
  child.kill("SIGINT");
  await once(child, "close");
  const { output } = await until(
    () => cli("workflow", "explain", id),
    ({ output }) => output.includes("ask"),
  );
  expect(output).toBe("ask waits for somebody to approve.\n");
  await cli("workflow", "cancel", id);
});

describe("tests of workflows", () => {
  const folder = join(hull.root, "skills", "brief", "workflows");
  const tested = (...words: string[]) => cli("workflow", "test", ...words);
  const written = (name: string, text: string): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const FLOW = "nodes: {v: {kind: verify, verify: {command: echo x >> times; grep -c x times}}}";

  test("docs/testing.md: the claims of the page", async () => {
    const document = readFileSync(join(REPO, "docs/testing.md"), "utf8");
    const [graph = "", cases = ""] = blocks(document).flatMap(({ language, text }) =>
      language === "yaml" ? [text] : [],
    );
    written("notes.yaml", graph);
    written("notes.test.yaml", cases);
    const script = blocks(document).find(({ text }) => text.includes("hull workflow test"))?.text ?? "";
    const printed = Array.from(script.matchAll(/^# (.*)$/gm), ([, line]) => `${line}\n`);
    const [, path = ""] = /hull workflow test (\S+)/.exec(script) ?? [];
    expect(await tested(path)).toEqual({ code: 0, output: printed.join("") });
  });

  test("a command that the runner had when the process died is not run again", async () => {
    written("once.yaml", FLOW);
    const crashes = ["begun", "called", "answered"].map((at) => ({ node: "v", at }));
    const expected = { nodes: { v: { output: "1" } } };
    const one = { name: "once", graph: "once.yaml", task: "t", test: { crashes }, expect: expected };
    written("once.test.json", JSON.stringify({ cases: [one] }));
    const { output } = await tested(join(folder, "once.test.json"), "--json");
    expect(JSON.parse(output)).toMatchObject({ cases: [{ name: "once", differences: [] }] });
  });

  test("differences are reported, and the run stays", async () => {
    const graph = { nodes: { a: {}, b: {} }, entry: "a", edges: [edge("a", "b")] };
    const expected = {
      status: "failed",
      error: "x",
      nodes: {
        a: { attempts: 2, branch: "failed", error: "x", text: ["on", "off"] },
        b: { visits: 2 },
        c: { status: "x" },
      },
      order: ["b", "a"],
      compensated: ["a"],
      result: { x: 1 },
      artifacts: [{ node: "a", text: "one" }, { kind: "plan" }],
      model_calls: 3,
      unmet: { mocks: [{ node: "a" }] },
    };
    const mocks = { a: [{ text: "one" }], b: [[{ text: "two" }], [{ text: "never" }]] };
    const refused = { name: "refused", test: { mocks: { x: [] } } };
    const cases = [{ name: "all", test: { mocks }, expect: expected }, refused];
    written("wrong.test.json", JSON.stringify({ graph, task: "t", cases }));
    const { code, output } = await tested(join(folder, "wrong.test.json"));
    const [first = "", ...lines] = output.split("\n");
    expect(code).toBe(1);
    expect(first).toMatch(/^FAIL skills\/brief\/workflows\/wrong\.test\.json: all \(wf_\w+\)$/);
    expect(lines).toEqual([
      "  status: expected failed, got completed. The run has completed.",
      "  nodes.c: expected a node, got the graph has none of this name",
      '  error: expected "x", got null',
      '  nodes.a.branch: expected "failed", got "success"',
      "  nodes.a.attempts: expected 2, got 1",
      '  nodes.a.error: expected "x", got null',
      '  nodes.a.text: expected text with "off", got "one"',
      "  nodes.b.visits: expected 2, got 1",
      "  nodes.c: expected a stage, got the run has no stage of this node",
      "  order: expected b, a, got a, b",
      '  compensated: expected ["a"], got []',
      '  result: expected {"x":1}, got "two"',
      expect.stringMatching(/^ {2}artifacts\.1: expected \{"kind":"plan"\}, got \{"node":"a",/),
      "  model_calls: expected 3, got 2",
      '  unmet.mocks: expected none, got {"node":"b","attempt":2}',
      '  unmet.mocks: expected {"node":"a"}, got the run used it, or the test does not have it',
      "FAIL skills/brief/workflows/wrong.test.json: refused",
      expect.stringMatching(/^ {2}request: expected a run, got .*options\.test\.mocks\.x names no node/),
      "2 cases, 2 failed.",
      "",
    ]);
    const [run = ""] = /wf_\w+/.exec(first) ?? [];
    const { output: shown } = await started("workflow", "show", run);
    expect(shown).toMatch(/^mocks not met +\{"node":"b","attempt":2\}$/m);
  });
});

test.each<[string[], string]>([
  [["workflow", "run", "x.json"], "needs --task"],
  [["workflow", "fork", "x"], "needs --from"],
  [["workflow", "show"], "need the id of a run"],
  [["tasks", "send", "x"], "need the id of a task"],
  [["tasks", "wait", "x", "--timeout", "soon"], "number of seconds"],
  [["sessions", "show"], "need the id of a session"],
  [["sessions", "send", "x"], "need the id of a session"],
  [["sessions", "send", "x", "y", "--delivery", "soon"], "interrupt_immediate"],
  [["sessions", "tail", "x", "--after", "first"], "not the number"],
  [["logs"], "the id of a session"],
])("%s is refused before any request", async (args, message) => {
  const { code, output } = await cli(...args);
  expect(code).toBe(2);
  expect(output).toContain(message);
});

test("HULL_URL may name the server; errors name a missing or invalid address, and an empty id", async () => {
  await hull.post("/sessions", { id: "by-variable" });
  const at = (url: string, ...args: string[]) => runHull(args, { cwd: hull.root, env: { HULL_URL: url } });
  for (const [args, wanted] of [
    [["sessions", "show", "by-variable"], /^state +active$/m],
    [["sessions", "ls"], /^by-variable /m],
    [["daemons", "ls"], /^ID/],
    [["tasks", "ls"], /^ID/],
    [["keys", "list", "--json"], /"data"/],
  ] as const) {
    expect(await at(hull.url, ...args)).toEqual({ code: 0, output: expect.stringMatching(wanted) });
  }
  expect((await at("http://127.0.0.1:1", "sessions", "ls", "--url", hull.url)).code).toBe(0);
  expect(await at("", "logs", "x")).toMatchObject({ code: 2, output: expect.stringContaining("HULL_URL=") });
  expect(await at("localhost:3000", "logs", "x")).toMatchObject({
    code: 2,
    output: expect.stringContaining('HULL_URL is not an http(s) address: "localhost:3000"'),
  });
  expect(await at(hull.url, "logs", "")).toMatchObject({
    code: 2,
    output: expect.stringContaining("The command needs the id of a session."),
  });
});

test("ids that no URL can have match nothing, and a server other than Hull is recognized", async () => {
  for (const id of [".", ".."]) {
    expect([id, await sessions("rm", id)]).toMatchObject([id, { code: 3 }]);
    expect([id, await cli("logs", id)]).toMatchObject([id, { code: 3 }]);
    expect([id, await cli("daemons", "stop", id)]).toMatchObject([id, { code: 3 }]);
  }
  expect(await started("daemons", "stop", "none")).toMatchObject({ code: 3 });
  const server = createServer((_, response) => response.end("<!doctype html>\nHello."));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port }: Pick<AddressInfo, "port"> = JSON.parse(JSON.stringify(server.address()));
  try {
    for (const words of [
      ["sessions", "ls"],
      ["sessions", "rm", "desk"],
      ["sessions", "tail", "desk"],
      ["daemons", "send", "desk", "x"],
      ["logs", "desk"],
      ["call", "hello"],
    ]) {
      const { code, output } = await runHull([...words, "--url", `http://127.0.0.1:${port}`], {
        cwd: hull.root,
      });
      expect([words, code, output]).toEqual([words, 4, expect.stringContaining("but it is not a Hull: ")]);
    }
  } finally {
    server.close();
  }
});
