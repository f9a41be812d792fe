/** Example data for a first look at the console, all from the mock provider: `hull dev --demo`. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RunOptions, WorkflowGraph } from "../../typed/client/api.d.ts";
import { AdminClient } from "../admin-client.ts";

const MOCK = "mock";
/** Tools that the client answers: the demo has no client, so a run that calls one waits. */
const MAIL = {
  name: "send_mail",
  description: "Sends a mail.",
  parameters: { to: { type: "string" }, text: { type: "string" } },
};

interface DemoRun {
  session: string;
  prompt: string;
  options: RunOptions;
}

const RUNS: readonly DemoRun[] = [
  {
    session: "demo-talk",
    prompt: "What is a skill?",
    options: {
      mock: [
        {
          thinking: "They ask for a definition, so one sentence will do.",
          text: "A folder with a SKILL.md that tells an agent how to do one thing, and with whatever files it needs for that.",
          input_tokens: 412,
          output_tokens: 37,
          cache_read_tokens: 256,
        },
      ],
    },
  },
  {
    session: "demo-talk",
    prompt: "And a session?",
    options: {
      mock: [{ text: "A conversation with its files, which survives every process.", output_tokens: 14 }],
    },
  },
  {
    session: "demo-approval",
    prompt: "Tell Ada that the report is ready.",
    options: {
      tools: [MAIL],
      approval_policy: { require_approval: ["send_mail"] },
      mock: [
        {
          tool_calls: [
            { name: "send_mail", arguments: { to: "ada@example.com", text: "The report is ready." } },
          ],
        },
        { text: "I told Ada." },
      ],
    },
  },
  {
    session: "demo-failure",
    prompt: "Ask a provider that refuses the key.",
    options: { mock: [{ error: { category: "auth", message: "no such key" } }] },
  },
];

const said = (text: string): object => ({ model_policy: { provider: MOCK, mock: [{ text }] } });

/** A workflow whose run waits for a person. */
const WORKFLOW: { name: string; task: string; graph: WorkflowGraph } = {
  name: "demo-newsletter",
  task: "A newsletter about rivers.",
  graph: {
    entry: "collect",
    nodes: {
      collect: { kind: "fork" },
      facts: { prompt: "Collect facts: {{task}}", ...said("Rivers carry about 37,000 km³ of water a year.") },
      pictures: { prompt: "Choose pictures: {{task}}", ...said("The Loire at dawn.") },
      both: { kind: "join" },
      draft: {
        prompt: "Write it.",
        ...said("Rivers, this month: how much water they carry, and the Loire at dawn."),
      },
      check: {
        kind: "verify",
        mode: "agent",
        prompt: "Is it about rivers?",
        ...said("Yes, it is. ##DONE##"),
      },
      ask: { kind: "wait", wait: { approval: "Send the newsletter to 1,200 readers?" } },
      send: said("It is sent."),
      drop: { kind: "escalation", escalation_policy: { queue: "editors", reason: "Not sent." } },
    },
    edges: [
      { from: "collect", to: "facts" },
      { from: "collect", to: "pictures" },
      { from: "facts", to: "both" },
      { from: "pictures", to: "both" },
      { from: "both", to: "draft" },
      { from: "draft", to: "check" },
      { from: "check", to: "ask", branch: "passed" },
      { from: "check", to: "draft", branch: "failed", max_traversals: 2 },
      { from: "ask", to: "send", branch: "success" },
      { from: "ask", to: "drop", branch: "failed" },
    ],
  },
};

/**
 * Fills a server with sessions, runs, a waiting approval, a daemon and a workflow. Data of an earlier start stays
 * unchanged. Throws `CommandError` as `AdminClient.ask` does.
 * @param key that the server requires, if any
 */
export async function seedDemo(url: string, key: string | undefined): Promise<void> {
  const server = new AdminClient(url, key);
  const once = (name: string) => ({ headers: { "idempotency-key": `hull-demo-${name}` } });
  const query = { wait: "none" } as const;
  for (const [i, { session, prompt, options }] of RUNS.entries()) {
    const path = { id: session };
    const opened = { json: { id: session, metadata: { demo: true } } };
    await server.ask("POST /sessions", opened, once(`session-${session}`));
    const json = { prompt, options: { provider: MOCK, ...options } };
    await server.ask("POST /sessions/{id}/runs", { path, query, json }, once(`run-${i}`));
    // The next run of a session begins when the previous one has ended.
    await settled(server, session);
  }
  const daemon = {
    name: "demo watcher",
    task: "Wait for mails.",
    provider: MOCK,
    mock: [{ text: "Nothing yet." }],
  };
  await server.ask("POST /daemons", { json: daemon }, once("daemon"));
  const { name, task, graph } = WORKFLOW;
  await server.ask("PUT /workflows/{name}", { path: { name }, json: { graph } });
  await server.ask(
    "POST /workflows/execute",
    { query, json: { workflow: name, task } },
    once("workflow-run"),
  );
}

const TRIES = 200;
const PAUSE_MS = 25;

async function settled(server: AdminClient, id: string): Promise<void> {
  for (let i = 0; i < TRIES; i += 1) {
    const { run } = await server.ask("GET /sessions/{id}", { path: { id } });
    if (run === null || run.status !== "running") return;
    await sleep(PAUSE_MS);
  }
}
