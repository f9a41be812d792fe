/** What hull dev survives, and what it leaves when it dies; its exit codes. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { type HullDev, json, REPO, runHull, startHullDev } from "../support/hull-dev.ts";
import { ofProcess, until } from "../support/runner.ts";

const SKILLS = {
  "echo/SKILL.md": "---\nname: Echo\ndescription: Test.\nrun: [cat]\n---\nTest.\n",
  "slow/SKILL.md": "---\nname: Slow\ndescription: Test.\nrun: [sh, -c, 'sleep 90; true']\n---\nTest.\n",
  "count/SKILL.md":
    "---\nname: Count\ndescription: Test.\ninput: file\nrun: [bash, -c, 'wc -c < \"$HULL_INPUT_FILE\"; exec sleep 1.31']\n---\nTest.\n",
  "escapes/SKILL.md":
    "---\nname: Escapes\ndescription: Test.\nrun: [sh, -c, 'setsid sleep 90 & wait']\n---\nTest.\n",
};

let hull: HullDev;
beforeAll(async () => {
  hull = await startHullDev({ skills: SKILLS, args: ["--direct"] });
});
afterAll(() => hull?.stop());

/** The process that runs the skills' processes, known by a flag that only it has. */
const runners = async (): Promise<number[]> =>
  [...hull.processes()].flatMap(([pid, command]) => (command.includes(" --secret-file ") ? [pid] : []));
const runnerPid = async (): Promise<number> => (await runners())[0] ?? expect.fail("there is no runner");
const ready = async (): Promise<number> => (await hull.call("/readyz")).status;
const echo = async (): Promise<string> => (await hull.call("/skills/echo", "again")).text();

/** How many processes of the skills run. */
const running = async (): Promise<number> =>
  [...hull.processes().values()].filter((command) => command === "sleep 90").length;

describe("the runner dies", () => {
  test("S56: readyz reports it, healthz stays 200, the runner is restarted and calls work", async () => {
    await until(ready, (status) => status === 200);
    expect(await echo()).toBe("again");
    const runner = await runnerPid();
    process.kill(runner, "SIGKILL");
    // It restarts soon: the test kills it until it sees an answer from the time in between.
    const killed = async (): Promise<number> => {
      for (const pid of await runners()) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It ended by itself since it was listed.
        }
      }
      return ready();
    };
    await until(killed, (status) => status === 503);
    expect((await hull.call("/healthz")).status).toBe(200);
    await until(ready, (status) => status === 200);
    expect(await runnerPid()).not.toBe(runner);
    expect(await echo()).toBe("again");
    await hull.printed(/runner ended \(SIGKILL\); starting it again/);
  });

  test("S85: a call in progress fails as lost, and does not run again", async () => {
    const call = hull.call("/skills/escapes", "x");
    await until(running, (count) => count > 0);
    process.kill(await runnerPid(), "SIGKILL");
    const response = await call;
    expect([response.status, (await json(response)).code]).toEqual([502, "execution_lost"]);
    await until(ready, (status) => status === 200);
    // The new runner ends what the dead one had left running.
    await until(running, (count) => count === 0);
  });
});

describe("the Worker's process dies", () => {
  const serving = (): number[] =>
    [...hull.processes()].flatMap(([pid, command]) => (/workerd.* serve /.test(command) ? [pid] : []));
  const parentOf = (pid: number): number => Number(ofProcess(pid, "stat").split(") ")[1]?.split(" ")[1]);
  /** Its `workerd`; there is only one. */
  const workerd = (): number => {
    const [pid, ...more] = serving();
    expect(more).toEqual([]);
    return pid ?? expect.fail("no workerd serves");
  };
  // A killed process has no time to remove its own.
  afterEach(async () => {
    for (const name of await readdir(join(hull.root, "tmp"))) {
      if (name.startsWith("miniflare-")) await removeTree(join(hull.root, "tmp", name));
    }
  });

  // Two would use the same objects: every alarm would fire twice, and a call with a key run twice.
  test("its workerd ends too, before another one serves", async () => {
    expect(await echo()).toBe("again");
    const before = workerd();
    process.kill(parentOf(before), "SIGKILL");
    await hull.printed(/worker ended \(SIGKILL\); starting it again/);
    await until(
      async () => serving(),
      (now) => now.some((pid) => pid !== before),
    );
    expect(workerd()).not.toBe(before);
    await until(ready, (status) => status === 200);
    expect(await echo()).toBe("again");
  });

  test("together with hull dev: the next hull dev ends its workerd before its own serves", async () => {
    const before = workerd();
    const parent = parentOf(before);
    // So that it does not see in time that hull dev has ended.
    process.kill(parent, "SIGSTOP");
    await hull.end("SIGKILL");
    process.kill(parent, "SIGKILL");
    await until(hull.processes, (left) => left.size === 1);
    expect(workerd()).toBe(before);
    hull = await startHullDev({ from: hull, args: ["--direct"] });
    expect(workerd()).not.toBe(before);
    expect(await echo()).toBe("again");
  });
});

describe("hull dev itself dies", () => {
  /** Starts a call and waits until its process runs, in addition to those that run already. */
  const begin = async (slug: string): Promise<Promise<unknown>[]> => {
    const before = await running();
    const call = hull.call(`/skills/${slug}`, "x").catch(() => null);
    await until(running, (count) => count > before);
    return [call];
  };

  // npm-start.test.ts ends wrangler's by SIGTERM in mid-run.
  test("S41: of 100 uploads, some of them aborted, SIGTERM in mid-run leaves no folder and no process", async () => {
    const body = new Uint8Array(300_000);
    const headers = { "content-type": "application/octet-stream" };
    let answered = 0;
    const uploads = Array.from({ length: 100 }, async (_, n) => {
      const signal = n % 3 === 0 ? AbortSignal.timeout(n * 10) : AbortSignal.timeout(60_000);
      const response = await hull.call("/skills/count", body, { headers, signal });
      const text = (await response.text()).trim();
      if (text === "300000") answered++;
      return text;
    });
    const answers = Promise.allSettled(uploads);
    const working = async (): Promise<number> =>
      [...hull.processes().values()].filter((command) => command === "sleep 1.31").length;
    await until(
      async () => answered,
      (count) => count > 3,
    );
    await until(working, (count) => count > 0);
    expect(await hull.end("SIGTERM")).toBe(0);
    const whole = (await answers).filter(
      (answer) => answer.status === "fulfilled" && answer.value === "300000",
    );
    expect(whole.length).toBeGreaterThan(3);
    expect(whole.length).toBeLessThan(66);
    await until(hull.processes, (all) => all.size === 0);
    expect(await readdir(join(hull.stateDir, "runner", "scratch")).catch(() => [])).toEqual([]);
    expect(await readdir(join(hull.root, "tmp"))).toEqual([]);
    hull = await startHullDev({ from: hull, args: ["--direct"] });
    expect(await echo()).toBe("again");
  });

  test("SIGINT in mid-run ends everything in order: exit 130", async () => {
    const [call] = await begin("slow");
    expect(await hull.end("SIGINT")).toBe(130);
    await call;
    await until(hull.processes, (all) => all.size === 0);
    expect(await readdir(join(hull.stateDir, "runner", "scratch")).catch(() => [])).toEqual([]);
    // wrangler's, which is killed next.
    hull = await startHullDev({ from: hull });
    expect(await echo()).toBe("again");
  });

  // The first one kills wrangler's parent, the other workerd's.
  test.each([[["slow"]], [["slow", "escapes"]]])(
    "SIGKILL in mid-run (%j) leaves no process behind, and its state serves on",
    async (slugs) => {
      const calls = [];
      for (const slug of slugs) calls.push(...(await begin(slug)));
      await hull.end("SIGKILL");
      await Promise.all(calls);
      const dead = hull;
      try {
        await until(dead.processes, (all) => all.size === 0);
      } finally {
        for (const pid of dead.processes().keys()) process.kill(pid, "SIGKILL");
        hull = await startHullDev({ from: dead, args: ["--direct"] });
      }
      expect([await ready(), await echo()]).toEqual([200, "again"]);
    },
  );
});

describe("S113, S4, S71: refusals at the start", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "hull-e2e-exit-"));
  });
  afterAll(() => rm(dir, { recursive: true }));

  test.each([
    ["a missing folder", ["--skills", "/no/such/folder"], 3, "/no/such/folder"],
    ["an unknown flag", ["--prot", "1"], 2, "--port"],
    ["an invalid port", ["--port", "99999", "--skills", `${REPO}skills`], 2, "99999"],
    ["an open address without keys", ["-H", "0.0.0.0", "--skills", `${REPO}skills`], 2, "HULL_ADMIN_KEY"],
  ])("%s", async (_name, args, code, says) => {
    const ended = await runHull(["dev", "--state", join(dir, "state"), ...args], { cwd: dir });
    expect(ended.output).toContain(says);
    expect(ended.code).toBe(code);
  });

  test("state in use", async () => {
    const args = ["dev", "--state", hull.stateDir, "--skills", `${REPO}skills`, "--port", "0"];
    const ended = await runHull(args, { cwd: dir });
    expect(ended.output).toContain(`(process ${hull.pid}) uses the state in ${hull.stateDir}`);
    expect(ended.code).toBe(4);
  });

  test("a port in use", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = String(typeof address === "object" && address !== null ? address.port : 0);
    const args = ["dev", "--state", join(dir, "state"), "--skills", `${REPO}skills`, "--port", port];
    const ended = await runHull(args, { cwd: dir });
    server.close();
    expect(ended.output).toContain(`Port ${port} is in use`);
    expect(ended.code).toBe(4);
  });
});
