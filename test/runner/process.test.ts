/** What a process gets, what it gives, and how it ends. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runExecution } from "../../src/tool/runner-client.ts";
import {
  type Bundle,
  bundle,
  collect,
  gone,
  processesWith,
  run,
  running,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
} from "../support/runner.ts";

let runner: TestRunner;
let files: Bundle;

beforeAll(async () => {
  files = await bundle({
    "tool.sh": '#!/bin/sh\nprintf "%s|" "$0" "$@"\n',
    "plain.txt": "not executable\n",
    "no-interpreter.sh": "#!/not/there\n",
  });
  const env = {
    OPENAI_API_KEY: "canary-openai",
    STRIPE_SECRET: "canary-stripe",
    LC_TIME: "C.UTF-8",
    TERM: "dumb",
  };
  runner = await startRunner({ env });
});
afterAll(async () => {
  const { stateDir } = runner;
  await runner.stop();
  expect(processesWith(stateDir)).toEqual([]);
});

const sh = (script: string): { argv: string[] } => ({ argv: ["sh", "-c", script] });

describe("environment and arguments", () => {
  test("S26: exactly the variables of the contract, each of Hull's under both names", async () => {
    const { stdout } = await run(runner, files, {
      id: "env-1",
      skill: "weather",
      argv: ["env", "-0"],
      env: { WEATHER_API_KEY: "w" },
      input: { mode: "stdin", mime: "text/plain", filename: "../a\tb.txt" },
    });
    const environment = Object.fromEntries(
      stdout
        .toString()
        .split("\0")
        .filter(Boolean)
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    const allowed =
      /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|TMP|TEMP|TERM|LANG|LANGUAGE|TZ|LC_\w+|WEATHER_API_KEY)$/;
    const own = Object.keys(environment).filter((name) => /^HU[LS][LK]_/.test(name));
    expect(Object.keys(environment).filter((name) => !allowed.test(name) && !own.includes(name))).toEqual([]);
    expect(own.sort()).toEqual(
      ["INPUT_MIME", "INPUT_FILENAME", "OUTPUT_FILE", "OUTPUT_DIR"]
        .flatMap((name) => [`HULL_${name}`, `HUSK_${name}`])
        .concat("HULL_INPUT_DIR", "HULL_EXECUTION_ID", "HULL_SKILL")
        .sort(),
    );
    expect(stdout.toString()).not.toContain("canary");
    expect(environment).toMatchObject({
      WEATHER_API_KEY: "w",
      TERM: "dumb",
      LC_TIME: "C.UTF-8",
      HULL_EXECUTION_ID: "env-1",
      HULL_SKILL: "weather",
      HUSK_INPUT_MIME: "text/plain",
      HULL_INPUT_FILENAME: ".._a_b.txt",
    });
    expect(environment.PWD).toContain(files.digest);
    expect(environment.TMP).toBe(environment.TMPDIR);
  });

  test.each(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "HULL_SKILL", "HUSK_X"])(
    "S27: %s is refused by name",
    async (name) => {
      const refused = run(runner, files, { argv: ["true"], env: { [name]: "canary-value" } });
      await expect(refused).rejects.toMatchObject({ code: "runner_protocol_error" });
      expect(runner.log()).not.toContain("canary");
    },
  );

  test("a key that the execution withholds is refused by name, another variable is not", async () => {
    const withheld = ["MY_PROVIDER_KEY"];
    const refused = run(runner, files, {
      argv: ["true"],
      env: { MY_PROVIDER_KEY: "canary-value" },
      withheld,
    });
    await expect(refused).rejects.toMatchObject({ code: "runner_protocol_error" });
    await run(runner, files, { argv: ["true"], env: { MY_OTHER_KEY: "free" }, withheld });
    expect(runner.log()).not.toContain("canary");
  });

  test.each([
    [["./tool.sh", "a b", "", "ü*$(x)"], "./tool.sh|a b||ü*$(x)|"],
    [["tool.sh"], "/tool.sh|"],
    [["sh", "-c", 'printf %s "$0"'], "sh"],
    [["/bin/echo", "-n", "x"], "x"],
  ])("argv %j arrives unchanged", async (argv, expected) => {
    const { stdout } = await run(runner, files, { argv });
    expect(stdout.toString().endsWith(expected)).toBe(true);
  });

  test.each([
    [["no-such-command"], "command_not_found"],
    [["./absent.sh"], "command_not_found"],
    [["./no-interpreter.sh"], "command_not_found"],
    [["../../../bin/true"], "command_not_found"],
    [["./plain.txt"], "spawn_failed"],
    [["/bin/echo", "x".repeat(200_000)], "spawn_failed"],
    // It would end a field of the message to the spawner, and begin another one.
    [["/bin/echo", "x\0A=b"], "spawn_failed"],
  ])("S39: %j cannot start", async (argv, cause) => {
    const { status, stdout } = await run(runner, files, { argv });
    expect(status).toMatchObject({ cause, exit_code: null });
    expect(stdout.length).toBe(0);
  });

  test.each([
    ["/bin/echo", "command_not_found"],
    ["../../../bin/echo", "command_not_found"],
    ["./tool.sh", "exit"],
    ["echo", "exit"],
  ])("for a skill that was uploaded %s ends as %s", async (program, cause) => {
    const { status } = await run(runner, files, { argv: [program], untrusted: true });
    expect(status.cause).toBe(cause);
  });
});

describe("streams", () => {
  test("S28, S29: bytes come out unchanged", async () => {
    const big = await run(runner, files, sh("head -c 12000000 /dev/zero; printf '\\377\\376\\000A'"));
    expect(big.stdout.length).toBe(12_000_004);
    expect(big.stdout.subarray(-4)).toEqual(Buffer.from([0xff, 0xfe, 0, 0x41]));
    expect(big.status).toMatchObject({ cause: "exit", exit_code: 0, stdout_bytes: 12_000_004 });
  });

  test("stdin goes in whole, from memory and from a stream, and is closed", async () => {
    const bytes = new Uint8Array(3_000_000).map((_, index) => index * 7);
    const sum = createHash("sha256").update(bytes).digest("hex");
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 50_000) controller.enqueue(bytes.subarray(at, at + 50_000));
        controller.close();
      },
    });
    for (const stdin of [bytes, stream]) {
      const { stdout } = await run(runner, files, { argv: ["sha256sum"] }, { stdin });
      expect(stdout.toString()).toContain(sum);
    }
    const none = await run(runner, files, { argv: ["wc", "-c"] });
    expect(none.stdout.toString().trim()).toBe("0");
  });

  test("a process may close stdin early, and open its streams by name", async () => {
    const stdin = new Uint8Array(2_000_000);
    const early = await run(runner, files, sh("exec <&-; echo done"), { stdin });
    expect(early.stdout.toString()).toBe("done\n");
    const named = await run(
      runner,
      files,
      { argv: ["bash", "-c", "cat /dev/stdin; echo err > /dev/stderr; echo out > /dev/stdout"] },
      { stdin: new TextEncoder().encode("in\n") },
    );
    expect([named.stdout.toString(), named.stderr.toString()]).toEqual(["in\nout\n", "err\n"]);
  });

  test("S28: more than the cap is output_too_large and ends the process", async () => {
    const limits = { max_output_bytes: 100_000 };
    const { status, stdout } = await run(runner, files, { ...sh("yes"), limits });
    expect(status.cause).toBe("output_too_large");
    expect(stdout.length).toBe(100_000);
    expect(await run(runner, files, { ...sh("head -c 100000 /dev/zero"), limits })).toMatchObject({
      status: { cause: "exit", stdout_bytes: 100_000 },
    });
  });

  test("S40: exit code and both streams; stderr keeps its first and last 64 KiB", async () => {
    const failed = await run(runner, files, sh("echo out; echo err >&2; exit 3"));
    expect(failed.status).toMatchObject({ cause: "exit", exit_code: 3, stderr_truncated: false });
    expect(failed.status).toMatchObject({ duration_ms: expect.toSatisfy(Number.isInteger) });
    expect([failed.stdout.toString(), failed.stderr.toString()]).toEqual(["out\n", "err\n"]);

    const long = await run(
      runner,
      files,
      sh("printf first >&2; head -c 500000 /dev/zero >&2; printf last >&2"),
    );
    expect(long.status).toMatchObject({ stderr_truncated: true, stderr_bytes: 500_009 });
    expect(long.stderr.length).toBe(128 * 1024);
    expect(long.stderr.toString()).toMatch(/^first\0+last$/);
  });
});

describe("ends", () => {
  test.each([
    ["a grandchild", "sleep 61.5; echo done", 100_000],
    ["a group that ignores TERM", "trap '' TERM; sleep 61.5; sleep 61.5", 1000],
    ["a session of its own, TERM ignored", "trap '' TERM; setsid sleep 61.5", 1000],
  ])("S30: %s is stopped in time", async (_, script, grace_ms) => {
    const { status } = await run(runner, files, { ...sh(script), timeout_ms: 500, grace_ms });
    expect(status.cause).toBe("timed_out");
    await gone("sleep 61.5");
  });

  test.each(["KILL", "TERM", "SEGV"])("S33: kill -%s $$ is a signal, not a time-out", async (name) => {
    const { status } = await run(runner, files, sh(`kill -${name} $$`));
    expect(status).toMatchObject({ cause: "signal", signal: `SIG${name}`, exit_code: null });
  });

  test.each([
    ["in the background", "sleep 62.5 & echo ok"],
    ["in the background, off the pipes", "sleep 62.5 >/dev/null 2>&1 & echo ok"],
    ["in its own session", "setsid sleep 62.5 & echo ok"],
    ["in its own session, off the pipes", "setsid sleep 62.5 >/dev/null 2>&1 & echo ok"],
  ])("S34: a child left %s neither delays the answer nor stays", async (_, script) => {
    const { status, stdout } = await run(runner, files, sh(script));
    expect(status).toMatchObject({ cause: "exit", exit_code: 0 });
    expect(stdout.toString()).toBe("ok\n");
    await gone("sleep 62.5");
  });

  test("without spawners an answer does not wait for a process that hides from the runner", async () => {
    const direct = await startRunner({ flags: ["--spawners", "0"] });
    const argv = ["bash", "-c", "setsid env -i sleep 70.5 & echo $!"];
    const { stdout, status } = await run(direct, files, { argv });
    process.kill(Number(stdout.toString()), "SIGKILL");
    expect(status).toMatchObject({ cause: "exit", exit_code: 0 });
    expect(status.duration_ms).toBeLessThan(60_000);
    await direct.stop();
  });

  test("S31: an abort ends the whole group, and the request's later executions", async () => {
    const controller = new AbortController();
    const background: Promise<unknown>[] = [];
    const options = runOptions(files, {
      signal: controller.signal,
      background: (work) => void background.push(work),
    });
    const long = spec({ digest: files.digest, ...sh("sleep 63.5 & setsid sleep 63.5 & sleep 63.5") });
    const events = collect(runExecution(runner, long, {}, options));
    await running("sleep 63.5", 3);
    controller.abort();
    await expect(events).rejects.toMatchObject({ code: "client_closed_request" });
    await Promise.all(background);
    await gone("sleep 63.5");
    const later = run(runner, files, { argv: ["true"], request_id: long.request_id });
    await expect(later).rejects.toMatchObject({ code: "client_closed_request" });
  });
});
