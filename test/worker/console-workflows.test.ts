/** The console's pages of workflows, as the Worker sends them. */
import { describe, expect, it } from "vitest";
import { edge, said } from "../support/workflow-graphs.ts";
import { Client, mockSkill } from "./served.ts";

const client = new Client();
const EVIL = `<script>alert(1)</script>"'><img src=x>`;

/** Drafts, asks a person, then publishes. */
const GRAPH = {
  entry: "draft",
  nodes: {
    draft: { prompt: `Draft ${EVIL}`, ...said(`A draft ${EVIL}`) },
    ask: { kind: "wait", wait: { approval: `Publish ${EVIL}?` } },
    publish: said("Published."),
    drop: said("Dropped."),
  },
  edges: [edge("draft", "ask"), edge("ask", "publish", "success"), edge("ask", "drop", "failed")],
};

async function page(path: string, init: RequestInit = {}) {
  const response = await client.fetch(path, { ...init, headers: { accept: "text/html" } });
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    text: await response.text(),
  };
}
function send(path: string, fields: Record<string, string> = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return page(path, { method: "POST", body });
}
/** The page once it contains this text. */
async function says(path: string, text: string): Promise<string> {
  await expect.poll(async () => (await page(path)).text).toContain(text);
  return (await page(path)).text;
}
const put = (name: string, graph: object) =>
  client.fetch(`/workflows/${name}`, { method: "PUT", body: JSON.stringify({ graph }) });
async function began(graph: object, more: object = {}): Promise<string> {
  const response = await client.post("/workflows/execute?wait=none", { task: "The task", graph, ...more });
  return `/console${response.headers.get("location")}`;
}
/** The row of a node in the page's table. */
const rowOf = (text: string, id: string): string =>
  new RegExp(`<tr id="node-${id}">(.*?)</tr>`, "s").exec(text)?.[1] ?? "";

it("an empty list shows how to fill it", async () => {
  const { text } = await page("/console/workflows");
  expect(text).toContain("hull workflow run graph.json");
  expect(text).toContain('<a href="/console/workflows" aria-current="page">Workflows</a>');
});

it("a skill's graph is listed and shown, and its run among all runs", async () => {
  const text = "---\nname: flows\ndescription: d\nmode: llm\nprovider: mock\n---\nBody.\n";
  const flow = "act: {prompt: Do it., model_policy: {provider: mock}}";
  await client.publish({ flows: { "SKILL.md": text, "workflows/do.yaml": flow } });
  expect((await page("/console/workflows")).text).toContain(
    '<a href="/console/workflows/flows/do">flows/do</a>',
  );
  expect((await page("/console/workflows/flows/do")).text).toContain("Workflow flows/do");
  const { location } = await send("/console/workflows/flows/do/run", { task: "The task" });
  const shown = await says(location, "completed");
  expect(shown).toContain('<a href="/console/workflows/flows/do">flows/do</a>');
  const unpriced = 'title="The price of some calls is not known."';
  expect(shown).toContain(unpriced);
  expect((await page("/console/runs?kind=workflow")).text).toContain(unpriced);
  // Its id among all runs leads to its page.
  const led = await page(location.replace("/workflows/", "/"));
  expect([led.status, led.location]).toEqual([303, location]);
});

describe("a stored graph", () => {
  it("attack: is drawn and listed in a table, its texts as text", async () => {
    expect((await put("letters", GRAPH)).status).toBe(201);
    expect((await page("/console/workflows")).text).toContain(
      '<a href="/console/workflows/letters">letters</a>',
    );
    const { text } = await page("/console/workflows/letters");
    expect(text.match(/<path class="edge"/g)).toHaveLength(3);
    expect(text.match(/<g class="node /g)).toHaveLength(4);
    expect(rowOf(text, "ask")).toMatch(/publish<\/a> on success.*drop<\/a> on failed/s);
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img");
    expect((await page("/console/workflows/zebra")).status).toBe(404);
  });

  it("runs with a task and options, and leads to the run's page", async () => {
    const wrong = await send("/console/workflows/letters@1/run", { task: "t", options: "{" });
    expect([wrong.status, wrong.text]).toEqual([
      400,
      expect.stringContaining("The field options takes JSON"),
    ]);
    const { status, location } = await send("/console/workflows/letters@1/run", { task: "Write." });
    expect([status, location]).toEqual([
      303,
      expect.stringMatching(/^\/console\/workflows\/runs\/wf_[0-9a-f]{32}$/),
    ]);
    expect(await says(location, "waits for approval")).toContain("letters, version 1");
    await expect.poll(async () => (await page("/console/workflows")).text).toContain(`href="${location}"`);
    await send(`${location}/cancel`);
  });
});

describe("a run", () => {
  it("attack: shows each node's state, its journal and artifacts as text; an approval is granted", async () => {
    const path = await began(GRAPH);
    const text = await says(path, "ask waits for somebody to approve");
    expect(text).toContain('data-refresh="2000"');
    expect(rowOf(text, "draft")).toContain("completed");
    expect(rowOf(text, "ask")).toContain("waits for you");
    expect(rowOf(text, "drop")).toContain("not started");
    expect(text).toContain('<path class="edge taken"');
    expect(text).toContain("A draft &lt;script&gt;");
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img");
    const decided = await send(`${path}/decide`, { node: "ask", decision: "approve", reason: "fine" });
    expect(decided.location).toBe(path);
    const ended = await says(path, "The run has completed.");
    expect(ended).not.toContain("data-refresh");
    expect(rowOf(ended, "publish")).toContain("completed");
    expect((await send(`${path}/decide`, { node: "ask", decision: "approve" })).status).toBe(409);
    const record = await client.fetch(`${path}/record`);
    expect(record.headers.get("content-disposition")).toContain("wf_");
    expect(await record.json()).toMatchObject({ _type: "run_record", status: "completed" });
  });

  it("is paused, resumed, sent the event it waits for, and run again from a node with another task", async () => {
    const graph = {
      entry: "hear",
      nodes: { hear: { kind: "wait", wait: { event: "mail" } }, answer: said("Answered.") },
      edges: [edge("hear", "answer")],
    };
    const path = await began(graph);
    await says(path, "waits for mail");
    expect((await send(`${path}/pause`)).location).toBe(path);
    expect((await page(path)).text).toContain("<button>Resume</button>");
    await send(`${path}/resume`);
    await send(`${path}/signal`, { name: "mail", payload: '{"n": 1}' });
    await says(path, "The run has completed.");
    const fork = await send(`${path}/fork`, { from: "answer", task: "Another task", artifacts: "" });
    expect(fork.location).toMatch(/\/console\/workflows\/runs\/wf_/);
    const again = await says(fork.location, "The run has completed.");
    expect(again).toContain("Another task</span></dd>");
    expect(again).toContain(`<a href="${path}">`);
    expect((await send(`${path}/fork`, { from: "nowhere" })).status).toBe(422);
  });

  it("is killed only where its id was typed; a failed node says why", async () => {
    const path = await began(GRAPH);
    await says(path, "waits for approval");
    expect((await send(`${path}/kill`, { sure: "wf" })).status).toBe(400);
    await send(`${path}/kill`, { sure: path.split("/").at(-1) ?? "" });
    expect(rowOf(await says(path, "It was killed."), "ask")).toContain("not run");
    const no = { error: { category: "auth", message: "no such key" } };
    const failing = await began({ nodes: { a: { model_policy: { provider: "mock", mock: [no] } } } });
    const failed = await says(failing, 'Failed: <a href="#node-a">a</a>.');
    expect(rowOf(failed, "a")).toContain("failed");
    expect((await page("/console/workflows/runs/wf_nowhere")).status).toBe(404);
  });

  it("one that stopped at its limit continues as another run", async () => {
    const graph = { entry: "a", nodes: { a: said("A."), b: said("B.") }, edges: [edge("a", "b")] };
    const path = await began(graph, { options: { max_steps: 1 } });
    await says(path, "Go on as another run");
    const { location } = await send(`${path}/resume`);
    expect(location).not.toBe(path);
    await says(location, "The run has completed.");
  });
});

it("the list of all runs has the run, and its address there leads to its page", async () => {
  const path = await began({ nodes: { only: said("Done.") } }, { task: "Stand there." });
  await says(path, "The run has completed.");
  await says("/console/runs?kind=workflow", `href="${path}"`);
  expect((await page(`${path}?from=1`)).text).toContain("There is no stage 2: the last one is 1.");
  // Its stage's run is shown on request only.
  const { data } = await (await client.fetch("/runs?kind=run")).json<{
    data: { id: string; session: string }[];
  }>();
  const stage = data.find(({ session }) => session.startsWith("wfs_")) ?? expect.fail();
  await says("/console/runs?stages=true", `href="/console/runs/${stage.id}"`);
  await says(`/console/runs?session=${stage.session}`, `href="/console/runs/${stage.id}"`);
  const top = await says("/console/runs", `href="${path}"`);
  expect(top).not.toContain(stage.id.slice(0, 14));
  const { status, location } = await page(path.replace("/workflows", ""));
  expect([status, location]).toEqual([303, path]);
});

it("a skill's workflow is listed, drawn and run", async () => {
  const file = JSON.stringify({ nodes: { greet: said("Hello.") } });
  await client.publish({ fox: { "SKILL.md": mockSkill("fox"), "workflows/letters.json": file } });
  await says("/console/workflows", `href="/console/workflows/fox/letters"`);
  expect((await page("/console/workflows/fox/letters")).text).toContain("that of its skill");
  const { location } = await send("/console/workflows/fox/letters/run", { task: "Greet." });
  expect(await says(location, "The run has completed.")).toContain(`href="/console/workflows/fox/letters"`);
});

it("a run that was stopped shows what undid it", async () => {
  const graph = {
    entry: "pay",
    nodes: {
      pay: { ...said("Paid."), compensation: "refund" },
      wait: { kind: "wait", wait: { event: "never" } },
      refund: said("Refunded."),
    },
    edges: [edge("pay", "wait")],
  };
  const path = await began(graph);
  await says(path, "waits for never");
  await send(`${path}/cancel`);
  expect(await says(path, "undo: ")).toContain("Refunded.");
});

it("attack: a node that waits for a person is among the approvals, its question as text", async () => {
  const graph = { nodes: { ask: { kind: "wait", wait: { approval: `Go ${EVIL}?` } } } };
  const path = await began(graph);
  const text = await says("/console/approvals", `href="${path}"`);
  expect(text).toContain("Go &lt;script&gt;");
  expect(text).toContain('<span id="waiting"> (1)</span>');
  expect(text).not.toContain("<script>alert");
  const { location } = await send(`${path}/decide`, { node: "ask", decision: "deny", reason: "no" });
  expect(location).toBe(path);
  expect((await page(location)).text).toContain('<span id="waiting"></span>');
  expect((await page("/console/approvals")).text).toContain("Nothing waits.");
});

it("a graph of 500 nodes with edges back and forth is drawn", async () => {
  const names = Array.from({ length: 500 }, (_, i) => `n${i}`);
  const edges = names.flatMap((name, i) => [
    ...(i + 1 < names.length ? [edge(name, `n${i + 1}`)] : []),
    ...(i % 50 === 0 ? [edge(name, `n${(i * 7 + 13) % 500}`, "aside")] : []),
  ]);
  expect(
    (await put("large", { entry: "n0", nodes: Object.fromEntries(names.map((n) => [n, {}])), edges })).status,
  ).toBe(201);
  const { text } = await page("/console/workflows/large");
  expect(text.match(/<g class="node /g)).toHaveLength(500);
  expect(text.match(/<path class="edge"/g)).toHaveLength(edges.length);
  expect(text).not.toContain("NaN");
});
