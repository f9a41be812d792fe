/** What limits cost: limits in time, many skills, memory, starts. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import hullPackage from "../../package.json" with { type: "json" };
import { nodeHash } from "../../scripts/build/skill.ts";
import { REPO_DIR } from "../../scripts/dev/paths.ts";
import { bundleRunner } from "../../scripts/dev/runner.ts";
import { RegistryClient } from "../../scripts/publish/registry-client.ts";
import { card, makeCatalog } from "../../src/skill/bundle.ts";
import type { Manifest } from "../../src/skill/manifest.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { documentWith } from "../support/openapi.ts";
import { type Ask, ask, latenciesOf, load } from "./load.ts";
import { residentOf, workerds } from "./processes.ts";
import { gateRow, megabytes, ms, perSecond, type Row, row, times } from "./row.ts";
import { type ServingSubjects, startServing } from "./serving-subjects.ts";

const POST = { method: "POST", body: "world\n", headers: { "content-type": "text/plain" } } as const;

export async function limitRows(rounds: number): Promise<Row[]> {
  const subjects = await startServing(null);
  try {
    // Hull's is started first.
    const workerd = Math.min(...workerds());
    return [
      ...(await memoryRows(subjects, workerd, rounds)),
      ...(await timeRows(subjects)),
      ...(await catalogRows(subjects, rounds)),
      ...(await startRows(subjects)),
    ];
  } finally {
    await subjects.stop();
  }
}

const shown = (what: string, value: number, unit: (value: number) => string): Row =>
  row(what, "", unit(value), value, Number.POSITIVE_INFINITY, unit);

/** Memory before and after the rows of many callers, and these. */
async function memoryRows({ hull }: ServingSubjects, workerd: number, rounds: number): Promise<Row[]> {
  const runner = hull.runnerPid() ?? 0;
  const fresh = residentOf(runner);
  const rows = await manyCallers(hull.url, rounds);
  const loaded = residentOf(runner);
  const most = (at_most: number) => ({ at_most });
  return [
    ...rows,
    gateRow("runner, fresh: RSS", { hull: fresh, floor: null, peer: 55.6, ratio: most(1.3) }, megabytes),
    gateRow("runner, after load: RSS", { hull: loaded, floor: null, peer: 94, ratio: most(1) }, megabytes),
    shown("workerd, after load: RSS", residentOf(workerd), megabytes),
  ];
}

async function manyCallers(url: string, rounds: number): Promise<Row[]> {
  const run = (slug: string) => () => ask(`${url}/skills/${slug}`, POST);
  const dash = await load(run("upper"), 64, rounds * 2);
  const python = await load(run("one-liner"), 64, Math.max(128, rounds));
  let over = false;
  const runs: number[] = [];
  const lane = async (): Promise<void> => {
    while (!over) {
      const begun = performance.now();
      await run("one-liner")();
      runs.push(performance.now() - begun);
    }
  };
  const busy = Promise.all(Array.from({ length: 64 }, lane));
  const health = await load(() => ask(`${url}/healthz`), 1, rounds * 2);
  over = true;
  await busy;
  const meanwhile = latenciesOf(runs);
  /** Relative to the runs at the same time, HUSK's as published. */
  const healthRow = (figure: "p50" | "p99", peer: number, at_most: number): Row => {
    const value = health[figure] / meanwhile[figure];
    const what = `/healthz while 64 callers run python3 -S: its ${figure} over theirs`;
    return gateRow(what, { hull: value, floor: null, peer, ratio: { at_most } }, times);
  };
  const least = (at_least: number) => ({ at_least });
  return [
    gateRow(
      "dash, c=64: rps",
      { hull: dash.per_second, floor: null, peer: 604, ratio: least(0.4) },
      perSecond,
    ),
    gateRow(
      "python3 -S, c=64: rps",
      { hull: python.per_second, floor: null, peer: 177, ratio: least(0.75) },
      perSecond,
    ),
    healthRow("p50", 177 / 359, 0.2),
    healthRow("p99", 263 / 499, 0.3),
    shown("/healthz while 64 callers run python3 -S: p99", health.p99, ms),
  ];
}

async function timeRows({ hull, provider }: ServingSubjects): Promise<Row[]> {
  const url = (slug: string): string => `${hull.url}/skills/${slug}`;
  const took = async (slug: string, more: Ask = {}): Promise<number> => {
    const begun = performance.now();
    await ask(url(slug), { ...POST, ...more });
    return performance.now() - begun;
  };
  const gate = (what: string, value: number, floor: number | null, peer: number, at_most: number): Row =>
    gateRow(what, { hull: value, floor, peer, ratio: { at_most } }, ms);
  const fifty = await load(() => ask(url("fifty"), POST), 1, 20);
  const fiftyEcho = await load(() => ask(url("fifty-echo"), POST), 1, 20);
  const direct = JSON.stringify({ model: "bench-50", messages: [{ role: "user", content: "hi" }] });
  const floor = await load(
    () => ask(`${provider.provider}/v1/messages`, { method: "POST", body: direct }),
    1,
    20,
  );
  const stream = JSON.stringify({ ...JSON.parse(direct), model: "bench-tokens", stream: true });
  const first = await firstToken(`${provider.provider}/v1/messages`, stream, "content_block_delta");
  const ours = await firstToken(`${url("tokens")}?stream=1`, "hi", "event: delta");
  return [
    gate("llm, provider takes 50 ms: p50", fifty.p50, floor.p50, 52.5, 1.08),
    gate("llm + 1 tool, provider takes 2 × 50 ms: p50", fiftyEcho.p50, 2 * floor.p50, 106.2, 1.08),
    gate("2 tools of 2 s in one turn", await took("two"), 2000, 4000, 0.6),
    gate("timeout_ms 500, grandchild sleeps 8 s", await took("stubborn", { status: 504 }), 500, 8005, 0.13),
    gate("provider silent, timeout_ms 3000", await took("silent", { status: 504 }), 3000, 3757, 0.87),
    row("llm stream: first token after the provider's", ms(first), ms(ours), ours - first, 15, ms),
  ];
}

/** ms from the call to the first event of this name, in the middle of five calls. */
async function firstToken(url: string, body: string, event: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const begun = performance.now();
    let seen = "";
    const sent = request(url, { method: "POST", headers: { "content-type": "text/plain" } }, (answer) => {
      answer.on("data", (chunk: Buffer) => {
        if (seen.includes(event)) return;
        seen += chunk.toString();
        if (seen.includes(event)) times.push(performance.now() - begun);
      });
      answer.on("end", resolve).on("error", reject);
    });
    sent.on("error", reject).end(body);
    await promise;
  }
  return times.toSorted((a, b) => a - b)[2] ?? Number.NaN;
}

/** Many skills: published without what runs them, since only their cards are asked for. */
async function catalogRows({ hull }: ServingSubjects, rounds: number): Promise<Row[]> {
  const registry = new RegistryClient(hull.url, undefined);
  const publish = async (count: number): Promise<void> => {
    const manifests = Array.from({ length: count }, (_, i) => manifestOf(i));
    const catalog = await makeCatalog(
      manifests.map((manifest) => card({ manifest }, nodeDigest(manifest.slug))),
      JSON.stringify(documentWith(manifests, hullPackage.version)),
      manifests,
      nodeHash,
    );
    await registry.publish({ skills: [], catalog, diagnostics: [], packages: [], imported: [] });
  };
  const get =
    (path: string, more: Ask = {}) =>
    () =>
      ask(`${hull.url}${path}`, more);
  await publish(500);
  const list = await load(get("/skills"), 1, rounds);
  const document = await load(get("/openapi.json"), 1, rounds);
  const etag = (await fetch(`${hull.url}/openapi.json`)).headers.get("etag") ?? "";
  const unchanged = await load(
    get("/openapi.json", { headers: { "if-none-match": etag }, status: 304 }),
    1,
    rounds,
  );
  const page = (await ask(`${hull.url}/`, { headers: { accept: "text/html" } })).length / 1024;
  await publish(5000);
  const begun = performance.now();
  await ask(`${hull.url}/skills`);
  const loaded = performance.now() - begun;
  const gate = (what: string, value: number, peer: number, at_most: number): Row =>
    gateRow(what, { hull: value, floor: null, peer, ratio: { at_most } }, ms);
  return [
    gate("500 skills: GET /skills, p50", list.p50, 1.57, 1),
    gate("500 skills: GET /openapi.json, p50", document.p50, 8.3, 0.6),
    gate("500 skills: GET /openapi.json, 304, p50", unchanged.p50, 8.3, 0.2),
    row("500 skills: size of /", "", `${page.toFixed(0)} KB`, page, 100, (value) => `${value.toFixed(0)} KB`),
    gate("5000 skills: first GET /skills after a publish", loaded, 1446, 0.3),
  ];
}

function manifestOf(i: number): Manifest {
  const text = `---\nname: Skill ${i}\ndescription: What skill ${i} does, in a sentence of the usual length.\nrun: [cat]\n---\nText.\n`;
  const { manifest } = parseManifest(text, { folder: `skill-${i}`, file: "SKILL.md", files: new Map() });
  if (manifest === null) throw new TypeError("the manifest of the bench is broken");
  return manifest;
}

const nodeDigest = (text: string): string => String(nodeHash(new Uint8Array(new TextEncoder().encode(text))));

async function startRows({ dir, startMs }: ServingSubjects): Promise<Row[]> {
  const program = join(dir, "runner.cjs");
  await bundleRunner(REPO_DIR, program);
  const runner = await middle(() => startRunner(program));
  const call = await middle(() => ended(["call", "upper", "-d", dir, "-i", "x"]));
  return [
    gateRow("runner: start to listening", { hull: runner, floor: null, peer: 86, ratio: { at_most: 3 } }, ms),
    shown("hull dev --direct: start to first answer", startMs, ms),
    gateRow("hull call, cold", { hull: call, floor: null, peer: 190, ratio: { at_most: 2 } }, ms),
  ];
}

async function middle(once: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const begun = performance.now();
    await once();
    times.push(performance.now() - begun);
  }
  return times.toSorted((a, b) => a - b)[1] ?? Number.NaN;
}

/** Starts the runner, until it listens. */
async function startRunner(program: string): Promise<void> {
  const state = await mkdtemp(join(tmpdir(), "hull-bench-runner-"));
  const flags = ["--port", "0", "--state", state, "--exit-with-parent"];
  const child = spawn(process.execPath, ["--max-semi-space-size=4", program, ...flags], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("error", reject);
    child.once("exit", (code) => reject(new RangeError(`the runner ended with ${code}`)));
  });
  child.stdin.end();
  void exited.then(() => rm(state, { recursive: true, force: true }));
}

function ended(args: string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(process.execPath, [join(REPO_DIR, "bin", "hull.mjs"), ...args], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  child.once("error", reject);
  child.once("close", (code) => (code === 0 ? resolve() : reject(new RangeError(`ended with ${code}`))));
  return promise;
}
