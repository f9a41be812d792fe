/** Daemons through the death of everything, and by the command line: a real Worker with its state on disk. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json, runHull } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill, killWorker } from "../support/shared.ts";

const GUARD =
  "---\nname: guard\ndescription: Guards\nmode: llm\nprovider: mock\ndaemon:\n  task: Guard.\n  wake_interval_ms: 300\n---\nGuard.\n";

const { hull } = await commonHull({ "guard/SKILL.md": GUARD });

interface Daemon {
  id: string;
  status: string;
  daemon_state: string;
  total_iterations: number;
  queued_event_count: number;
  recorded_messages: { role: string; content: string }[];
}

const daemon = async (id: string): Promise<Daemon> => json<Daemon>(await hull.call(`/daemons/${id}`));
const when = (id: string, fact: (daemon: Daemon) => boolean): Promise<Daemon | null> =>
  until(
    () => daemon(id).catch(() => null),
    (found) => found !== null && fact(found),
  );

/** The exit code of `hull daemons …` and what it printed; `ls` is a process of its own. */
const daemons = (...args: string[]) =>
  runHull(["daemons", ...args, "--url", hull.url], {
    cwd: hull.root,
    ...(args[0] === "ls" ? { process: true } : {}),
  });
const cli = async (...args: string[]): Promise<string> => {
  const { code, output } = await daemons(...args);
  expect([code, output]).toEqual([0, output]);
  return output;
};

test("timers continue by themselves after the Worker was killed, and every event is handled once", async () => {
  const spawned = await hull.post("/daemons", { task: "Watch.", provider: "mock", wake_interval_ms: 500 });
  const { id } = await json<Daemon>(spawned);
  const events = Array.from({ length: 8 }, (_, n) => `event-${n}`);
  for (const [n, name] of events.entries()) {
    const send = async (): Promise<boolean> => {
      const headers = { "content-type": "application/json", "idempotency-key": name };
      const sent = await hull
        .call(`/daemons/${id}/events`, JSON.stringify({ name }), { headers })
        .catch(() => null);
      return sent?.status === 202;
    };
    await until(send, (stored) => stored);
    if (n % 4 === 1) expect(await kill(hull, "worker")).toBeGreaterThan(0);
  }
  const handled = await when(
    id,
    ({ queued_event_count: queued, daemon_state }) => queued === 0 && daemon_state === "idle",
  );
  const said = (handled?.recorded_messages ?? [])
    .filter(({ role }) => role === "user")
    .map(({ content }) => content);
  for (const name of events)
    expect([name, said.filter((text) => text.includes(`"${name}"`)).length]).toEqual([name, 1]);
  const wokenAlone = async (ms: number): Promise<boolean> => {
    const before = (await daemon(id)).total_iterations;
    await killWorker(hull);
    // No request reaches it in the meantime.
    await sleep(ms);
    return (await daemon(id)).total_iterations > before + 1;
  };
  // How long two wakes take depends on what else the machine does.
  expect((await wokenAlone(3000)) || (await wokenAlone(10_000)) || (await wokenAlone(30_000))).toBe(true);
  await hull.post(`/daemons/${id}/stop`, {});
});

test("a daemon that waits for the end of an outage is resumed after the Worker was killed", async () => {
  const mock = [{ text: "ready" }, { error: { category: "overloaded" } }, { text: "one" }, { text: "two" }];
  const more = { provider: "mock", mock, llm_retries: 0, resume_after_ms: 5000 };
  const { id } = await json<Daemon>(await hull.post("/daemons", { task: "Watch.", ...more }));
  await cli("send", id, '{"n": 1}');
  expect(await when(id, ({ status }) => status === "failed")).toMatchObject({
    resumes_at: expect.any(String),
  });
  await cli("send", id, '{"n": 2}');
  await killWorker(hull);
  const back = await when(
    id,
    ({ status, queued_event_count }) => status === "running" && queued_event_count === 0,
  );
  expect(back?.recorded_messages.map(({ content }) => content)).toEqual([
    "Watch.",
    "ready",
    '{"n":1}',
    "one",
    '{"n":2}',
    "two",
  ]);
  await cli("rm", id);
});

test("the command line lists, wakes, messages, stops and removes; a skill's daemon is there from the start", async () => {
  const listed = JSON.parse(await cli("ls", "--json"));
  const guard = listed.data.find((item: { skill: string | null }) => item.skill === "guard");
  expect(guard).toMatchObject({ name: "guard", status: "running" });
  const { id } = guard;
  expect(await cli("show", id)).toMatch(/status +running, (?:idle|active)/);
  expect(await cli("send", id, '{"n": 1}')).toContain("of 1024 events");
  await when(id, ({ recorded_messages }) => recorded_messages.some(({ content }) => content === '{"n":1}'));
  expect(await cli("stop", id)).toMatch(/status +stopped/);
  const refused = await daemons("send", id, "x");
  expect(refused.code).not.toBe(0);
  expect(refused.output).toContain("daemon_not_running");
  expect(await cli("resume", id)).toMatch(/status +running/);
  expect(await cli("wake", id)).toContain(id);
  const mock = [{ error: { category: "overloaded" } }];
  const down = { task: "Watch.", provider: "mock", mock, llm_retries: 0, resume_after_ms: 3_600_000 };
  const { id: failed } = await json<Daemon>(await hull.post("/daemons", down));
  await when(failed, ({ status }) => status === "failed");
  expect(await cli("show", failed)).toMatch(/resumes at +20/);
  expect(await cli("rm", id)).toBe(`Removed ${id}.\n`);
  expect(JSON.parse(await cli("ls", "--json")).data.map((item: Daemon) => item.id)).not.toContain(id);
});
