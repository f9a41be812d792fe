/** Workflows and tasks compared with the same runs without them, on one Hull. */
import { leanClose, leanPost } from "./lean-client.ts";
import { ask, compare, load } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { startHull, startProvider, writeProject } from "./subjects.ts";

/** Stages of a chain: what a run costs once is shared by them. */
const STAGES = 10;
const ITEMS = 100;
const AT_ONCE = 20;
/** Records of the journal that a new process reads. */
const JOURNAL = 10_000;

const SKILLS = {
  "skills/plain/SKILL.md": "---\nname: plain\ndescription: P\nprovider: mock\n---\nAnswer.\n",
};

let names = 0;
const newName = (): string => `s${++names}`;
const policy = (model: string) => ({ provider: "anthropic", model, max_tokens: 4096, persistent: false });
const options = (model: string) => ({ ...policy(model), max_iterations: 1 });

/** A run in a session of its own. */
const runs = (url: string, model: string) => {
  const body = JSON.stringify({ prompt: "go", options: options(model) });
  return async (): Promise<void> => {
    const id = newName();
    await leanPost(`${url}/sessions`, JSON.stringify({ id }), 201);
    await leanPost(`${url}/sessions/${id}/runs`, body);
  };
};

const executes = (url: string, graph: object) => {
  const body = JSON.stringify({ task: "go", graph });
  return async (): Promise<void> => {
    const text = await leanPost(`${url}/workflows/execute`, body);
    if (!/^\{"id":"[^"]*","status":"completed"/.test(text) || !text.includes('"failed_stages":[]'))
      throw new RangeError(text.slice(0, 500));
  };
};

export async function workflowRows(rounds: number): Promise<Row[]> {
  const few = Math.ceil(rounds / 12);
  const project = await writeProject(SKILLS);
  const provider = await startProvider("session-provider.ts");
  process.env.HULL_LOG = "failures";
  let hull = await startHull(project.dir);
  try {
    const rows = [await stageRow(hull.url, few), await mapRow(hull.url, few), await taskRow(hull.url, few)];
    const long = await journalOf(hull.url, JOURNAL);
    const short = await journalOf(hull.url, 10);
    const floors: number[] = [];
    const ours: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      await hull.stop();
      hull = await startHull(project.dir);
      // Another run, so that the isolate has done all of this before.
      await loaded(hull.url, await journalOf(hull.url, 10));
      floors.push(await loaded(hull.url, short));
      ours.push(await loaded(hull.url, long));
    }
    const [floor, mine] = [middle(floors), middle(ours)];
    rows.push(
      row(
        `a workflow run of ${JOURNAL} journal records goes on in a new process, over one of 10`,
        ms(floor),
        ms(mine),
        mine - floor,
        50,
        ms,
      ),
    );
    return rows;
  } finally {
    await hull.stop();
    provider.stop();
    leanClose();
    delete process.env.HULL_LOG;
    await project.remove();
  }
}

const middle = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function stageRow(url: string, rounds: number): Promise<Row> {
  const ids = Array.from({ length: STAGES }, (_, n) => `n${n}`);
  const graph = {
    entry: "n0",
    nodes: Object.fromEntries(
      ids.map((id) => [
        id,
        { prompt: "go", model_policy: policy("short"), context_policy: { max_artifacts: 1 } },
      ]),
    ),
    edges: ids.slice(1).map((to, n) => ({ from: ids[n], to })),
  };
  const one = runs(url, "short");
  const floor = async (): Promise<void> => {
    for (let n = 0; n < STAGES; n += 1) await one();
  };
  const taken = await compare(floor, executes(url, graph), 1, rounds);
  const [direct, staged] = [taken.floor.p50 / STAGES, taken.ours.p50 / STAGES];
  return row(
    "a stage, in a chain of 10: p50 over the same run in a fresh session",
    ms(direct),
    ms(staged),
    staged / direct,
    1.3,
    times,
  );
}

async function mapRow(url: string, rounds: number): Promise<Row> {
  const items = Array.from({ length: ITEMS }, (_, n) => `item ${n}`);
  const map = {
    kind: "map",
    prompt: "go",
    model_policy: policy("slow"),
    map_policy: { items, max_concurrent: AT_ONCE },
  };
  const floor = async (): Promise<void> => {
    await load(runs(url, "slow"), AT_ONCE, ITEMS);
  };
  const taken = await compare(floor, executes(url, { nodes: { map } }), 1, Math.ceil(rounds / 5));
  const what = `a map of ${ITEMS} items at 50 ms, ${AT_ONCE} at once: p50 over the same runs in fresh sessions`;
  return row(what, ms(taken.floor.p50), ms(taken.ours.p50), taken.ours.p50 / taken.floor.p50, 1.3, times);
}

async function taskRow(url: string, rounds: number): Promise<Row> {
  const node = { kind: "stage", prompt: "go", model_policy: policy("short") };
  const body = JSON.stringify({ task: "go", node, wait: true });
  const { floor, ours } = await compare(
    runs(url, "short"),
    () => leanPost(`${url}/tasks`, body, 201),
    1,
    rounds * 5,
  );
  return row(
    "a task handed over and back: p50 over the same run in a fresh session",
    ms(floor.p50),
    ms(ours.p50),
    ours.p50 / floor.p50,
    1.3,
    times,
  );
}

/** A run that paused with so many records. */
async function journalOf(url: string, journal: number): Promise<string> {
  const steps = Math.floor(journal / 2);
  const edge = (from: string, to: string, branch: string) => ({ from, to, branch });
  const graph = {
    entry: "a",
    nodes: { a: { kind: "condition" }, b: { kind: "condition" } },
    edges: [edge("a", "b", "true"), edge("a", "b", "false"), edge("b", "a", "true"), edge("b", "a", "false")],
  };
  const text = await leanPost(
    `${url}/workflows/execute?wait=none`,
    JSON.stringify({ task: "go", graph, options: { max_steps: steps } }),
    202,
  );
  const { run }: { run: { id: string; steps: number; status: string } } = JSON.parse(text);
  if (run.status !== "paused" || run.steps !== steps) throw new RangeError(text.slice(0, 500));
  return run.id;
}

/** How long a process that does not know a run takes to say something about it that is short. */
async function loaded(url: string, id: string): Promise<number> {
  const begun = performance.now();
  // It has ended, so there is nothing to stop.
  await ask(`${url}/workflows/runs/${id}/kill`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
    status: 409,
  });
  return performance.now() - begun;
}
