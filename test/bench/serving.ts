/** What serving costs: each mode at one call at a time and at eight. */
import { join } from "node:path";
import { type Ask, ask, compare, load, median } from "./load.ts";
import { gateRow, ms, perSecond, type Row } from "./row.ts";
import { spawnAndWait } from "./script.ts";
import { type ServingSubjects, startServing } from "./serving-subjects.ts";

/** The fake provider directly, in the peer's table: what its machine was. */
const PEER_MACHINE = { p50: 0.18, rps: 10_065 };

interface Case {
  what: string;
  ours: () => Promise<unknown>;
  /** The same work without Hull. */
  floor: (() => Promise<unknown>) | null;
  /** Of the peer: p50 in ms at c=1, calls per second at c=8. */
  peer: { p50: number; rps: number };
  /** p50 at most, rps at least so many times the peer's. */
  gate: { p50: number; rps: number };
  /** Calls of a block for each of the given rounds. */
  share: number;
}

export async function servingRows(rounds: number): Promise<Row[]> {
  const subjects = await startServing();
  try {
    const rows = await machineRows(subjects, rounds);
    for (const item of cases(subjects)) rows.push(...(await rowsOf(item, Math.ceil(rounds * item.share))));
    return rows;
  } finally {
    await subjects.stop();
  }
}

function cases({ hull, bare, dir }: ServingSubjects): Case[] {
  const run = (slug: string, more: Ask = {}) => {
    const { url } = hull;
    const body = { method: "POST", body: "world\n", headers: { "content-type": "text/plain" } } as const;
    return () => ask(`${url}/skills/${slug}`, { ...body, ...more });
  };
  const spawned = (skill: string, ...argv: string[]) => {
    return () => spawnAndWait(argv, join(dir, "skills", skill));
  };
  const on =
    (path: string, options: Ask = {}) =>
    () =>
      ask(`${bare.url}/${path}`, options);
  const model = on("model", { method: "POST", body: "hi" });
  const get: Ask = { method: "GET", body: "" };
  const dash = ["dash", "upper.sh"];
  const python = ["python3", "-S", "-c", "print(input())"];
  return [
    {
      what: "GET /healthz",
      ours: () => ask(`${hull.url}/healthz`),
      floor: on("health"),
      peer: { p50: 0.2, rps: 10_443 },
      gate: { p50: 2, rps: 0.5 },
      share: 8,
    },
    {
      what: "static-file",
      ours: run("page", get),
      floor: on("file"),
      peer: { p50: 0.34, rps: 7476 },
      gate: { p50: 1.5, rps: 0.7 },
      share: 8,
    },
    {
      what: "/bin/true",
      ours: run("true"),
      floor: spawned("true", "/bin/true"),
      peer: { p50: 1.65, rps: 971 },
      gate: { p50: 2.6, rps: 0.4 },
      share: 1,
    },
    {
      what: "dash, exec tr",
      ours: run("upper"),
      floor: spawned("upper", ...dash),
      peer: { p50: 3.21, rps: 623 },
      gate: { p50: 2.1, rps: 0.35 },
      share: 1,
    },
    {
      what: "bash starter",
      ours: run("bash-starter"),
      floor: spawned("bash-starter", "./main.sh"),
      peer: { p50: 5.58, rps: 314 },
      gate: { p50: 1.6, rps: 0.6 },
      share: 1,
    },
    {
      what: "python3 -S one-liner",
      ours: run("one-liner"),
      floor: spawned("one-liner", ...python),
      peer: { p50: 12.1, rps: 159 },
      gate: { p50: 1.35, rps: 0.75 },
      share: 0.3,
    },
    {
      what: "python3 starter",
      ours: run("python-starter"),
      floor: spawned("python-starter", "python3", "main.py"),
      peer: { p50: 15.9, rps: 128 },
      gate: { p50: 1.25, rps: 0.8 },
      share: 0.3,
    },
    {
      what: "proxy to loopback",
      ours: run("forward", get),
      floor: on("proxy"),
      peer: { p50: 0.77, rps: 2724 },
      gate: { p50: 1.3, rps: 0.7 },
      share: 4,
    },
    {
      what: "llm, no tools",
      ours: run("plain"),
      floor: model,
      peer: { p50: 0.65, rps: 1341 },
      gate: { p50: 1.6, rps: 1 },
      share: 2,
    },
    {
      what: "llm + 1 /bin/echo tool",
      ours: run("echo"),
      floor: async () => {
        await model();
        await spawnAndWait(["/bin/echo", "world"], dir);
        await model();
      },
      peer: { p50: 2.57, rps: 672 },
      gate: { p50: 2.1, rps: 0.5 },
      share: 1,
    },
    {
      what: "dash via SSE",
      ours: run("upper?stream=1"),
      floor: spawned("upper", ...dash),
      peer: { p50: 3.28, rps: 203 },
      gate: { p50: 2.1, rps: 1 },
      share: 1,
    },
  ];
}

async function rowsOf({ what, ours, floor, peer, gate }: Case, rounds: number): Promise<Row[]> {
  const one = await measured(ours, floor, 1, rounds);
  const eight = await measured(ours, floor, 8, rounds);
  return [
    gateRow(
      `${what}, c=1: p50`,
      { hull: one.hull.p50, floor: one.floor?.p50 ?? null, peer: peer.p50, ratio: { at_most: gate.p50 } },
      ms,
    ),
    gateRow(
      `${what}, c=8: rps`,
      {
        hull: eight.hull.per_second,
        floor: eight.floor?.per_second ?? null,
        peer: peer.rps,
        ratio: { at_least: gate.rps },
      },
      perSecond,
    ),
  ];
}

async function measured(ours: Case["ours"], floor: Case["floor"], concurrency: number, rounds: number) {
  if (floor !== null) {
    const both = await compare(floor, ours, concurrency, rounds);
    return { hull: both.ours, floor: both.floor };
  }
  const blocks = [];
  for (let block = 0; block < 5; block++) blocks.push(await load(ours, concurrency, rounds));
  return { hull: median(blocks), floor: null };
}

/** The same provider without Hull: how this machine compares with the peer's. No verdict. */
async function machineRows({ provider }: ServingSubjects, rounds: number): Promise<Row[]> {
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "hi" }] });
  const once = () => ask(`${provider.provider}/v1/messages`, { method: "POST", body });
  const { hull: one } = await measured(once, null, 1, rounds * 4);
  const { hull: eight } = await measured(once, null, 8, rounds * 4);
  const any = { at_most: Number.POSITIVE_INFINITY };
  return [
    gateRow(
      "(fake provider directly, c=1: p50)",
      { hull: one.p50, floor: null, peer: PEER_MACHINE.p50, ratio: any },
      ms,
    ),
    gateRow(
      "(fake provider directly, c=8: rps)",
      { hull: eight.per_second, floor: null, peer: PEER_MACHINE.rps, ratio: any },
      perSecond,
    ),
  ];
}
