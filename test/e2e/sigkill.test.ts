/**
 * Whatever is killed at whatever moment, sessions and workflows keep their word: each message that was accepted is answered, each
 * run is settled once, and what a tool did is neither lost nor done again. `HULL_KILLS` says how many kills, `HULL_KILL_SEED` which,
 * `HULL_KILL_FLOWS` how many workflow runs are under way meanwhile.
 */
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { type FakeProvider, startFakeProvider } from "../support/fake-provider.ts";
import type { FakeRequest, FakeTurn } from "../support/fake-turn.ts";
import { type HullDev, startHullDev } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill } from "../support/shared.ts";
import { readEvents } from "../support/sse.ts";

/** With the usual seed, one of each kind (`VICTIMS`). */
const KILLS = Number(process.env.HULL_KILLS ?? 4);
const SEED = Number(process.env.HULL_KILL_SEED ?? 1);
const SESSIONS = 4;
const FLOWS = Number(process.env.HULL_KILL_FLOWS ?? 2);
/** A kill comes once this many notes were made since the last one: all that is under way begins anew after each. */
const NOTES_BETWEEN = Math.floor(FLOWS / 10);
/** How long a workflow waits before each stage, at most, in ms: many of them do not all work at once. */
const MOST_SLEEP_MS = 10 + FLOWS * 300;
/** How long a run may take: with the others, and once more for each kill. In ms. */
const limitOf = (kills: number): number => 60_000 + (FLOWS * 1000 + 10_000) * (1 + kills);
/** How often a run's client looks for it, in ms: all of them together leave the machine to the runs. */
const LOOK_MS = Math.max(50, FLOWS * 20);

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = numbers(SEED);
const upTo = (limit: number, next = random): number => Math.floor(next() * limit);
/** Of its own, since how often the provider is asked does not follow from the seed. */
const pace = numbers(SEED);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const SKILLS = {
  "agent/SKILL.md":
    "---\nname: agent\ndescription: Works\nmode: llm\nprovider: anthropic\nmodel: fake\ntools:\n  - name: note\n    description: Notes\n" +
    "    command: [./note.sh]\n    parameters: [{name: file, description: f}, {name: line, description: l}]\n---\nWork.\n",
  // Notes its line outside of what Hull keeps, and among the session's files.
  "agent/note.sh":
    '#!/bin/bash\necho "$3" >> "$1"; sleep 0.0$((RANDOM % 10)); echo "$3" >> "$HULL_WORKSPACE/log"; echo "noted $3"\n',
};

let hull: HullDev;
let provider: FakeProvider;
let marks: string;
beforeAll(async () => {
  provider = await startFakeProvider();
  provider.script(answer);
  hull = await start();
  marks = join(hull.root, "marks");
  await mkdir(marks);
});
afterAll(async () => {
  // This test is not about what a killed workerd leaves.
  const temporary = join(hull.root, "tmp");
  for (const name of await readdir(temporary)) await removeTree(join(temporary, name));
  await rm(join(hull.stateDir, "runner", "scratch"), { recursive: true, force: true });
  await hull.stop();
  await provider.close();
});

const start = (from?: HullDev): Promise<HullDev> =>
  startHullDev({
    ...(from === undefined ? { skills: SKILLS } : { from }),
    args: ["--direct"],
    env: { ANTHROPIC_BASE_URL: provider.url, ANTHROPIC_API_KEY: "k" },
  });

/** Lines that the model knows to be noted. */
const notes = new Set<string>();

/** A prompt is noted by the tool, then answered. */
function answer({ text, body }: FakeRequest): FakeTurn {
  const paced = { delay_ms: upTo(40, pace), delta_ms: upTo(10, pace) };
  const last = JSON.stringify(body.messages.at(-1));
  const line = /\bmark (\S+)/.exec(text)?.[1] ?? text;
  if (last.includes("tool_result")) {
    notes.add(line);
    return { text: ["all ", "of ", "it ", "is ", "noted"], ...paced };
  }
  const file = join(marks, line.split(/[ .]/)[0] ?? "");
  return { tool_calls: [{ name: "note", arguments: { file, line } }], ...paced };
}

/** A request that is made until it is answered, by the same name. */
async function insist<T>(path: string, init: RequestInit = {}): Promise<T> {
  for (;;) {
    try {
      const response = await fetch(hull.url + path, { ...init, signal: AbortSignal.timeout(20_000) });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      if (response.status < 500) expect.fail(`${path}: ${response.status} ${text}`);
    } catch (error) {
      if (error instanceof Error && error.name === "AssertionError") throw error;
    }
    await pause(50);
  }
}
const post = <T>(path: string, body: object, key: string): Promise<T> =>
  insist(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", "idempotency-key": key },
  });

/** A run, once it has ended. */
async function settled<T extends { status: string }>(path: string): Promise<T> {
  const begun = Date.now();
  const before = killed;
  for (;;) {
    const run = await insist<T>(path);
    if (run.status !== "running" && run.status !== "waiting") return run;
    if (Date.now() - begun > limitOf(killed - before)) expect.fail(`still ${JSON.stringify(run)}`);
    await pause(LOOK_MS);
  }
}

interface Run {
  run_id: string;
  status: string;
  result?: { text: string };
  error?: { code: string };
}
/** The messages that a session got, in order, and the end of each run; `deaths`: of the Worker, meanwhile. */
interface Told {
  id: string;
  prompts: string[];
  runs: (Run & { deaths: number })[];
}
let deaths = 0;
let killed = 0;
/** A run may be given up after four run attempts in a row that got nothing done (docs/sessions.md). */
const MOST_LIVES = 4;

/** Sends a session one message after the other until it is over. */
async function talk(told: Told, over: () => boolean): Promise<void> {
  const path = `/sessions/${told.id}`;
  await post("/sessions", { id: told.id }, `open-${told.id}`);
  for (let turn = 1; !over(); turn += 1) {
    const prompt = `${told.id} ${turn}`;
    await post(`${path}/messages`, { content: `aside ${prompt}` }, `aside ${prompt}`);
    const options = { skill: "agent", tool_retries: 0 };
    const before = deaths;
    const { run_id } = await post<Run>(`${path}/runs?wait=none`, { prompt, options }, prompt);
    told.prompts.push(prompt);
    const run = await settled<Run>(`${path}/runs/${run_id}`);
    told.runs.push({ ...run, deaths: deaths - before });
  }
}

interface FlowRun {
  id: string;
  status: string;
  stages: { node_id: string; branch: string; transcript: unknown; error: { code: string } | null }[];
}
/** What came of the workflow runs of one line, in order. */
interface Flow {
  id: string;
  marks: { [node: string]: string }[];
  runs: (FlowRun & { deaths: number })[];
}

/** Two parallel branches that note something, a join, and a stage after it that notes something too; each waits first. */
function graphOf(marked: { [node: string]: string }) {
  const stage = (node: string) => ({
    mode: "agent",
    prompt: `mark ${marked[node]}`,
    model_policy: { skill: "agent", tool_retries: 0, persistent: false },
  });
  const wait = () => ({ kind: "wait", wait: { sleep_ms: upTo(MOST_SLEEP_MS, pace) } });
  const edges = ["f wa", "f wb", "wa a", "wb b", "a j", "b j", "j wc", "wc c"];
  return {
    entry: "f",
    nodes: {
      f: { kind: "fork" },
      wa: wait(),
      wb: wait(),
      a: stage("a"),
      b: stage("b"),
      j: { kind: "join" },
      wc: wait(),
      c: stage("c"),
    },
    edges: edges.map((edge) => {
      const [from, to] = edge.split(" ");
      return { from, to };
    }),
  };
}

/** Begins one workflow run after the other until it is over. */
async function flow({ id, marks: all, runs }: Flow, over: () => boolean): Promise<void> {
  for (let n = 1; !over(); n += 1) {
    const marked = Object.fromEntries(["a", "b", "c"].map((node) => [node, `${id}.${n}.${node}`]));
    const before = deaths;
    const body = { task: "note", graph: graphOf(marked) };
    const { run } = await post<{ run: FlowRun }>("/workflows/execute?wait=none", body, `${id}.${n}`);
    all.push(marked);
    const ended = await settled<FlowRun>(`/workflows/runs/${run.id}`);
    runs.push({ ...ended, deaths: deaths - before });
  }
}

/** The journal contains what was done, once. */
async function checkFlow({ id, marks: all, runs }: Flow): Promise<void> {
  expect(runs.length, id).toBeGreaterThan(0);
  const marked = lines(await readFile(join(marks, id), "utf8").catch(() => ""));
  for (const [n, run] of runs.entries()) {
    expect([id, n, run.status]).toEqual([id, n, "completed"]);
    const nodes = run.stages.map(({ node_id }) => node_id).toSorted();
    expect(nodes, run.id).toEqual(["a", "b", "c", "f", "j", "wa", "wb", "wc"]);
    for (const { node_id, branch, transcript, error } of run.stages) {
      const mark = all[n]?.[node_id];
      if (mark === undefined) continue;
      const times = count(marked, mark);
      const lost = error?.code === "run_lost" && run.deaths >= MOST_LIVES;
      if (!lost) expect([mark, branch, error]).toEqual([mark, "success", null]);
      const noted = JSON.stringify(transcript ?? "").includes(`noted ${mark}`);
      if (noted) expect([mark, times]).toEqual([mark, 1]);
      else expect(times, mark).toBeLessThanOrEqual(1);
    }
    const response = await fetch(`${hull.url}/workflows/runs/${run.id}/events?after=0`);
    const events = await readEvents(response);
    expect(events.map(({ id: seq }) => seq)).toEqual(events.map((_, place) => `${run.id}:${place + 1}`));
    expect(events.filter(({ event }) => event === "done")).toHaveLength(1);
  }
}

const VICTIMS: Record<string, () => Promise<unknown>> = {
  worker: () => kill(hull, "worker"),
  runner: () => kill(hull, "runner"),
  both: () => kill(hull, "worker", "runner"),
  everything: async () => {
    await hull.end("SIGKILL");
    await until(hull.processes, (left) => left.size === 0);
    hull = await start(hull);
  },
};

test(`${KILLS} kills (seed ${SEED}) under load`, { timeout: 2 * limitOf(KILLS) }, async () => {
  let over = false;
  const all = Array.from({ length: SESSIONS }, (_, n): Told => ({ id: `s${n + 1}`, prompts: [], runs: [] }));
  const flows = Array.from({ length: FLOWS }, (_, n): Flow => ({ id: `w${n + 1}`, marks: [], runs: [] }));
  const talks = Promise.all([
    ...all.map((told) => talk(told, () => over)),
    ...flows.map((one) => flow(one, () => over)),
  ]);
  talks.catch(() => {});
  let noted = 0;
  for (let n = 0; n < KILLS; n += 1) {
    await insist("/readyz");
    await pause(upTo(1000));
    await until(
      () => notes.size - noted,
      (made) => made >= NOTES_BETWEEN,
      limitOf(0),
    );
    const names = Object.keys(VICTIMS);
    const name = names[upTo(names.length)] ?? "";
    deaths += name === "runner" ? 0 : 1;
    killed += 1;
    await VICTIMS[name]?.();
    noted = notes.size;
  }
  over = true;
  await talks;
  const lost = ({ error, deaths: died }: Told["runs"][number]): boolean =>
    error?.code === "run_lost" && died >= MOST_LIVES;
  const answered = all.flatMap(({ runs }) => runs.filter((run) => !lost(run)));
  expect(answered.map(({ status, result, error }) => [status, result?.text ?? error])).toEqual(
    answered.map(() => ["done", "all of it is noted"]),
  );
  for (const { id, prompts, runs } of all) {
    expect(prompts.length, id).toBeGreaterThan(0);
    const { data } = await insist<{ data: { role: string; content: unknown }[] }>(
      `/sessions/${id}/messages?limit=1000`,
    );
    const said = data.filter(({ role }) => role === "user").map(({ content }) => content);
    expect(said).toEqual(prompts.flatMap((prompt) => [`aside ${prompt}`, prompt]));
    // The results that the model read say what its calls did.
    const resultOf = (prompt: string): string => {
      const after = data.slice(data.findIndex(({ content }) => content === prompt) + 1);
      const next = after.findIndex(({ role }) => role === "user");
      const results = after.slice(0, next === -1 ? undefined : next).filter(({ role }) => role === "tool");
      expect(results.length, prompt).toBeLessThanOrEqual(1);
      return String(results[0]?.content);
    };
    const marked = lines(await readFile(join(marks, id), "utf8").catch(() => ""));
    const filed = lines(await file(`/sessions/${id}/files/log`));
    for (const [n, prompt] of prompts.entries()) {
      const result = resultOf(prompt);
      const times = [count(marked, prompt), count(filed, prompt)];
      if (result.trim() === `noted ${prompt}`) expect(times, `${prompt}: ${result}`).toEqual([1, 1]);
      else {
        const run = runs[n];
        if (run === undefined || !lost(run)) {
          expect(result, prompt).toContain("may or may not have taken effect");
        }
        expect(Math.max(...times), `${prompt}: ${result}`).toBeLessThanOrEqual(1);
      }
    }
    const events = await eventsOf(id, prompts.length);
    expect(events.map(({ id: seq }) => seq)).toEqual(events.map((_, n) => `${id}:${n + 1}`));
    expect(events.filter(({ event }) => event === "done")).toHaveLength(prompts.length);
  }
  for (const one of flows) await checkFlow(one);
});

const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");
const count = (all: readonly string[], line: string): number => all.filter((other) => other === line).length;

async function file(path: string): Promise<string> {
  const response = await fetch(hull.url + path);
  return response.status === 404 ? "" : response.text();
}

/** A session's events from the first on, up to the last of so many runs. */
async function eventsOf(id: string, runs: number) {
  const response = await fetch(`${hull.url}/sessions/${id}/events?after=0`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.split("event: done\n").length > runs && text.endsWith("\n\n")) break;
  }
  return readEvents(new Response(text));
}
