/** Sessions beside the least that does the same work: a Durable Object that appends each message and calls the provider. */
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LocalServer } from "../../scripts/dev/server.ts";
import { ask, compare, load } from "./load.ts";
import { cpuOf, residentOf, withWorkerd } from "./processes.ts";
import { megabytes, ms, perSecond, type Row, row, times } from "./row.ts";
import { bareLoop, bareObject, piping } from "./session-floors.ts";
import { type Provider, startBare, startHull, startProvider, writeProject } from "./subjects.ts";

/** In the log of a long session. */
const RECORDS = 10_000;
const SAID_MB = 100;
const JSON_TYPE = { "content-type": "application/json" };
const SKILLS = {
  "skills/steps/SKILL.md": "---\nname: steps\ndescription: Steps\nprovider: mock\n---\nStep.\n",
  "skills/steps/hooks.js": "export const step = ({ n }) => `step ${n}`;\n",
};
const STEP = {
  name: "step",
  description: "Steps.",
  handler: "steps#step",
  parameters: { n: { type: "integer" } },
};
/** Of a run on a model of the provider. */
const options = (model: string, more: object = {}) => ({
  provider: "anthropic",
  model,
  max_tokens: 4096,
  stream: false,
  tool_format: "native",
  tools: [STEP],
  skills: ["steps"],
  max_iterations: 30,
  loop_detect_warn: 0,
  loop_detect_block: 0,
  loop_detect_skip: 0,
  ...more,
});
const LOOP = { prompt: "go", options: options("loop") };
const SHORT = { prompt: "go", options: options("short") };

const post = (url: string, body: object, status = 200): Promise<string> =>
  ask(url, { method: "POST", body: JSON.stringify(body), headers: JSON_TYPE, status });
const middle = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const now = (): number => performance.timeOrigin + performance.now();

interface Subjects {
  provider: Provider;
  hull: { started: LocalServer; pid: number };
  object: { started: { url: string }; pid: number };
  worker: { url: string };
  pipe: { url: string };
}

let names = 0;
const newName = (): string => `s${++names}`;

export async function sessionRows(rounds: number): Promise<Row[]> {
  const project = await writeProject(SKILLS);
  const provider = await startProvider("session-provider.ts");
  process.env.HULL_LOG = "failures";
  const hull = await withWorkerd(() => startHull(project.dir));
  const object = await withWorkerd(() => startBare(bareObject(provider.provider), join(project.dir, "bare")));
  const worker = await startBare(bareLoop(provider.provider));
  const pipe = await startBare(piping(provider.provider));
  const subjects: Subjects = { provider, hull, object, worker, pipe };
  const few = Math.ceil(rounds / 6);
  let running = true;
  try {
    const rows = [
      ...(await loopRows(subjects, few)),
      await conversationRow(subjects, few),
      ...(await streamRows(subjects, few)),
      await wakeRow(subjects),
      ...(await longRows(subjects, few)),
    ];
    const big = await bigSession(hull.started.url);
    await hull.started.stop();
    running = false;
    return [...rows, ...(await memoryRows(project.dir, big))];
  } finally {
    if (running) await hull.started.stop();
    await object.started.stop();
    await worker.stop();
    await pipe.stop();
    provider.stop();
    delete process.env.HULL_LOG;
    await project.remove();
  }
}

/** Sessions that are there before they are used, of Hull and of the bare object. */
async function opened({ hull, object }: Pick<Subjects, "hull" | "object">, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newName);
  for (const id of ids) {
    await post(`${hull.started.url}/sessions`, { id }, 201);
    await ask(`${object.started.url}/${id}`);
  }
  return ids;
}

/** Ten rounds with a tool, each loop in a session of its own; then without a session. */
async function loopRows(subjects: Subjects, rounds: number): Promise<Row[]> {
  const { hull, object, worker } = subjects;
  const runs = `${hull.started.url}/runs`;
  const own = async (url: string): Promise<void> => {
    const text = await post(url, LOOP);
    if (!text.includes("All done.")) throw new RangeError(text.slice(0, 500));
  };
  const blocks = 5 * rounds + 2 * Math.ceil(rounds / 4);
  const ids = { floor: await opened(subjects, blocks), ours: await opened(subjects, blocks) };
  const taken = { floor: 0, ours: 0 };
  const measured =
    (pid: number, side: "floor" | "ours", once: (id: string) => Promise<unknown>) => async () => {
      const before = cpuOf(pid);
      await once(ids[side].pop() ?? "");
      taken[side] += cpuOf(pid) - before;
    };
  const durable = await compare(
    measured(object.pid, "floor", (id) =>
      post(`${object.started.url}/${id}`, { prompt: "go", model: "loop" }),
    ),
    measured(hull.pid, "ours", (id) => own(`${hull.started.url}/sessions/${id}/runs`)),
    1,
    rounds,
  );
  const stateless = await compare(
    () => post(worker.url, { prompt: "go", model: "loop" }),
    () => own(runs),
    1,
    rounds,
  );
  const cpu = { floor: taken.floor / blocks, ours: taken.ours / blocks };
  return [
    ratio(
      "10 rounds with a tool in a session: p50 over the bare object",
      durable.floor.p50,
      durable.ours.p50,
      1.3,
    ),
    ratio("the same: CPU", cpu.floor, cpu.ours, 1.5),
    ratio(
      "the same without a session: p50 over a bare Worker",
      stateless.floor.p50,
      stateless.ours.p50,
      1.25,
    ),
  ];
}

const ratio = (what: string, floor: number, ours: number, limit: number): Row =>
  row(what, ms(floor), ms(ours), ours / floor, limit, times);

/** Ten turns each, sixteen conversations at a time. */
async function conversationRow(subjects: Subjects, rounds: number): Promise<Row> {
  const { hull, object } = subjects;
  const talks = Math.max(32, rounds);
  const talk = (turn: (id: string) => Promise<string>, ids: string[]) => async () => {
    const id = ids.pop() ?? "";
    for (let n = 0; n < 10; n += 1) await turn(id);
  };
  const bare = (id: string) => post(`${object.started.url}/${id}`, { prompt: "go", model: "short" });
  const own = (id: string) => post(`${hull.started.url}/sessions/${id}/runs`, SHORT);
  const measure = async (turn: (id: string) => Promise<string>): Promise<number> => {
    const { per_second } = await load(talk(turn, await opened(subjects, talks)), 16, talks);
    return per_second * 10;
  };
  const figures: { floor: number[]; ours: number[] } = { floor: [], ours: [] };
  for (let block = 0; block < 3; block += 1) {
    figures.floor.push(await measure(bare));
    figures.ours.push(await measure(own));
  }
  const [floor, ours] = [middle(figures.floor), middle(figures.ours)];
  const what = "conversations of 10 turns, c=16: turns over the bare object's";
  // Slower by at most a third is three quarters as fast.
  return row(what, perSecond(floor), perSecond(ours), floor / ours, 1 / 0.75, times);
}

/** 200 tokens as fast as the provider sends them. */
async function streamRows(subjects: Subjects, rounds: number): Promise<Row[]> {
  const { hull, pipe } = subjects;
  const [id = ""] = await opened(subjects, 1);
  const url = `${hull.started.url}/sessions/${id}`;
  const body = JSON.stringify({ prompt: "go", options: options("tokens", { stream: true, tools: [] }) });
  const headers = { ...JSON_TYPE, accept: "text/event-stream" };
  const figures = { floor: [] as Followed[], ours: [] as Followed[] };
  for (let turn = 0; turn < rounds + 3; turn += 1) {
    figures.floor.push(await follow(pipe.url, { body: "go", headers: {} }, TOKENS));
    figures.ours.push(await follow(`${url}/runs`, { body, headers }, TOKENS));
    await post(`${url}/reset`, {});
  }
  const of = (all: Followed[], part: "first_ms" | "last_ms") => middle(all.slice(3).map((one) => one[part]));
  const first = { floor: of(figures.floor, "first_ms"), ours: of(figures.ours, "first_ms") };
  return [
    ratio(
      "200 streamed tokens through a session: p50 over piping them",
      of(figures.floor, "last_ms"),
      of(figures.ours, "last_ms"),
      1.5,
    ),
    row(
      "the first of them: p50 over piping",
      ms(first.floor),
      ms(first.ours),
      first.ours - first.floor,
      1,
      ms,
    ),
  ];
}

interface Followed {
  /** Until a piece with a match came, from the request on. */
  first_ms: number;
  /** Until the last one that was wanted. */
  last_ms: number;
}
const TOKENS = { pattern: /token\d+ /g, count: 200 };

/** Reads an answer until so many matches have come, then leaves. */
function follow(
  url: string,
  sent: { body?: string; headers: Record<string, string> },
  wanted: { pattern: RegExp; count: number },
): Promise<Followed> {
  const { promise, resolve, reject } = Promise.withResolvers<Followed>();
  const begun = performance.now();
  let seen = 0;
  let first = 0;
  let text = "";
  const method = sent.body === undefined ? "GET" : "POST";
  const asked = httpRequest(url, { method, headers: sent.headers }, (answer) => {
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
      let end = 0;
      for (const match of text.matchAll(wanted.pattern)) {
        seen += 1;
        end = match.index + match[0].length;
      }
      text = text.slice(end);
      if (seen > 0 && first === 0) first = performance.now() - begun;
      if (seen >= wanted.count) resolve({ first_ms: first, last_ms: performance.now() - begun });
    });
    answer.on("end", () => {
      if (seen < wanted.count) reject(new RangeError(`${url} ended after ${seen} of ${wanted.count}`));
    });
    answer.on("error", () => {});
  });
  asked.on("error", reject).end(sent.body);
  // The rest is read where there is an end; a stream without one is left.
  return promise.finally(() => (method === "GET" ? asked.destroy() : undefined));
}

/** An approval runs out: from then to the model call that follows. */
async function wakeRow(subjects: Subjects): Promise<Row> {
  const { hull, provider } = subjects;
  const late: number[] = [];
  const policy = { approval_policy: { require_approval: ["step"] }, approval_timeout_s: 0.3 };
  for (const id of await opened(subjects, 12)) {
    const url = `${hull.started.url}/sessions/${id}`;
    await post(`${url}/runs?wait=idle`, {
      prompt: "go",
      options: options("loop", { ...policy, max_iterations: 2 }),
    });
    const { data }: { data: { expires_at: string }[] } = JSON.parse(await ask(`${url}/approvals`));
    const due = Date.parse(data[0]?.expires_at ?? "");
    for (let asked = 0; asked < due || Number.isNaN(due); ) {
      if (now() > due + 5000) throw new RangeError("nobody woke");
      await sleep(20);
      asked = Number(await ask(`${provider.provider}/last`));
      if (asked >= due) late.push(asked - due);
    }
    await ask(`${url}/runs`);
  }
  const p50 = middle(late);
  return row("an alarm is due: p50 until the run's next model call", "", ms(p50), p50, 50, ms);
}

/** Many records behind, few messages in sight. */
async function longRows(subjects: Subjects, rounds: number): Promise<Row[]> {
  const { hull } = subjects;
  const [long = "", short = ""] = await opened(subjects, 2);
  const url = (id: string) => `${hull.started.url}/sessions/${id}`;
  const grow = async (id: string): Promise<number> => {
    await post(`${url(id)}/runs`, LOOP);
    const view: { last_event: number } = JSON.parse(await post(`${url(id)}/reset`, {}));
    return view.last_event;
  };
  await grow(short);
  let last = 0;
  // A loop leaves some more records than events.
  while (last < RECORDS) last = await grow(long);
  const turn = (id: string) => async () => {
    await post(`${url(id)}/runs`, SHORT);
    await post(`${url(id)}/reset`, {});
  };
  const { floor, ours } = await compare(turn(short), turn(long), 1, rounds);
  const wanted = { pattern: /^event: /gm, count: 20 };
  const missed: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const view: { last_event: number } = JSON.parse(await ask(url(long)));
    const { last_ms } = await follow(
      `${url(long)}/events?after=${view.last_event - 20}`,
      { headers: {} },
      wanted,
    );
    missed.push(last_ms);
  }
  const p50 = middle(missed);
  return [
    ratio(`a turn in a session of ${RECORDS} records over one of 50`, floor.p50, ours.p50, 1.3),
    row(`20 missed events of ${RECORDS}: p50`, "", ms(p50), p50, 20, ms),
  ];
}

/** A session that much was said in, of which the next model call is sent nothing. */
async function bigSession(hull: string): Promise<string> {
  const id = newName();
  await post(`${hull}/sessions`, { id }, 201);
  const content = "0123456789abcdef".repeat(65_536);
  for (let n = 0; n < SAID_MB; n += 1) {
    await post(`${hull}/sessions/${id}/inject`, { message: { role: "user", content } });
    await post(`${hull}/sessions/${id}/trim`, { keep_last: 0 });
  }
  return id;
}

/** What a fresh Hull takes more after turns in it, and while all of it is read. */
async function memoryRows(dir: string, id: string): Promise<Row[]> {
  const { started: hull, pid } = await withWorkerd(() => startHull(dir));
  try {
    const other = newName();
    await post(`${hull.url}/sessions`, { id: other }, 201);
    for (let n = 0; n < 20; n += 1) await post(`${hull.url}/sessions/${other}/runs`, SHORT);
    const before = residentOf(pid);
    for (let n = 0; n < 20; n += 1) await post(`${hull.url}/sessions/${id}/runs`, SHORT);
    const more = Math.max(0, residentOf(pid) - before);
    let peak = before;
    const { body } = await fetch(`${hull.url}/sessions/${id}/transcript?view=raw`);
    for await (const _ of body ?? []) peak = Math.max(peak, residentOf(pid));
    const reading = peak - before;
    const what = `a session in which ${SAID_MB} MB were said`;
    return [
      row(`${what}: memory after 20 turns`, "", megabytes(more), more, 32, megabytes),
      row(
        `${what}: memory while it is read`,
        "",
        megabytes(reading),
        reading,
        Number.POSITIVE_INFINITY,
        megabytes,
      ),
    ];
  } finally {
    await hull.stop();
  }
}
