/** Cut connections, dead runners, full queues, drains (serving.md §6.2, §6.3). */
import { appendFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Runner, replayExecution, runExecution } from "../../src/tool/runner-client.ts";
import {
  type Bundle,
  bundle,
  collect,
  processesWith,
  run,
  runOptions,
  spec,
  startRunner,
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
    key: runner.key,
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

describe("a connection that is cut", () => {
  test("S84: one process, complete output, for short and long answers", async () => {
    const runner = await startRunner();
    try {
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
        expect(cut.paths.slice(1).every((path) => path.startsWith("GET /v1/executions/<id>?from="))).toBe(
          true,
        );
        const replay = await collect(replayExecution(runner, value.id, runOptions(files)));
        expect(replay.stdout).toEqual(stdout);
      }
    } finally {
      await runner.stop();
    }
  });

  test("a runner that nobody reaches is unavailable", async () => {
    const runner = await startRunner();
    await runner.stop();
    await expect(run(runner, files, { argv: ["true"] })).rejects.toMatchObject({
      code: "runner_unavailable",
    });
  });
});

describe("a runner that died", () => {
  test("S85: the unfinished is lost and not run again, the finished is replayed, nothing stays", async () => {
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
      const broken = collect(runExecution(runner, value, {}, runOptions(files)));
      broken.catch(() => {});
      await until(
        () => processesWith("sleep 64.5"),
        (left) => left.length >= 2,
      );
      await runner.kill("SIGKILL");
      await expect(broken).rejects.toMatchObject({ code: "execution_lost", status: 502 });
      // The end of a journal that was cut in mid-record is left out, not fatal.
      await appendFile(join(runner.stateDir, "journal", "1.log"), '{"event":"end","id":"x"');

      runner = await startRunner({ from: runner });
      expect(await processesWith("sleep 64.5")).toEqual([]);
      const again = (of: typeof value) => collect(runExecution(runner, of, {}, runOptions(files)));
      await expect(again(value)).rejects.toMatchObject({ code: "execution_lost", status: 502 });
      expect((await again(done)).stdout.toString()).toBe("kept\n");
      expect((await again(large)).stdout.length).toBe(700_000);
      expect(await readFile(count, "utf8")).toBe("run\n");
      expect(await readdir(join(runner.stateDir, "scratch"))).toEqual([]);
      const journal = await readFile(join(runner.stateDir, "journal", "1.log"), "utf8");
      expect(journal).not.toContain("canary");
    } finally {
      await runner.stop();
    }
  });

  test("the journal keeps to its size, oldest first", async () => {
    const runner = await startRunner({ flags: ["--journal-bytes", "1000000"] });
    try {
      const values = [1, 2, 3].map(() =>
        spec({ digest: files.digest, argv: ["head", "-c", "450000", "/dev/zero"] }),
      );
      for (const value of values) await collect(runExecution(runner, value, {}, runOptions(files)));
      const [first, , third] = values;
      const replay = (id = "") => collect(replayExecution(runner, id, runOptions(files)));
      await expect(replay(first?.id)).rejects.toMatchObject({ code: "execution_lost" });
      expect((await replay(third?.id)).stdout.length).toBe(450_000);
      await until(
        () => readdir(join(runner.stateDir, "journal", "frames")),
        (left) => left.length === 2,
      );
    } finally {
      await runner.stop();
    }
  });
});

describe("load", () => {
  const hold = (seconds: number) => ({ argv: ["sleep", String(seconds)] });
  const codes = async (calls: Promise<unknown>[]): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const result of await Promise.allSettled(calls)) {
      const reason: unknown = result.status === "rejected" ? result.reason : null;
      const code = reason instanceof Error ? reason.name : "ok";
      counts[code] = (counts[code] ?? 0) + 1;
    }
    return counts;
  };

  test("S74: slots, waiting places, the rest at once; waiting ends; a skill's own limit is 429", async () => {
    const flags = ["--concurrency", "2", "--queue", "3", "--queue-timeout-ms", "700"];
    const runner = await startRunner({ flags });
    try {
      await run(runner, files, { argv: ["true"] });
      const quick = Array.from({ length: 8 }, () => run(runner, files, hold(0.25)));
      expect(await codes(quick)).toEqual({ ok: 5, runner_busy: 3 });
      const slow = Array.from({ length: 5 }, () => run(runner, files, hold(1.2)));
      expect(await codes(slow)).toEqual({ ok: 2, runner_busy: 3 });
      const limits = { max_output_bytes: 1000, concurrency: 1 };
      const limited = Array.from({ length: 19 }, () =>
        run(runner, files, { ...hold(1), skill: "one", limits }),
      );
      expect(await codes(limited)).toEqual({ ok: 1, concurrency_limited: 18 });
      const busy = run(runner, files, hold(1));
      expect((await run(runner, files, { argv: ["echo", "x"] })).stdout.toString()).toBe("x\n");
      await busy;
    } finally {
      await runner.stop();
    }
  });

  test("S32: aborted callers never make more than the allowed groups, and none stays", async () => {
    const runner = await startRunner({ flags: ["--concurrency", "2"] });
    try {
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
      await until(
        () => processesWith("sleep 65.5"),
        (left) => left.length === 2,
      );
      for (const controller of controllers) {
        controller.abort();
        expect((await processesWith("sleep 65.5")).length).toBeLessThanOrEqual(2);
      }
      await ended;
      await until(
        () => processesWith("sleep 65.5"),
        (left) => left.length === 0,
      );
      await until(
        async () => (await fetch(`${runner.url}/metrics`)).text(),
        (text) => /^hull_runner_running 0$/m.test(text) && /^hull_runner_waiting 0$/m.test(text),
      );
    } finally {
      await runner.stop();
    }
  });
});

describe("drain", () => {
  test("S116: what runs is answered, new work is refused, the exit code is 0, nothing is left", async () => {
    const runner = await startRunner({ flags: ["--concurrency", "8"] });
    await run(runner, files, { argv: ["true"] });
    const running = Array.from({ length: 5 }, () =>
      run(runner, files, { argv: ["sh", "-c", "sleep 0.8; echo ok"] }),
    );
    await until(
      async () => (await fetch(`${runner.url}/metrics`)).text(),
      (text) => text.includes("hull_runner_running 5"),
    );
    const exit = runner.kill("SIGTERM");
    await until(
      async () => (await fetch(`${runner.url}/readyz`)).status,
      (status) => status === 503,
    );
    await expect(run(runner, files, { argv: ["true"] })).rejects.toMatchObject({ code: "runner_draining" });
    expect((await Promise.all(running)).map(({ stdout }) => stdout.toString())).toEqual(
      Array(5).fill("ok\n"),
    );
    expect(await exit).toBe(0);
    expect((await readdir(runner.stateDir)).sort()).toEqual(["bundles", "journal", "secret"]);
    await runner.stop();
  });

  test.each([
    ["after its time", ["--drain-ms", "300", "--grace-ms", "200"], 1],
    ["at a second SIGTERM", ["--grace-ms", "200"], 2],
  ])("%s the drain ends what still runs", async (_, flags, signals) => {
    const runner = await startRunner({ flags });
    const stuck = run(runner, files, { argv: ["sh", "-c", "trap '' TERM; sleep 66.5; sleep 66.5"] });
    stuck.catch(() => {});
    await until(
      () => processesWith("sleep 66.5"),
      (left) => left.length > 0,
    );
    const exit = runner.kill("SIGTERM");
    if (signals === 2) setTimeout(() => runner.process.kill("SIGTERM"), 100);
    expect((await stuck).status.cause).toBe("cancelled");
    expect(await exit).toBe(0);
    expect(await processesWith("sleep 66.5")).toEqual([]);
    await runner.stop();
  });

  test("a runner whose parent is gone ends its processes and itself", async () => {
    const runner = await startRunner();
    const orphan = run(runner, files, { argv: ["sleep", "67.5"] });
    orphan.catch(() => {});
    await until(
      () => processesWith("sleep 67.5"),
      (left) => left.length > 0,
    );
    const exited = new Promise((resolve) => runner.process.once("exit", resolve));
    runner.process.stdin?.end();
    expect(await exited).toBe(0);
    expect(await processesWith("sleep 67.5")).toEqual([]);
    await runner.stop();
  });
});
