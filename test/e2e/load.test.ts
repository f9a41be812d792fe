/** A server under more load than it can carry, through real HTTP. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { type HullDev, json, startHullDev } from "../support/hull-dev.ts";
import { atOnce, until } from "../support/runner.ts";

const script = (name: string, run: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: ${run}\n${more}---\nTest.\n`,
});

const { hull: roomy } = await commonHull({
  ...script("upper", "[sh, -c, 'exec tr a-z A-Z']"),
  ...script("python", "[python3, -I, -S, -c, 'import json, sys; print(json.dumps(sys.stdin.read()))']"),
});

let gates: string;
beforeAll(async () => {
  gates = await mkdtemp(join(tmpdir(), "hull-gates-"));
});
afterAll(() => rm(gates, { recursive: true }));
/** A command that lasts until the gate of this name is open. */
const held = (gate: string): string =>
  `[sh, -c, 'until [ -e "$0" ]; do sleep 0.1; done', ${JSON.stringify(join(gates, gate))}]`;

interface Answer {
  status: number;
  code: unknown;
  retryAfter: string | null;
  /** Since the calls began. */
  ms: number;
  /** As the server says. */
  tookMs: number;
}

/** So many calls at once; once so many of them are answered the gate opens for what is held there. */
async function flood(hull: HullDev, slug: string, gate: string, count: number, before: number) {
  const began = performance.now();
  const answers: Answer[] = [];
  const one = async (): Promise<void> => {
    const response = await hull.call(`/skills/${slug}`, "");
    const { status, headers } = response;
    const code = status === 200 ? await response.text() : (await json(response)).code;
    const tookMs = Number(headers.get("x-hull-duration-ms"));
    const ms = performance.now() - began;
    answers.push({ status, code, retryAfter: headers.get("retry-after"), ms, tookMs });
    if (answers.length === before) await writeFile(join(gates, gate), "");
  };
  await Promise.all(Array.from({ length: count }, one));
  return answers;
}

let hull: HullDev;
let silent: Promise<{ text: string; ms: number }>;
beforeAll(async () => {
  hull = await startHullDev({
    args: ["--direct"],
    project: { "hull.toml": "[runner]\nconcurrency = 2\n" },
    skills: {
      ...script("held", held("all")),
      ...script("own", held("own"), "concurrency: 1\n"),
      ...script("echo", "[cat]"),
    },
  });
  silent = halfBody(hull);
});
afterAll(() => hull?.stop());

describe("two slots", () => {
  test("S74: of 600 slow calls 2 run, 256 wait for 10 s, the others are 503 at once", async () => {
    let most = 0;
    let over = false;
    const watching = (async () => {
      while (!over) {
        most = Math.max(most, await atOnce(join(gates, "all")));
        await sleep(200);
      }
    })();
    const answers = await flood(hull, "held", "all", 600, 598);
    over = true;
    await watching;
    expect(most).toBe(2);
    const ran = answers.filter(({ status }) => status === 200);
    const waited = answers.filter(({ status, tookMs }) => status === 503 && tookMs >= 9900);
    const refused = answers.filter(({ status, tookMs }) => status === 503 && tookMs < 9900);
    expect([ran.length, waited.length + refused.length]).toEqual([2, 598]);
    // Where taking in 600 requests takes as long as the wait, places become free for the last ones, and refusals come late too.
    const last = Math.max(...answers.map(({ ms }) => ms));
    const late = Math.max(0, ...refused.map(({ ms }) => ms));
    if (last < 20_000 && late < 9900) expect(waited).toHaveLength(256);
    else expect(waited.length).toBeGreaterThanOrEqual(256);
    for (const { code, retryAfter } of [...waited, ...refused]) {
      expect(code).toBe("runner_busy");
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
      expect(Number(retryAfter)).toBeLessThanOrEqual(30);
    }
  });

  test("S74: a skill's own limit lets 16 wait and answers the rest 429", async () => {
    const answers = await flood(hull, "own", "own", 22, 5);
    const limited = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(17);
    expect(limited.map(({ code }) => code)).toEqual(Array(5).fill("concurrency_limited"));
    expect(limited.every(({ retryAfter }) => Number(retryAfter) >= 1)).toBe(true);
  });
});

/** Sends a part of a body, and waits for what is answered. */
async function halfBody(hull: HullDev): Promise<{ text: string; ms: number }> {
  const began = performance.now();
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(hull.url).port), "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.includes("request_timeout")) resolve(text);
  });
  socket.on("close", () => resolve(text));
  socket.write("POST /skills/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  await promise;
  socket.destroy();
  return { text, ms: performance.now() - began };
}

describe("as many slots as the machine has", () => {
  test("S81: events at c=8 come faster than at c=1", async () => {
    /** Streamed runs per second. */
    const rate = async (lanes: number): Promise<number> => {
      const end = performance.now() + 1000;
      let count = 0;
      const lane = async (): Promise<void> => {
        while (performance.now() < end) {
          const text = await (await roomy.call("/skills/upper?stream=1", "abc")).text();
          expect(text).toContain('event: done\ndata: {"ok":true');
          count += 1;
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      return count;
    };
    await rate(8);
    // Further blocks outweigh those in which the machine did something else.
    const rates = { one: 0, eight: 0 };
    for (let block = 0; block < 10 && rates.eight <= rates.one; block++) {
      rates.one += await rate(1);
      rates.eight += await rate(8);
    }
    expect(rates.eight).toBeGreaterThan(rates.one);
  });

  test("S120: /healthz answers while 64 callers run Python", async () => {
    const callers = `
      const lane = async () => {
        for (;;) {
          const began = performance.now();
          await (await fetch(process.argv[1], { method: "POST", body: "x" })).text();
          console.log(performance.now() - began);
        }
      };
      for (let i = 0; i < 64; i++) lane();
    `;
    const url = `${roomy.url}/skills/python`;
    const load = spawn(process.execPath, ["-e", callers, url], { stdio: ["ignore", "pipe", "inherit"] });
    const runs: number[] = [];
    createInterface(load.stdout).on("line", (line) => runs.push(Number(line)));
    /** What a few seconds took, relative to the runs at the same time: at most 0.2 and 0.3 of the peer. */
    const within = async (): Promise<boolean> => {
      const times: number[] = [];
      runs.length = 0;
      while (Math.min(times.length, runs.length) <= 100) {
        const began = performance.now();
        const response = await roomy.call("/healthz");
        await response.arrayBuffer();
        times.push(performance.now() - began);
        expect(response.status).toBe(200);
      }
      // The peer took 177 and 263 ms while its runs took 359 and 499 ms.
      const typical = at(0.5, times) / at(0.5, runs) < (0.2 * 177) / 359;
      return typical && at(0.99, times) / at(0.99, runs) < (0.3 * 263) / 499;
    };
    try {
      await until(
        async () => runs.length,
        (count) => count > 64,
      );
      // Once is enough: a machine that has other things to do may keep any answer waiting.
      await until(within, (held) => held, 120_000);
    } finally {
      load.kill("SIGKILL");
    }
  });
});

// Last, since the silence lasts while the other tests run.
test("a body that falls silent for 30 s is 408", async () => {
  const { text, ms } = await silent;
  expect(text).toMatch(/^HTTP\/1\.1 408 .*"timeout_ms":30000/s);
  expect(ms).toBeGreaterThan(29_000);
});

/** The time that this share of them does not exceed. */
function at(share: number, times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN;
}
