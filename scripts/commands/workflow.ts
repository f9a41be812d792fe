/** `hull workflow`: workflows of a running Hull, and their runs. */
import { readFile } from "node:fs/promises";
import { readYaml } from "../../src/skill/frontmatter/yaml.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { toJson } from "../../src/skill/tree.ts";
import { AdminClient, pathOf, target } from "../admin-client.ts";
import { type Command, CommandError, EXIT, parseFlags } from "../command.ts";
import { endedLine, factTable, print } from "../report.ts";
import { table } from "../table.ts";

interface ListedRun {
  id: string;
  workflow: string;
  status: string;
  task: string;
  created_at: string;
  finished_at: string | null;
}
interface ShownRun {
  id: string;
  workflow_name: string;
  task: string;
  status: string;
  explanation: string;
  started_at: string;
  finished_at: string | null;
  stages: {
    node_id: string;
    kind: string;
    outcome: string;
    branch: string;
    attempts: unknown[];
    error: { code: string; message: string } | null;
  }[];
  active: { node_id: string }[];
  artifacts: { text: string | null; data: unknown }[];
}

interface Wanted {
  server: AdminClient;
  /** Id of a run; with `run` the file or name of a workflow. */
  id: string;
  task: string | undefined;
  /** A file with options of the run. */
  options: string | undefined;
  from: string | undefined;
  reason: string | undefined;
  json: boolean;
}

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = { run, ls, show, explain, cancel, fork };

export const command: Command = {
  name: "workflow",
  summary: "Run workflows in a running Hull, list, explain, cancel and fork their runs",
  usage: `
Usage: hull workflow run <file|name> --task TEXT [--options FILE] [--url URL] [--json]
       hull workflow ls [--url URL] [--json]
       hull workflow show|explain <run> [--url URL] [--json]
       hull workflow cancel <run> [--reason TEXT] [--url URL] [--json]
       hull workflow fork <run> --from NODE [--task TEXT] [--url URL] [--json]

  --url URL      the Hull that runs the workflows, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY      an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --task TEXT    the task of the run; with fork in place of the earlier one
  --options FILE with run: options of the run from a JSON or YAML file, e.g. {"test": {"virtual_time": true}}
  --from NODE    with fork: the node where the new run begins
  --reason TEXT  with cancel: what the record says of it
  --json         print the server's answer

run takes a graph from a file that ends in .json, .yaml or .yml, a stored workflow by its name or name@version, or one of a
served skill as <skill>/<name>. It waits for the end, prints the last
artifact, and ends with exit code 1 where the run did not complete. explain prints one sentence: what the run does, or why it
does not go on.
`,
  async run(argv) {
    const flags = {
      url: { type: "string" },
      key: { type: "string" },
      json: { type: "boolean" },
      task: { type: "string" },
      options: { type: "string" },
      from: { type: "string" },
      reason: { type: "string" },
    } as const;
    const { values, positionals } = parseFlags(argv, flags, 2);
    const [name = "", id = ""] = positionals;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action === undefined || (name === "ls") !== (id === "")) {
      const hint = "hull workflow ls, run <file|name> --task TEXT, show|explain|cancel|fork <run>";
      throw new CommandError(EXIT.usage, "bad_arguments", "Which action, on which workflow or run?", hint);
    }
    const missing =
      name === "run" && values.task === undefined
        ? "--task"
        : name === "fork" && values.from === undefined
          ? "--from"
          : null;
    if (missing !== null)
      throw new CommandError(EXIT.usage, "bad_arguments", `hull workflow ${name} needs ${missing}.`);
    const { url, key } = await target(values, `hull workflow ${name} … --url https://…`);
    const { task, options, from, reason, json = false } = values;
    return action({ server: new AdminClient(url, key), id, task, options, from, reason, json });
  },
};

async function run({ server, id, task, options: file, json }: Wanted): Promise<number> {
  const source = DOCUMENT.test(id) ? { graph: await documentIn(id) } : { workflow: id };
  const options = file === undefined ? {} : { options: await documentIn(file) };
  return ended(json, await server.send("POST", "/workflows/execute", { task, ...source, ...options }));
}

const DOCUMENT = /\.(?:json|ya?ml)$/;

async function documentIn(file: string): Promise<Json> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.missing, "not_found", `${file} cannot be read: ${why}.`);
  });
  if (!file.endsWith(".json")) {
    const { node, fault } = readYaml(text, { line: 1, column: 1 });
    if (node !== null) return toJson(node);
    const where = `${file}:${fault?.at.line ?? 1}:${fault?.at.column ?? 1}`;
    throw new CommandError(
      EXIT.failed,
      "bad_yaml",
      `${where} is no YAML: ${fault?.message ?? "it is empty"}.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.failed, "bad_json", `${file} is no JSON: ${why}.`);
  }
}

async function ls({ server, json }: Wanted): Promise<number> {
  const runs = await server.list<ListedRun>("/workflows/runs");
  const rows = runs.map(({ id, workflow, status, created_at, task }) => [
    id,
    workflow,
    status,
    created_at,
    task.slice(0, 60),
  ]);
  print(json, { data: runs }, table([["ID", "WORKFLOW", "STATUS", "CREATED", "TASK"], ...rows]));
  return EXIT.ok;
}

const recordOf = async ({ server, id }: Wanted): Promise<ShownRun> =>
  JSON.parse(await server.send("GET", pathOf("/workflows/runs", id)));

async function show(wanted: Wanted): Promise<number> {
  return shown(wanted.json, await recordOf(wanted));
}

async function explain(wanted: Wanted): Promise<number> {
  const { id, status, explanation } = await recordOf(wanted);
  print(wanted.json, { id, status, explanation }, `${explanation}\n`);
  return EXIT.ok;
}

async function cancel({ server, id, reason, json }: Wanted): Promise<number> {
  const body = reason === undefined ? {} : { reason };
  return shown(json, JSON.parse(await server.send("POST", `${pathOf("/workflows/runs", id)}/cancel`, body)));
}

async function fork({ server, id, from, task, json }: Wanted): Promise<number> {
  const body = { from, ...(task === undefined ? {} : { input: { task } }) };
  return ended(json, await server.send("POST", `${pathOf("/workflows/runs", id)}/fork`, body));
}

/** The outcome of a run. */
function ended(json: boolean, text: string): number {
  const result: { status: string; run: ShownRun } = JSON.parse(text);
  const last = result.run.artifacts.at(-1);
  const said = last === undefined ? "" : (last.text ?? JSON.stringify(last.data, null, 2));
  print(json, result, endedLine(said));
  process.stderr.write(`${result.run.id}: ${result.run.explanation}\n`);
  return result.status === "completed" ? EXIT.ok : EXIT.failed;
}

function shown(json: boolean, run: ShownRun): number {
  const facts: [string, string][] = [
    ["run", run.id],
    ["workflow", run.workflow_name],
    ["status", run.status],
    ["task", run.task],
    ["began", run.started_at],
    ["ended", run.finished_at ?? ""],
    ["now", run.explanation],
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
  print(json, run, `${factTable(facts)}${list}`);
  return EXIT.ok;
}
