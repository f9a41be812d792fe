/** A server under more load than it can carry, through real HTTP. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { type HullDev, json, startHullDev } from "../support/hull-dev.ts";
import { atOnce, running, until } from "../support/runner.ts";
import { readEvents } from "../support/sse.ts";

const script = (name: string, run: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: ${run}\n${more}---\nTest.\n`,
});

const gates = await mkdtemp(join(tmpdir(), "hull-gates-"));
afterAll(() => rm(gates, { recursive: true }));
/** A command that lasts until the gate of this name is open. */
const held = (gate: string, before = ""): string =>
  `[sh, -c, '${before}until [ -e "$0" ]; do sleep 0.1; done', ${JSON.stringify(join(gates, gate))}]`;
/** The same for many processes at once: it starts no further ones. */
const heldPython = (gate: string): string => {
  const program = `import os, sys, time
while not os.path.exists(sys.argv[1]): time.sleep(0.2)
print(sys.stdin.read())`;
  return JSON.stringify(["python3", "-I", "-S", "-c", program, join(gates, gate)]);
};

const { hull: roomy } = await commonHull({
  ...script("held-stream", held("streams", "echo begun; ")),
  ...script("held-python", heldPython("python")),
});

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

describe("more callers than cores", () => {
  test("S81: eight streamed runs are under way at once: each has sent its first event before one ends", async () => {
    let begun = 0;
    const runs = Array.from({ length: 8 }, async () => {
      const events = await readEvents(await roomy.call("/skills/held-stream?stream=1", ""), ({ event }) => {
        if (event === "delta") begun += 1;
      });
      return events.at(-1);
    });
    await until(
      () => begun,
      (count) => count === 8,
    );
    await writeFile(join(gates, "streams"), "");
    for (const last of await Promise.all(runs)) {
      expect(last).toMatchObject({ event: "done", data: { ok: true } });
    }
  });

  test("S120: /healthz answers while 64 callers run Python and none of them has an answer", async () => {
    let answered = 0;
    const runs = Array.from({ length: 64 }, async () => {
      const response = await roomy.call("/skills/held-python", "x");
      answered += 1;
      return [response.status, await response.text()];
    });
    await running(join(gates, "python"), 64);
    for (let i = 0; i < 20; i++) expect((await roomy.call("/healthz")).status).toBe(200);
    expect(answered).toBe(0);
    await writeFile(join(gates, "python"), "");
    expect(await Promise.all(runs)).toEqual(Array(64).fill([200, "x\n"]));
  });
});

// Last, since the silence lasts while the other tests run.
test("a body that falls silent for 30 s is 408", async () => {
  const { text, ms } = await silent;
  expect(text).toMatch(/^HTTP\/1\.1 408 .*"timeout_ms":30000/s);
  expect(ms).toBeGreaterThan(29_000);
});
