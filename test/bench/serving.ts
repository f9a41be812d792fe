/** What serving costs: each mode at one call at a time and at eight, next to its floor and to HUSK. */
import { join } from "node:path";
import { type Ask, ask, inTurns, load, median, type Sample } from "./load.ts";
import { gateRow, ms, peerRow, perSecond, type Row, row, times } from "./row.ts";
import { spawnAndWait } from "./script.ts";
import { type ServingSubjects, startServing } from "./serving-subjects.ts";

interface Case {
  what: string;
  ours: () => Promise<unknown>;
  /** The same work without Hull. */
  floor: () => Promise<unknown>;
  /** Calls of a block for each of the given rounds. */
  share: number;
}

/** A skill that HUSK serves too. */
interface SharedCase extends Case {
  /** HUSK's; `null`: it is not here. */
  husk: (() => Promise<unknown>) | null;
  /** p50 at most, calls per second at least so many times HUSK's; `null`: shown without a verdict. */
  gate: { p50: number; rps: number } | null;
}

/** A skill that calls a model, which HUSK cannot do here: it asks the providers themselves. */
interface PublishedCase extends Case {
  /** HUSK 0.2.1 on another machine: p50 in ms at c=1, calls per second at c=8. Shown without a verdict. */
  published: { p50: number; rps: number };
  /** Events at c=8 come faster than at c=1: HUSK's come more slowly. */
  streamed?: true;
}

/** A script at most this much slower than HUSK's, and at least this share of its calls per second. */
const SCRIPT = { p50: 1.3, rps: 0.8 };
/** Share of a bare Worker's calls per second that return the same bytes. */
const STATIC_SHARE = 0.8;
/** No verdict. */
const ANY = { at_most: Number.POSITIVE_INFINITY };
/** The fake provider directly, in HUSK's published table: what its machine was. */
const PUBLISHED_MACHINE = { p50: 0.18, rps: 10_065 };

/** @param command starts HUSK; `null`: it is not on this machine */
export async function servingRows(rounds: number, command: string | null): Promise<Row[]> {
  const subjects = await startServing(command);
  try {
    const rows = [];
    for (const item of sharedCases(subjects)) rows.push(...(await sharedRows(item, rounds)));
    rows.push(...(await machineRows(subjects, rounds)));
    for (const item of modelCases(subjects)) rows.push(...(await publishedRows(item, rounds)));
    return rows;
  } finally {
    await subjects.stop();
  }
}

const BODY: Ask = { method: "POST", body: "world\n", headers: { "content-type": "text/plain" } };
const GET: Ask = { method: "GET", body: "" };

function sharedCases({ hull, husk, bare, dir }: ServingSubjects): SharedCase[] {
  const both = (path: string, options: Ask = BODY) => ({
    ours: () => ask(`${hull.url}${path}`, options),
    husk: husk === null ? null : () => ask(`${husk.url}${path}`, options),
  });
  const spawned = (skill: string, ...argv: string[]) => {
    return () => spawnAndWait(argv, join(dir, "skills", skill));
  };
  const on = (path: string) => () => ask(`${bare.url}/${path}`);
  const script = { gate: SCRIPT, share: 1 };
  const python = { gate: SCRIPT, share: 0.3 };
  const dash = spawned("upper", "dash", "upper.sh");
  return [
    { what: "GET /healthz", ...both("/healthz", GET), floor: on("health"), gate: null, share: 8 },
    {
      what: "static-file",
      ...both("/skills/page"),
      // HUSK answers a GET with the skill's card.
      ours: () => ask(`${hull.url}/skills/page`, GET),
      floor: on("file"),
      gate: null,
      share: 8,
    },
    { what: "/bin/true", ...both("/skills/true"), floor: spawned("true", "/bin/true"), ...script },
    { what: "dash, exec tr", ...both("/skills/upper"), floor: dash, ...script },
    {
      what: "bash starter",
      ...both("/skills/bash-starter"),
      floor: spawned("bash-starter", "./main.sh"),
      ...script,
    },
    {
      what: "python3 -S one-liner",
      ...both("/skills/one-liner"),
      floor: spawned("one-liner", "python3", "-S", "-c", "print(input())"),
      ...python,
    },
    {
      what: "python3 starter",
      ...both("/skills/python-starter"),
      floor: spawned("python-starter", "python3", "main.py"),
      ...python,
    },
    {
      what: "proxy to loopback",
      ...both("/skills/forward", GET),
      floor: on("proxy"),
      gate: null,
      share: 4,
    },
  ];
}

function modelCases({ hull, bare, dir }: ServingSubjects): PublishedCase[] {
  const run = (slug: string) => () => ask(`${hull.url}/skills/${slug}`, BODY);
  const model = () => ask(`${bare.url}/model`, { method: "POST", body: "hi" });
  return [
    {
      what: "llm, no tools",
      ours: run("plain"),
      floor: model,
      published: { p50: 0.65, rps: 1341 },
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
      published: { p50: 2.57, rps: 672 },
      share: 1,
    },
    {
      what: "dash via SSE",
      ours: run("upper?stream=1"),
      floor: () => spawnAndWait(["dash", "upper.sh"], join(dir, "skills", "upper")),
      published: { p50: 3.28, rps: 203 },
      streamed: true,
      share: 1,
    },
  ];
}

async function sharedRows(item: SharedCase, rounds: number): Promise<Row[]> {
  const { what, gate } = item;
  const one = await measured(item, 1, rounds);
  const eight = await measured(item, 8, rounds);
  const isStatic = what === "static-file";
  return [
    peerRow(
      `${what}, c=1: p50`,
      {
        hull: one.ours.p50,
        floor: one.floor.p50,
        husk: one.husk?.p50 ?? null,
        ratio: gate && { at_most: gate.p50 },
      },
      ms,
    ),
    peerRow(
      `${what}, c=8: calls per second`,
      {
        hull: eight.ours.per_second,
        floor: eight.floor.per_second,
        husk: eight.husk?.per_second ?? null,
        ratio: gate && { at_least: gate.rps },
      },
      perSecond,
    ),
    ...(isStatic ? [staticRow(eight.floor.per_second, eight.ours.per_second)] : []),
  ];
}

const staticRow = (floor: number, ours: number): Row =>
  row(
    "static-file, c=8: a bare Worker's calls per second over Hull's",
    perSecond(floor),
    perSecond(ours),
    floor / ours,
    1 / STATIC_SHARE,
    times,
  );

const scalingRow = (what: string, one: number, eight: number): Row =>
  row(`${what}: calls per second at c=1 over c=8`, perSecond(one), perSecond(eight), one / eight, 1, times);

async function publishedRows(item: PublishedCase, rounds: number): Promise<Row[]> {
  const { what, published, streamed = false } = item;
  const one = await measured({ ...item, husk: null }, 1, rounds);
  const eight = await measured({ ...item, husk: null }, 8, rounds);
  const rowOf = (name: string, figure: keyof typeof published): Row => {
    const sample = figure === "p50" ? one : eight;
    const of = ({ p50, per_second }: Sample): number => (figure === "p50" ? p50 : per_second);
    const gated = gateRow(
      `${what}, ${name}`,
      { hull: of(sample.ours), floor: of(sample.floor), peer: published[figure], ratio: ANY },
      figure === "p50" ? ms : perSecond,
    );
    return { ...gated, peer: `${gated.peer} (published)` };
  };
  return [
    rowOf("c=1: p50", "p50"),
    rowOf("c=8: calls per second", "rps"),
    ...(streamed ? [scalingRow(what, one.ours.per_second, eight.ours.per_second)] : []),
  ];
}

async function measured(
  { ours, floor, husk, share }: Case & Pick<SharedCase, "husk">,
  concurrency: number,
  rounds: number,
): Promise<{ ours: Sample; floor: Sample; husk: Sample | null }> {
  const all = [floor, ours, ...(husk === null ? [] : [husk])];
  const [floors, mine, peers = null] = await inTurns(all, concurrency, Math.ceil(rounds * share));
  if (floors === undefined || mine === undefined) throw new RangeError("no samples");
  return { floor: floors, ours: mine, husk: peers };
}

/** The same provider without Hull: how this machine compares with the one of the published figures. No verdict. */
async function machineRows({ provider }: ServingSubjects, rounds: number): Promise<Row[]> {
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "hi" }] });
  const once = () => ask(`${provider.provider}/v1/messages`, { method: "POST", body });
  const blocks = async (concurrency: number): Promise<Sample> => {
    const samples = [];
    for (let block = 0; block < 5; block++) samples.push(await load(once, concurrency, rounds * 4));
    return median(samples);
  };
  const one = { hull: (await blocks(1)).p50, floor: null, peer: PUBLISHED_MACHINE.p50, ratio: ANY };
  const eight = { hull: (await blocks(8)).per_second, floor: null, peer: PUBLISHED_MACHINE.rps, ratio: ANY };
  return [
    gateRow("(fake provider directly, c=1: p50)", one, ms),
    gateRow("(fake provider directly, c=8: calls per second)", eight, perSecond),
  ];
}
