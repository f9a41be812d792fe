/** The first requests of a process, all at once: each part of the Worker is loaded while others wait for the same part. */
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { killWorker } from "../support/shared.ts";
import { said } from "../support/workflow-graphs.ts";

/** Requests of each kind. */
const EACH = 8;

const { hull } = await commonHull({
  "agent/SKILL.md": "---\nname: agent\ndescription: Answers\nmode: llm\nprovider: mock\n---\nAnswer.\n",
  "up/SKILL.md": "---\nname: up\ndescription: Shouts\nrun: [./up.sh]\n---\n",
  "up/up.sh": "#!/bin/bash\ntr a-z A-Z\n",
});

test("the Worker answers all first requests, whatever parts of it they need", async () => {
  await killWorker(hull);
  const post = (path: string, body: unknown, headers = {}): Promise<Response> =>
    hull.call(path, JSON.stringify(body), { headers: { "content-type": "application/json", ...headers } });
  const options = { provider: "mock" };
  const graph = { entry: "n", nodes: { n: said("done") }, edges: [] };
  const kinds: Record<string, (n: number) => Promise<Response>> = {
    run: (n) => post("/runs", { prompt: `run ${n}`, options }),
    session: async (n) => {
      await post("/sessions", { id: `first-${n}` });
      return post(`/sessions/first-${n}/runs`, { prompt: `say ${n}`, options });
    },
    skill: (n) => hull.call("/skills/agent", `skill ${n}`),
    kept: (n) => hull.call("/skills/agent", `kept ${n}`, { headers: { "idempotency-key": `first-${n}` } }),
    script: (n) => hull.call("/skills/up", `script ${n}`),
    chat: (n) =>
      post("/v1/chat/completions", { model: "mock", messages: [{ role: "user", content: `${n}` }] }),
    response: (n) => post("/v1/responses", { model: "mock", input: `${n}` }),
    tools: (n) =>
      post(
        "/mcp",
        { jsonrpc: "2.0", id: n, method: "tools/list", params: {} },
        { accept: "application/json, text/event-stream" },
      ),
    workflow: (n) => post("/workflows/execute", { task: `flow ${n}`, graph }),
    models: () => hull.call("/llm/models"),
    page: () => hull.call("/", undefined, { headers: { accept: "text/html" } }),
  };
  const asked = Array.from({ length: EACH }, (_, n) =>
    Object.entries(kinds).map(async ([kind, ask]) => {
      const answer = await ask(n);
      const text = await answer.text();
      return [kind, answer.ok ? "answered" : `${answer.status}: ${text}`] as const;
    }),
  ).flat();
  const answers = Map.groupBy(await Promise.all(asked), ([kind]) => kind);
  for (const [kind, all] of answers)
    expect([kind, ...all.map(([, what]) => what)]).toEqual([kind, ...Array(EACH).fill("answered")]);
  expect(answers.size).toBe(Object.keys(kinds).length);
});
