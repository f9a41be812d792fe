/**
 * Sessions compared with the least that keeps the same promises, and runs without one with a bare Worker. Creation counts.
 */
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LocalServer } from "../../scripts/dev/server.ts";
import { leanClose, leanPost } from "./lean-client.ts";
import { ask, compare, load } from "./load.ts";
import { cpuOf, residentOf, withWorkerd } from "./processes.ts";
import { megabytes, ms, perSecond, type Row, row, times } from "./row.ts";
import { bareLoop, piping, rawDo, rawDoPlus } from "./session-floors.ts";
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
  plus: { started: { url: string }; pid: number };
  object: { url: string };
  worker: { url: string };
  pipe: { url: string };
}

let names = 0;
const newName = (): string => `s${++names}`;

/** Starts what is measured, and returns its rows. @param last after Hull was stopped */
async function withSubjects<T>(
  measure: (subjects: Subjects) => Promise<T>,
  last: (dir: string) => Promise<Row[]> = async () => [],
): Promise<{ measured: T; rest: Row[] }> {
  const project = await writeProject(SKILLS);
  const provider = await startProvider("session-provider.ts");
  process.env.HULL_LOG = "failures";
  const hull = await withWorkerd(() => startHull(project.dir));
  const plus = await withWorkerd(() => startBare(rawDoPlus(provider.provider), join(project.dir, "plus")));
  const object = await startBare(rawDo(provider.provider), join(project.dir, "bare"));
  const worker = await startBare(bareLoop(provider.provider));
  const pipe = await startBare(piping(provider.provider));
  let running = true;
  try {
    const measured = await measure({ provider, hull, plus, object, worker, pipe });
    await hull.started.stop();
    running = false;
    return { measured, rest: await last(project.dir) };
  } finally {
    if (running) await hull.started.stop();
    await plus.started.stop();
    await object.stop();
    await worker.stop();
    await pipe.stop();
    provider.stop();
    leanClose();
    delete process.env.HULL_LOG;
    await project.remove();
  }
}

/** Runs over the least that keeps the same promises. */
export async function runRows(rounds: number): Promise<Row[]> {
  const few = Math.ceil(rounds / 6);
  const { measured } = await withSubjects(async (subjects) => [
    // First: workerd clears sessions away for a while after their last use.
    ...(await statelessRows(subjects, few)),
    ...(await loopRows(subjects, few)),
    ...(await talkRows(subjects, few)),
    await firstTokenRow(subjects, few),
  ]);
  return measured;
}

export async function sessionRows(rounds: number): Promise<Row[]> {
  const few = Math.ceil(rounds / 6);
  let big = "";
  const { measured, rest } = await withSubjects(
    async (subjects) => {
      const rows = [
        ...(await streamRows(subjects, few)),
        await wakeRow(subjects),
        ...(await longRows(subjects, few)),
      ];
      big = await bigSession(subjects.hull.started.url);
      return rows;
    },
    (dir) => memoryRows(dir, big),
  );
  return [...measured, ...rest];
}

/** New sessions of Hull. */
async function opened({ hull }: Pick<Subjects, "hull">, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newName);
  for (const id of ids) await post(`${hull.started.url}/sessions`, { id }, 201);
  return ids;
}

/** A new session, then so many runs in it; the same for Hull and for the floor, over the same client. */
function talks({ plus, hull }: Pick<Subjects, "plus" | "hull">, model: "loop" | "short", turns: number) {
  const said = model === "loop" ? "All done." : "Hello from the provider.";
  const turn = async (url: string, body: string): Promise<void> => {
    for (let n = 0; n < turns; n += 1) {
      const text = await leanPost(url, body);
      if (!text.includes(said)) throw new RangeError(text.slice(0, 500));
    }
  };
  const asked = JSON.stringify({ prompt: "go", model });
  const body = JSON.stringify(model === "loop" ? LOOP : SHORT);
  return {
    floor: async (): Promise<void> => {
      const url = `${plus.started.url}/${newName()}`;
      await leanPost(`${url}/new`, "{}");
      await turn(url, asked);
    },
    ours: async (): Promise<void> => {
      const id = newName();
      await leanPost(`${hull.started.url}/sessions`, JSON.stringify({ id }), 201);
      await turn(`${hull.started.url}/sessions/${id}/runs`, body);
    },
  };
}

/** Runs without a session: ten rounds with a tool, and one turn. */
async function statelessRows({ hull, worker }: Subjects, rounds: number): Promise<Row[]> {
  const url = `${hull.started.url}/runs`;
  const asked = (model: string) => JSON.stringify({ prompt: "go", model });
  const body = JSON.stringify({ prompt: "go", options: options("short", { tools: [], skills: [] }) });
  const turns = await throughput(
    () => leanPost(worker.url, asked("short")),
    () => leanPost(url, body),
    Math.max(128, 12 * rounds),
  );
  const loops = await compare(
    () => leanPost(worker.url, asked("loop")),
    () => leanPost(url, JSON.stringify(LOOP)),
    1,
    rounds,
  );
  return [
    ratio(
      "10 rounds with a tool, no session: p50 over a bare Worker with isolates",
      loops.floor.p50,
      loops.ours.p50,
      1.2,
    ),
    atLeast("one turn without a session, c=16: a bare Worker's over Hull's", turns.floor, turns.ours, 0.6),
  ];
}

/** Ten rounds with a tool, each loop in a session of its own. */
async function loopRows(subjects: Subjects, rounds: number): Promise<Row[]> {
  const { hull, plus } = subjects;
  const blocks = 5 * rounds + 2 * Math.ceil(rounds / 4);
  const taken = { floor: 0, ours: 0 };
  const measured = (pid: number, side: "floor" | "ours", once: () => Promise<void>) => async () => {
    const before = cpuOf(pid);
    await once();
    taken[side] += cpuOf(pid) - before;
  };
  const { floor, ours } = talks(subjects, "loop", 1);
  const durable = await compare(
    measured(plus.pid, "floor", floor),
    measured(hull.pid, "ours", ours),
    1,
    rounds,
  );
  const cpu = { floor: taken.floor / blocks, ours: taken.ours / blocks };
  return [
    ratio(
      "10 rounds with a tool, fresh session: p50 over raw-do-plus",
      durable.floor.p50,
      durable.ours.p50,
      1.5,
    ),
    ratio("the same: CPU", cpu.floor, cpu.ours, 1.5),
  ];
}

const ratio = (what: string, floor: number, ours: number, limit: number): Row =>
  row(what, ms(floor), ms(ours), ours / floor, limit, times);

/** As fast as `share` of the floor. */
const atLeast = (what: string, floor: number, ours: number, share: number): Row =>
  row(what, perSecond(floor), perSecond(ours), floor / ours, 1 / share, times);

/** Turns a second, sixteen at a time; floor and Hull in turns, after a block of each that does not count. */
async function throughput(
  floor: () => Promise<unknown>,
  ours: () => Promise<unknown>,
  count: number,
): Promise<{ floor: number; ours: number }> {
  const figures = { floor: [] as number[], ours: [] as number[] };
  await load(floor, 16, count);
  await load(ours, 16, count);
  for (let block = 0; block < 5; block += 1) {
    figures.floor.push((await load(floor, 16, count)).per_second);
    figures.ours.push((await load(ours, 16, count)).per_second);
  }
  return { floor: middle(figures.floor), ours: middle(figures.ours) };
}

async function talkRows(subjects: Subjects, rounds: number): Promise<Row[]> {
  const long = talks(subjects, "short", 10);
  const talked = await throughput(long.floor, long.ours, Math.max(32, rounds));
  const one = talks(subjects, "short", 1);
  const turned = await throughput(one.floor, one.ours, Math.max(64, 6 * rounds));
  return [
    atLeast(
      "conversations of 10 turns, c=16: turns, raw-do-plus's over Hull's",
      talked.floor * 10,
      talked.ours * 10,
      0.5,
    ),
    atLeast("one turn in a fresh session, c=16: raw-do-plus's over Hull's", turned.floor, turned.ours, 0.6),
  ];
}

/** From the request that makes a session to the first token of the run in it. */
async function firstTokenRow({ hull, object }: Subjects, rounds: number): Promise<Row> {
  const headers = { ...JSON_TYPE, accept: "text/event-stream" };
  const one = { pattern: /token\d+ /g, count: 1 };
  const body = JSON.stringify({ prompt: "go", options: options("tokens", { tools: [], skills: [] }) });
  const raw = JSON.stringify({ prompt: "go", model: "tokens" });
  const figures = { floor: [] as number[], ours: [] as number[] };
  for (let turn = 0; turn < 3 * rounds + 3; turn += 1) {
    const id = newName();
    const begun = performance.now();
    await leanPost(`${object.url}/${id}/new`, "{}");
    await follow(`${object.url}/${id}`, { body: raw, headers }, one);
    const then = performance.now();
    await leanPost(`${hull.started.url}/sessions`, JSON.stringify({ id }), 201);
    await follow(`${hull.started.url}/sessions/${id}/runs`, { body, headers }, one);
    if (turn < 3) continue;
    figures.floor.push(then - begun);
    figures.ours.push(performance.now() - then);
  }
  const [floor, ours] = [middle(figures.floor), middle(figures.ours)];
  return row("first token, fresh session: p50 over a bare object", ms(floor), ms(ours), ours - floor, 3, ms);
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

/** A log of many records, whose conversation has few messages. */
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

/** A session with much text, of which the next model call gets nothing. */
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

/** The additional memory of a fresh Hull after turns in such a session, and while all of it is read. */
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
