/** Hundreds of executions that end early, in every way they can, leave nothing behind. */
import { readdir, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Pipes } from "../../container/pipes.ts";
import { encodeMultipart } from "../../src/tool/multipart.ts";
import { type ExecutionSpec, signTicket } from "../../src/tool/protocol.ts";
import { cancelRequest, type RunOptions, runExecution } from "../../src/tool/runner-client.ts";
import {
  bundle,
  collect,
  gone,
  processesWith,
  run,
  runOptions,
  scratchOf,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

const EXECUTIONS = 400;
/** Of these the connection is dropped without a cancel; the runner waits 10 s for a client to reconnect. */
const DROPPED = 40;
const LANES = 12;

/** Sends an execution with an upload that never ends, then cuts the connection after `ms`. */
async function cut(runner: TestRunner, value: ExecutionSpec, ms: number): Promise<void> {
  const specText = JSON.stringify(value);
  const signal = AbortSignal.timeout(ms);
  const endless = new ReadableStream<Uint8Array>({
    // Node's `fetch` reads the body of a request that was aborted on and on, without sending it.
    pull: (controller) =>
      sleep(5).then(() => (signal.aborted ? controller.close() : controller.enqueue(new Uint8Array(10_000)))),
  });
  const input = value.input.mode === "file" ? endless : null;
  const files = input === null ? [] : [{ filename: "a", mime: "text/plain", body: input }];
  const { contentType, body } = encodeMultipart(specText, { files }, Promise.resolve());
  const ticket = await signTicket(runner.key, `execution:${value.id}`, specText, Date.now());
  const headers = { authorization: `Bearer ${ticket}`, "content-type": contentType };
  await runner
    .fetch("/v1/executions", { method: "POST", headers, body, signal })
    .then((response) => response.arrayBuffer())
    .catch(() => undefined);
}

test("400 aborted executions: cancelled, cut, dropped, timed out; no process, no file, no slot", async () => {
  const runner = await startRunner({ flags: ["--concurrency", String(DROPPED + 2 * LANES)] });
  try {
    const script = 'touch "$TMPDIR/left" "$HULL_OUTPUT_DIR/left"; setsid sleep 75.5 & sleep 75.5';
    const files = await bundle({ "noop.sh": "#!/bin/sh\n" });
    await run(runner, files, { argv: ["true"] });
    const make = (fields: Partial<ExecutionSpec>) =>
      spec({ digest: files.digest, argv: ["sh", "-c", script], grace_ms: 100, ...fields });
    const cancelled = (value: ExecutionSpec, ms: number): Promise<unknown> => {
      const options = runOptions(files, { signal: AbortSignal.timeout(ms) });
      return collect(runExecution(runner, value, {}, options)).catch(() => undefined);
    };
    const kinds = [
      (ms: number) => cancelled(make({}), ms),
      (ms: number) => cancelled(make({ timeout_ms: ms + 1 }), 20_000),
      (ms: number) => cut(runner, make({ input: { mode: "file" } }), ms),
      // As when a client of the Worker leaves: the cancel may come before the end of the connection.
      async (ms: number) => {
        const value = make({ input: { mode: "file" } });
        const leaving = cut(runner, value, ms + 20);
        await sleep(ms);
        await cancelRequest(runner, value.request_id, Date.now());
        await leaving;
      },
    ];
    const dropped = Array.from({ length: DROPPED }, (_, at) => cut(runner, make({}), 50 + 2 * at));
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < EXECUTIONS - DROPPED) {
        next += 1;
        // Before, while and after the process starts.
        await kinds[next % kinds.length]?.(next % 41);
      }
    };
    await Promise.all([...dropped, ...Array.from({ length: LANES }, lane)]);
    await until(
      async () => (await fetch(`${runner.url}/metrics`)).text(),
      (text) => /^hull_runner_running 0$/m.test(text) && /^hull_runner_waiting 0$/m.test(text),
    );
    await gone("sleep 75.5");
    await until(
      async () => (await scratchOf(runner)).filter((name) => name.includes("left")),
      (left) => left.length === 0,
    );
    // What is kept: pipes without a user.
    await until(
      () => readdir(Pipes.directory(runner.stateDir, false), { recursive: true }),
      (pipes) => !pipes.some((name) => /input|call/.test(name)),
    );
    const { pid } = runner.process;
    const open = async () =>
      Promise.all(
        (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")),
      );
    await until(open, (paths) => !paths.some((path) => path.endsWith("(deleted)")));
    expect((await run(runner, files, { argv: ["echo", "well"] })).stdout.toString()).toBe("well\n");
    expect(await runner.kill("SIGTERM")).toBe(0);
    expect((await readdir(runner.stateDir)).sort()).toEqual(["bundles", "journal", "secret"]);
    expect(runner.log()).not.toMatch(/"level":"error"/);
  } finally {
    await runner.stop();
  }
}, 300_000);

test("a caller that is no longer wanted when it follows a detached execution still ends it", async () => {
  const runner = await startRunner();
  try {
    const files = await bundle({ "noop.sh": "#!/bin/sh\n" });
    const value = spec({ digest: files.digest, argv: ["sleep", "76.5"], detach: true });
    const facts = new Map<string, "handed_in" | "admitted">();
    const known: RunOptions["known"] = {
      known: (id) => facts.get(id) ?? "nothing",
      note: (id, fact) => void facts.set(id, fact),
    };
    const first = collect(runExecution(runner, value, {}, runOptions(files, { known })));
    await until(
      () => [facts.get(value.id), processesWith("sleep 76.5").length],
      ([fact, count]) => fact === "admitted" && count === 1,
    );
    const late = runOptions(files, { known, signal: AbortSignal.abort() });
    await expect(collect(runExecution(runner, value, {}, late))).rejects.toThrow();
    expect((await first).status.cause).toBe("cancelled");
    await gone("sleep 76.5");
  } finally {
    await runner.stop();
  }
});
