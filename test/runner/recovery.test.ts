/** Cut connections, dead runners, full queues, drains. */
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExecutionSpec } from "../../src/tool/protocol.ts";
import { RunnerCircuit } from "../../src/tool/runner-circuit.ts";
import { type Runner, replayExecution, runExecution } from "../../src/tool/runner-client.ts";
import {
  atOnce,
  type Bundle,
  bundle,
  collect,
  gone,
  run,
  running,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

let files: Bundle;
let dir: string;
beforeAll(async () => {
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
  dir = await mkdtemp(join(tmpdir(), "hull-recovery-"));
});
afterAll(() => rm(dir, { recursive: true }));

/** Passes answers on, but cuts the first `cuts` of them after `bytes`. */
function cutting(runner: Runner, cuts: number, bytes: number): Runner & { paths: string[] } {
  const paths: string[] = [];
  let left = cuts;
  return {
    ...runner,
    paths,
    fetch: async (path, request) => {
      paths.push(`${request.method} ${path.replace(/[^/?]{36}/, "<id>")}`);
      const response = await runner.fetch(path, request);
      if (left === 0 || !response.ok || response.body === null || path.includes("bundles")) return response;
      left -= 1;
      let room = bytes;
      const body = response.body.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            controller.enqueue(chunk.subarray(0, room));
            room -= chunk.length;
            if (room <= 0) controller.error(new TypeError("cut by the test"));
          },
        }),
      );
      return new Response(body, { status: response.status, headers: response.headers });
    },
  };
}

/** Of the tests of cut connections and of the drain that ends it. */
let drained: TestRunner;
beforeAll(async () => {
  drained = await startRunner({ flags: ["--concurrency", "8"] });
});
afterAll(() => drained.stop());

describe("a connection that is cut", () => {
  test("S84: one process runs and its output is complete, for short and long answers", async () => {
    const runner = drained;
    await run(runner, files, { argv: ["true"] });
    for (const [bytes, size] of [
      [120, 20_000],
      [900_000, 3_000_000],
    ] as const) {
      const count = join(dir, `count-${size}`);
      const script = `echo run >> ${count}; head -c ${size} /dev/zero | tr '\\0' x; sleep 0.3; printf end`;
      const value = spec({ digest: files.digest, argv: ["bash", "-c", script] });
      const cut = cutting(runner, 2, bytes);
      const { stdout, kinds } = await collect(runExecution(cut, value, {}, runOptions(files)));
      expect(stdout.length).toBe(size + 3);
      expect(stdout.subarray(-4).toString()).toBe("xend");
      expect(kinds.filter((kind) => kind === "started")).toEqual(["started"]);
      expect(await readFile(count, "utf8")).toBe("run\n");
      expect(cut.paths[0]).toBe("POST /v1/executions");
      expect(cut.paths.slice(1).every((path) => path.startsWith("GET /v1/executions/<id>?from="))).toBe(true);
      const replay = await collect(replayExecution(runner, value.id, runOptions(files)));
      expect(replay.stdout.equals(stdout)).toBe(true);
    }
  });

  test.each([
    ["took the work, which may have taken effect", "run\n", ["may or may not have taken effect"]],
    ["did not get the work, which has not begun", "", []],
  ])("before the answer of a runner that %s", async (_, ran, says) => {
    const count = join(dir, `reached-${says.length}`);
    await writeFile(count, "");
    const circuit = new RunnerCircuit("at x", () => {});
    // Each case asks once, so that it need not wait.
    circuit.open("down", Date.now());
    const away: Runner = {
      key: drained.key,
      circuit,
      fetch: async (path, request) => {
        if (ran === "") return new Response("no container", { status: 503 });
        if (request.method === "POST") {
          await (await drained.fetch(path, request)).body?.cancel();
          await until(
            () => readFile(count, "utf8"),
            (text) => text !== "",
          );
        }
        throw new TypeError("the connection broke");
      },
    };
    const failed = run(away, files, { argv: ["sh", "-c", `echo run >> ${count}`], detach: true });
    const error = await failed.catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "runner_unavailable" });
    expect([...(String(error).match(/may or may not have taken effect/) ?? [])]).toEqual(says);
    expect(await readFile(count, "utf8")).toBe(ran);
  });
});

describe("a runner that is down", () => {
  test("makes one call wait; further calls try only once, except for one every 30 s, until one gets an answer", async () => {
    const notes: string[] = [];
    const circuit = new RunnerCircuit("at x", ({ event }) => notes.push(event));
    let runner = await startRunner();
    let tries = 0;
    // However long a start takes, a waiting call has attempts left: those after the first few wait for it.
    let [early, started] = [Number.POSITIVE_INFINITY, Promise.withResolvers<void>()];
    const fetch: Runner["fetch"] = async (path, request) => {
      tries += 1;
      if (tries > early) await started.promise;
      return runner.fetch(path, request);
    };
    const holdAfter = (count: number): void => {
      [tries, early, started] = [0, count, Promise.withResolvers<void>()];
    };
    const answer = (later_ms = 0): Promise<string> => {
      const wanted = spec({ digest: files.digest, argv: ["echo", "x"], detach: true });
      const options = runOptions(files, { now: () => Date.now() + later_ms });
      const ended = collect(runExecution({ ...runner, circuit, fetch }, wanted, {}, options));
      return ended.then(({ stdout }) => stdout.toString(), String);
    };
    const call = async (): Promise<[answer: string, tries: number]> => {
      tries = 0;
      return [await answer(), tries];
    };
    const restart = async (): Promise<void> => {
      runner = await startRunner({ from: runner });
      early = Number.POSITIVE_INFINITY;
      started.resolve();
    };
    try {
      expect((await call())[0]).toBe("x\n");
      await runner.kill("SIGKILL");
      holdAfter(2);
      const waiting = answer();
      await until(
        () => tries,
        (made) => made > 1,
      );
      await restart();
      expect(await waiting).toBe("x\n");
      expect(notes).toEqual([]);

      await runner.kill("SIGKILL");
      expect(await call()).toEqual([expect.stringContaining("The runner at x, which"), 7]);
      expect(await call()).toEqual([expect.stringContaining("runner_unavailable"), 1]);
      expect(await call()).toEqual([expect.stringContaining("runner_unavailable"), 1]);
      holdAfter(3);
      const [probe, ...others] = [answer(30_000), answer(30_000), answer(30_000)];
      expect(await Promise.all(others)).toEqual(Array(2).fill(expect.stringContaining("runner_unavailable")));
      expect(notes).toEqual(["runner_down"]);
      await restart();
      expect(await probe).toBe("x\n");
      expect(await call()).toEqual(["x\n", 1]);
      expect([notes, circuit.mayWait(Date.now())]).toEqual([["runner_down", "runner_up"], true]);
    } finally {
      await runner.stop();
    }
  });
});

describe("a runner that died", () => {
  test("S85: unfinished executions are lost and not run again, finished ones are replayed, nothing is left", async () => {
    const count = join(dir, "lost");
    let runner = await startRunner();
    try {
      const done = spec({ digest: files.digest, argv: ["echo", "kept"] });
      const large = spec({ digest: files.digest, argv: ["head", "-c", "700000", "/dev/zero"] });
      await collect(runExecution(runner, done, {}, runOptions(files)));
      await collect(runExecution(runner, large, {}, runOptions(files)));
      const script = `echo run >> ${count}; setsid sleep 64.5 & sleep 64.5`;
      const value = spec({
        digest: files.digest,
        argv: ["bash", "-c", script],
        env: { TOKEN: "canary-value" },
      });
      const events = runExecution(runner, value, {}, runOptions(files));
      // The client knows that it began: without that, the end of the runner has another answer.
      await events.next();
      const broken = collect(events);
      broken.catch(() => {});
      await running("sleep 64.5", 2);
      // An end is written soon after its answer.
      await until(
        () => readFile(join(runner.stateDir, "journal", "1.log"), "latin1"),
        (text) => text.split('"event":"end"').length === 3,
      );
      await runner.kill("SIGKILL");
      await expect(broken).rejects.toMatchObject({ code: "execution_lost", status: 502 });
      // The end of a journal that was cut in mid-record is left out, not fatal.
      await appendFile(join(runner.stateDir, "journal", "1.log"), '{"event":"end","id":"x"');

      runner = await startRunner({ from: runner });
      await gone("sleep 64.5");
      const again = (of: typeof value) => collect(runExecution(runner, of, {}, runOptions(files)));
      await expect(again(value)).rejects.toMatchObject({ code: "execution_lost", status: 502 });
      expect((await again(done)).stdout.toString()).toBe("kept\n");
      expect((await again(large)).stdout.length).toBe(700_000);
      expect(await readFile(count, "utf8")).toBe("run\n");
      // The folders that are left were made in advance.
      const left = await readdir(join(runner.stateDir, "scratch"), { recursive: true });
      expect(left.filter((name) => !/^[0-9a-f]{32}(?:\/(?:in|out))?$/.test(name))).toEqual([]);
      const journal = await readFile(join(runner.stateDir, "journal", "1.log"), "utf8");
      expect(journal).not.toContain("canary");
    } finally {
      await runner.stop();
    }
  });

  test("by a fault of its own it says so, and ends its processes first", async () => {
    const fault = join(dir, "fault.cjs");
    await writeFile(fault, 'process.on("SIGUSR2", () => { throw new Error("a fault"); });');
    const runner = await startRunner({
      flags: ["--spawners", "0"],
      env: { NODE_OPTIONS: `--require=${fault}` },
    });
    try {
      const script = "trap '' TERM; setsid sleep 68.5 & sleep 68.5";
      run(runner, files, { argv: ["bash", "-c", script] }).catch(() => {});
      await running("sleep 68.5", 2);
      expect(await runner.kill("SIGUSR2")).toBe(1);
      await gone("sleep 68.5");
      expect(runner.log()).toMatch(/"crashed".*Error: a fault/);
    } finally {
      await runner.stop();
    }
  });

  test("the journal keeps its size limit, the oldest go first", async () => {
    const flags = ["--journal-bytes", "1000000"];
    let runner = await startRunner({ flags });
    try {
      const values = [1, 2, 3].map(() =>
        spec({ digest: files.digest, argv: ["head", "-c", "450000", "/dev/zero"] }),
      );
      for (const value of values) await collect(runExecution(runner, value, {}, runOptions(files)));
      const [first, , third] = values;
      const replay = (id = "") => collect(replayExecution(runner, id, runOptions(files)));
      const fault = () =>
        replay(first?.id).then(
          () => null,
          (error: unknown) => error,
        );
      // The runner makes room after an execution has ended.
      await until(fault, (error) => error !== null);
      expect(await fault()).toMatchObject({ code: "execution_lost" });
      expect((await replay(third?.id)).stdout.length).toBe(450_000);
      await runner.kill("SIGTERM");
      runner = await startRunner({ flags, from: runner });
      expect(await fault()).toMatchObject({ code: "execution_lost" });
      expect((await replay(third?.id)).stdout.length).toBe(450_000);
    } finally {
      await runner.stop();
    }
  });
});

/** Of the tests of aborted callers and of a parent that is gone, which ends it. */
let left: TestRunner;
beforeAll(async () => {
  left = await startRunner({ flags: ["--concurrency", "2"] });
});
afterAll(() => left.stop());

describe("load", () => {
  /** Resolves when no call has or awaits a slot: one that is answered may still be tidied up. */
  const idle = async (runner: TestRunner): Promise<void> => {
    await until(
      async () => (await fetch(`${runner.url}/metrics`)).text(),
      (text) => /^hull_runner_running 0$/m.test(text) && /^hull_runner_waiting 0$/m.test(text),
    );
  };
  /** How so many calls at once end, all held by a gate that opens when so many of them have ended. */
  const flood = async (
    runner: TestRunner,
    calls: number,
    before: number,
    fields: Partial<ExecutionSpec> = {},
  ) => {
    await idle(runner);
    const gate = await mkdtemp(join(dir, "gate-"));
    const argv = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done', join(gate, "open")];
    const counts: Record<string, number> = {};
    let ended = 0;
    const one = async (): Promise<void> => {
      const code = await run(runner, files, { argv, ...fields }).then(
        () => "ok",
        (error: unknown) => (error instanceof Error ? error.name : "not an error"),
      );
      counts[code] = (counts[code] ?? 0) + 1;
      if (++ended === before) await writeFile(join(gate, "open"), "");
    };
    await Promise.all(Array.from({ length: calls }, one));
    return counts;
  };

  test("S74: slots, waiting places, the rest at once; waiting ends; a skill's own limit is 429", async () => {
    for (const queueMs of ["30000", "700"]) {
      const flags = ["--concurrency", "2", "--queue", "3", "--queue-timeout-ms", queueMs];
      const runner = await startRunner({ flags });
      try {
        await run(runner, files, { argv: ["true"] });
        if (queueMs === "30000") {
          expect(await flood(runner, 8, 3)).toEqual({ ok: 5, runner_busy: 3 });
          continue;
        }
        expect(await flood(runner, 5, 3)).toEqual({ ok: 2, runner_busy: 3 });
        const one = { skill: "one", limits: { max_output_bytes: 1000, concurrency: 1 } };
        expect(await flood(runner, 19, 18, one)).toEqual({ ok: 1, concurrency_limited: 18 });
        // What has the skill's name, but no limit, does not count for it.
        const gate = join(await mkdtemp(join(dir, "gate-")), "open");
        const argv = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done', gate];
        const other = run(runner, files, { argv, skill: one.skill });
        const asked = await run(runner, files, { ...one, argv: ["echo", "x"] }).finally(() =>
          writeFile(gate, ""),
        );
        expect(asked.stdout.toString()).toBe("x\n");
        await other;
        const metrics = await (await fetch(`${runner.url}/metrics`)).text();
        expect(metrics).toMatch(/^hull_runner_refusals_total\{code="runner_busy"\} 3$/m);
        expect(metrics).toMatch(/^hull_runner_refusals_total\{code="concurrency_limited"\} 18$/m);
        const refused = /"execution_refused".*"concurrency_limited"/g;
        await expect.poll(() => runner.log().match(refused)).toHaveLength(18);
      } finally {
        await runner.stop();
      }
    }
  });

  test("a call that comes back before the queue has lost its first connection runs all the same", async () => {
    const runner = await startRunner({ flags: ["--concurrency", "1"] });
    const metrics = async () => (await fetch(`${runner.url}/metrics`)).text();
    const gate = join(await mkdtemp(join(dir, "gate-")), "open");
    const busy = run(runner, files, { argv: ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done', gate] });
    await until(metrics, (text) => text.includes("hull_runner_running 1"));
    const value = spec({ digest: files.digest, argv: ["cat"], input: { mode: "stdin" } });
    const stdin = Buffer.from("once");
    const cut = new AbortController();
    const first: Runner = {
      ...runner,
      fetch: (path, request) => fetch(runner.url + path, { ...request, duplex: "half", signal: cut.signal }),
    };
    const lost = collect(runExecution(first, value, { stdin }, runOptions(files)));
    lost.catch(() => {});
    await until(metrics, (text) => text.includes("hull_runner_waiting 1"));
    const again = collect(runExecution(runner, value, { stdin }, runOptions(files)));
    again.catch(() => {});
    // Meanwhile the second one arrives.
    for (let n = 0; n < 10; n += 1) await metrics();
    cut.abort();
    await expect(lost).rejects.toMatchObject({ code: "runner_unavailable" });
    await writeFile(gate, "");
    expect((await again).stdout.toString()).toBe("once");
    await busy;
    await runner.stop();
  });

  test("a tenant's executions count for it", async () => {
    const runner = await startRunner({ flags: ["--concurrency", "1", "--queue", "2"] });
    const gate = join(await mkdtemp(join(dir, "gate-")), "open");
    const ended: string[] = [];
    const held = ["sh", "-c", 'until [ -e "$0" ]; do sleep 0.1; done', gate];
    const one = (tenant: string, argv: string[]) =>
      collect(
        runExecution(runner, spec({ digest: files.digest, argv }), {}, runOptions(files, { tenant })),
      ).then(
        () => ended.push(tenant),
        () => ended.push(`${tenant} refused`),
      );
    try {
      await run(runner, files, { argv: ["true"] });
      const noisy = [one("noisy", held)];
      await running(gate);
      noisy.push(one("noisy", held), one("noisy", held));
      await until(
        async () => (await fetch(`${runner.url}/metrics`)).text(),
        (text) => /^hull_runner_waiting 2$/m.test(text),
      );
      const small = one("small", ["true"]);
      await until(
        () => ended,
        ({ length }) => length === 1,
      );
      await writeFile(gate, "");
      await Promise.all([...noisy, small]);
      expect(ended).toEqual(["noisy refused", "noisy", "small", "noisy"]);
    } finally {
      await runner.stop();
    }
  });

  test("S32: aborted callers never make more than the allowed groups, and none stays", async () => {
    const runner = left;
    await run(runner, files, { argv: ["true"] });
    const controllers = Array.from({ length: 10 }, () => new AbortController());
    const calls = controllers.map(({ signal }) =>
      collect(
        runExecution(
          runner,
          spec({ digest: files.digest, argv: ["sleep", "65.5"] }),
          {},
          runOptions(files, { signal }),
        ),
      ),
    );
    const ended = Promise.allSettled(calls);
    await running("sleep 65.5", 2);
    for (const controller of controllers) {
      controller.abort();
      expect(await atOnce("sleep 65.5")).toBeLessThanOrEqual(2);
    }
    await ended;
    await gone("sleep 65.5");
    await idle(runner);
  });
});

describe("drain", () => {
  const draining = (runner: TestRunner): Promise<number> =>
    until(
      async () => (await fetch(`${runner.url}/readyz`)).status,
      (status) => status === 503,
    );

  test("S116: what runs is answered, new work is refused, the exit code is 0, nothing is left", async () => {
    const runner = drained;
    await run(runner, files, { argv: ["true"] });
    const gate = join(dir, "drain");
    const script = 'until [ -e "$0" ]; do sleep 0.1; done; echo ok';
    const begun = Array.from({ length: 5 }, () => run(runner, files, { argv: ["sh", "-c", script, gate] }));
    await until(
      async () => (await fetch(`${runner.url}/metrics`)).text(),
      (text) => text.includes("hull_runner_running 5"),
    );
    const exit = runner.kill("SIGTERM");
    await draining(runner);
    await expect(run(runner, files, { argv: ["true"] })).rejects.toMatchObject({ code: "runner_draining" });
    await writeFile(gate, "");
    expect((await Promise.all(begun)).map(({ stdout }) => stdout.toString())).toEqual(Array(5).fill("ok\n"));
    expect(await exit).toBe(0);
    expect((await readdir(runner.stateDir)).sort()).toEqual(["bundles", "journal", "secret"]);
  });

  test("a runner out of reach is unavailable", async () => {
    await drained.stop();
    await expect(run(drained, files, { argv: ["true"] })).rejects.toMatchObject({
      code: "runner_unavailable",
    });
  });

  test.each([
    ["after its time", ["--drain-ms", "300", "--grace-ms", "200"], 1],
    ["at a second SIGTERM", ["--grace-ms", "200"], 2],
  ])("%s the drain ends what still runs", async (_, flags, signals) => {
    const runner = await startRunner({ flags });
    const stuck = run(runner, files, { argv: ["sh", "-c", "trap '' TERM; sleep 66.5; sleep 66.5"] });
    stuck.catch(() => {});
    await running("sleep 66.5");
    const exit = runner.kill("SIGTERM");
    if (signals === 2) {
      // Of two signals of a kind that wait for a process it gets one.
      await draining(runner);
      runner.process.kill("SIGTERM");
    }
    expect((await stuck).status.cause).toBe("cancelled");
    expect(await exit).toBe(0);
    await gone("sleep 66.5");
    await runner.stop();
  });

  test("a runner without its parent ends its processes and itself", async () => {
    const runner = left;
    const orphan = run(runner, files, { argv: ["sleep", "67.5"] });
    orphan.catch(() => {});
    await running("sleep 67.5");
    const exited = new Promise((resolve) => runner.process.once("exit", resolve));
    runner.process.stdin?.end();
    expect(await exited).toBe(0);
    await gone("sleep 67.5");
  });
});
