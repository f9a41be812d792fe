/** `hull workflow`: workflows of a running Hull, and their runs. */

import { relative } from "node:path";
import { firstOf } from "../../src/cut.ts";
import { counted } from "../../src/plural.ts";
import type { WorkflowRequest, WorkflowResult, WorkflowRun } from "../../typed/client/api.d.ts";
import { type AdminClient, SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { defineCommand, EXIT, SWITCH, timeoutMs, unexpectedArgument, usageError, VALUE } from "../command.ts";
import { readObject } from "../document-file.ts";
import { openProject } from "../project.ts";
import { printList, remoteAction } from "../remote-action.ts";
import { endedLine, factTable, print } from "../report.ts";
import { followSession } from "../session-events.ts";
import { table } from "../table.ts";
import { writeError, writeOut } from "../terminal-text.ts";
import { findTests } from "../workflow-test/find.ts";
import { type CaseResult, runCase } from "../workflow-test/run-case.ts";
import { readTestFile } from "../workflow-test/test-file.ts";

/** Time limit of a case, in ms. */
const CASE_MS = 60_000;
/** How many cases run at the same time. */
const AT_ONCE = 4;

interface Wanted {
  server: AdminClient;
  /** Id of a run; with `run` the file or name of a workflow. */
  id: string;
  /** With `test`: files and folders of tests. */
  paths: string[];
  /** With `test`: how long a case may take, in ms. */
  timeout_ms: number;
  task: string | undefined;
  /** A file with options of the run. */
  options: string | undefined;
  from: string | undefined;
  reason: string | undefined;
  json: boolean;
}

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = {
  run,
  test,
  ls,
  show,
  explain,
  cancel,
  fork,
};

export const command = defineCommand({
  name: "workflow",
  summary: "Run and test workflows in a running Hull, list, explain, cancel and fork their runs",
  usage: `
Usage: hull workflow run <file|name> --task TEXT [--options FILE] [--url URL] [--json]
       hull workflow test [file|folder…] [--timeout SECONDS] [--url URL] [--json]
       hull workflow ls [--url URL] [--json]
       hull workflow show|explain <run> [--url URL] [--json]
       hull workflow cancel <run> [--reason TEXT] [--url URL] [--json]
       hull workflow fork <run> --from NODE [--task TEXT] [--url URL] [--json]

  --url URL      the Hull that runs the workflows, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY      an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --task TEXT    the task of the run; with fork, replaces the earlier one
  --options FILE with run: options of the run from a JSON or YAML file, e.g. {"test": {"virtual_time": true}}
  --timeout SECONDS  with test: how long a case may take (default 60)
  --from NODE    with fork: the node where the new run begins
  --reason TEXT  with cancel: the reason for the record
  --json         print the server's answer

run takes a graph from a file that ends in .json, .yaml or .yml, a stored workflow by its name or name@version, or one of a
served skill as <skill>/<name>. It waits for the end, prints the last artifact, and ends with exit code 1 unless the run completed.
test runs the cases of test files (docs/testing.md): of a folder, those in it and in the folders workflows below it; without a path,
those of the project's skills. It prints a line for each case and what differs, and ends with exit code 1 if a case failed, 3 if
there are none. explain prints one sentence: what the run does, or why it does not continue.
`,
  flags: {
    ...SERVER_FLAGS,
    json: SWITCH,
    task: VALUE,
    options: VALUE,
    from: VALUE,
    reason: VALUE,
    timeout: VALUE,
  },
  words: Number.POSITIVE_INFINITY,
  only: {
    task: ["run", "fork"],
    options: ["run"],
    from: ["fork"],
    reason: ["cancel"],
    timeout: ["test"],
  },
  async run({ values, positionals }) {
    const [name = "", ...paths] = positionals;
    if (name !== "test" && paths[1] !== undefined) throw unexpectedArgument(paths[1]);
    const usage = {
      question:
        "Name an action; run needs a file or a workflow, and show, explain, cancel and fork need the id of a run.",
      hint: "hull workflow ls, run <file|name> --task TEXT, test [file|folder…], show|explain|cancel|fork <run>",
    };
    const { id, action } =
      name === "test" ? { id: "", action: test } : remoteAction(ACTIONS, positionals, usage);
    const missing =
      name === "run" && values.task === undefined
        ? "--task"
        : name === "fork" && values.from === undefined
          ? "--from"
          : null;
    if (missing !== null) throw usageError("bad_arguments", `hull workflow ${name} needs ${missing}.`);
    const server = await serverOf(values, `hull workflow ${name} … --url https://…`);
    const { task, options, from, reason, json = false } = values;
    const timeout_ms = timeoutMs(values.timeout) ?? CASE_MS;
    return action({ server, id, paths, timeout_ms, task, options, from, reason, json });
  },
});

async function run({ server, id, task = "", options: file, json }: Wanted): Promise<number> {
  const source: Pick<WorkflowRequest, "graph" | "workflow"> = DOCUMENT.test(id)
    ? { graph: await readObject(id) }
    : { workflow: id };
  const options: WorkflowRequest["options"] = file === undefined ? undefined : await readObject(file);
  const asked = { task, ...source, options };
  return toEnd(
    server,
    json,
    server.ask("POST /workflows/execute", { query: WITHOUT_WAIT, json: asked }, BEGUN),
  );
}

const WITHOUT_WAIT = { wait: "none" } as const;
/** What answers need. */
const BEGUN = { needs: ["id"] } as const;
const RECORD = { needs: ["id", "status", "explanation", "stages", "artifacts"] } as const;

const DOCUMENT = /\.(?:json|ya?ml)$/;

async function test({ server, paths, timeout_ms, json }: Wanted): Promise<number> {
  const files = await findTests(paths.length > 0 ? paths : (await openProject(undefined)).roots);
  const cases = [];
  for (const file of files) cases.push(...(await readTestFile(file)));
  const results: CaseResult[] = [];
  const report = (result: CaseResult): void => {
    results.push(result);
    if (!json) writeOut(resultText(result));
  };
  await inOrder(cases, (one) => runCase(server, one, timeout_ms), report);
  const failed = results.filter(({ ok }) => !ok).length;
  print(json, { cases: results }, `${counted(results.length, "case")}, ${failed} failed.\n`);
  return failed === 0 ? EXIT.ok : EXIT.failed;
}

/** Works on several items at once, and reports each in the order of the items. */
async function inOrder<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  report: (result: R) => void,
): Promise<void> {
  const begun: Promise<R>[] = [];
  try {
    for (const [at, item] of items.entries()) {
      begun.push(work(item));
      const earliest = begun[at + 1 - AT_ONCE];
      if (earliest !== undefined) report(await earliest);
    }
    for (const last of begun.slice(Math.max(0, items.length + 1 - AT_ONCE))) report(await last);
  } finally {
    await Promise.allSettled(begun);
  }
}

/** Prints a line for the case, and one for each difference. */
function resultText({ file, name, ok, run_id, differences }: CaseResult): string {
  const path = relative(process.cwd(), file);
  const run = run_id === null || ok ? "" : ` (${run_id})`;
  const lines = differences.map(
    ({ path, expected, actual }) => `  ${path}: expected ${expected}, got ${actual}\n`,
  );
  return `${ok ? "ok  " : "FAIL"} ${path}: ${name}${run}\n${lines.join("")}`;
}

function ls({ server, json }: Wanted): Promise<number> {
  return printList(json, server.list("GET /workflows/runs", {}, ["id", "task"]), {
    ID: ({ id }) => id,
    WORKFLOW: ({ workflow }) => workflow,
    STATUS: ({ status }) => status,
    CREATED: ({ created_at }) => created_at,
    TASK: ({ task }) => firstOf(task, 60),
  });
}

const recordOf = ({ server, id }: Pick<Wanted, "server" | "id">): Promise<WorkflowRun> =>
  server.ask("GET /workflows/runs/{id}", { path: { id } }, RECORD);

async function show(wanted: Wanted): Promise<number> {
  return shown(wanted.json, await recordOf(wanted));
}

async function explain(wanted: Wanted): Promise<number> {
  const { id, status, explanation } = await recordOf(wanted);
  return print(wanted.json, { id, status, explanation }, `${explanation}\n`);
}

async function cancel({ server, id, reason, json }: Wanted): Promise<number> {
  const asked = { path: { id }, json: { reason } };
  return shown(json, await server.ask("POST /workflows/runs/{id}/cancel", asked, RECORD));
}

async function fork({ server, id, from = "", task, json }: Wanted): Promise<number> {
  const asked = { from, input: task === undefined ? undefined : { task } };
  const takes = { path: { id }, query: WITHOUT_WAIT, json: asked };
  return toEnd(server, json, server.ask("POST /workflows/runs/{id}/fork", takes, BEGUN));
}

/**
 * Prints the id of a run that begins, and waits for its end, however long it takes: a run may sleep for days, and it continues
 * even if nobody waits any more.
 */
async function toEnd(server: AdminClient, json: boolean, begins: Promise<WorkflowResult>): Promise<number> {
  const begun = await begins;
  const { id } = begun;
  process.stderr.write(`${id} has begun. What it does: hull workflow explain ${id}\n`);
  await followSession(server, "GET /workflows/runs/{id}/events", id, 0, ({ event }) => event === "done");
  const run = await recordOf({ server, id });
  const { status, artifacts, transcript } = run;
  const last = artifacts.at(-1);
  const said = last === undefined ? "" : (last.text ?? JSON.stringify(last.data, null, 2));
  print(json, { ...begun, status, run, artifacts, transcript }, endedLine(said));
  writeError(`${id}: ${run.explanation}\n`);
  return status === "completed" ? EXIT.ok : EXIT.failed;
}

/** The places where the process of the run crashed, and the parts of its test that the run did not use. */
function trialFacts({ test: trial = null }: WorkflowRun): [string, string][] {
  if (trial === null) return [];
  const list = (values: readonly unknown[]): string =>
    values.map((value) => JSON.stringify(value)).join(", ");
  const unmet = Object.entries(trial.unmet).map(([part, values]): [string, string] => [
    `${part} not met`,
    list(values),
  ]);
  return [["died at", list(trial.crashed)], ...unmet];
}

function shown(json: boolean, run: WorkflowRun): number {
  const facts: [string, string][] = [
    ["run", run.id],
    ["workflow", run.workflow_name],
    ["status", run.status],
    ["task", run.task],
    ["began", run.started_at],
    ["ended", run.finished_at ?? ""],
    ["now", run.explanation],
    ...trialFacts(run),
  ];
  const stages = run.stages.map(({ node_id, kind, outcome, branch, attempts, error }) => [
    node_id,
    kind,
    outcome,
    branch,
    String(attempts.length),
    error === null ? "" : `${error.message} [${error.code}]`,
  ]);
  const list =
    stages.length === 0
      ? ""
      : `\n${table([["NODE", "KIND", "OUTCOME", "BRANCH", "ATTEMPTS", "ERROR"], ...stages])}`;
  return print(json, run, `${factTable(facts)}${list}`);
}
