/**
 * Many daemons with timers of a second, and events for all of them, against a real Worker: none may be missed or doubled.
 * `node test/bench/soak-daemons.ts [daemons] [seconds]`; 1000 and 60 unless said otherwise. Exit code 1 where one was.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startHullDev } from "../support/hull-dev.ts";

const count = Number(process.argv[2] ?? 1000);
const seconds = Number(process.argv[3] ?? 60);
const SENDERS = 32;
/** Events that are sent at the same time wait for the second of a daemon's timer, not for each other. */
const LATE_MS = 15_000;

interface Daemon {
  id: string;
  status: string;
  next_wake_at: string | null;
  queued_event_count: number;
  total_iterations: number;
  recorded_messages: { role: string; content: string }[];
}

process.env.HULL_LOG = "failures";
const hull = await startHullDev({ skills: {}, args: ["--direct", "--no-front"] });
const ask = async <T>(path: string, body?: object): Promise<T> => {
  const init =
    body === undefined
      ? {}
      : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(`${hull.url}${path}`, init);
  if (!response.ok) throw new RangeError(`${path} answered ${response.status}: ${await response.text()}`);
  return JSON.parse(await response.text());
};
/** Does something with each, so many at a time. */
const each = async <T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> => {
  const left = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: SENDERS }, worker));
};

try {
  const ids: string[] = [];
  await each(Array(count).keys(), async (n) => {
    const { id } = await ask<Daemon>("/daemons", {
      task: `Watch ${n}.`,
      provider: "mock",
      wake_interval_ms: 1000,
    });
    ids.push(id);
  });
  const from = new Map<string, number>();
  await each(ids, async (id) => void from.set(id, (await ask<Daemon>(`/daemons/${id}`)).total_iterations));
  const sent = new Map(ids.map((id) => [id, 0]));
  const begun = Date.now();
  const end = begun + seconds * 1000;
  function* turns(): Generator<string> {
    for (let n = 0; Date.now() < end; n += 1) yield ids[n % ids.length] ?? "";
  }
  await each(turns(), async (id) => {
    const number = sent.get(id) ?? 0;
    sent.set(id, number + 1);
    await ask(`/daemons/${id}/events`, { number });
    await sleep(5);
  });
  const lasted = (Date.now() - begun) / 1000;
  await sleep(3000);
  let missed = 0;
  let doubled = 0;
  let overdue = 0;
  const wakes: number[] = [];
  await each(ids, async (id) => {
    let daemon = await ask<Daemon>(`/daemons/${id}`);
    for (const late = Date.now() + LATE_MS; daemon.queued_event_count > 0 && Date.now() < late; ) {
      await sleep(100);
      daemon = await ask<Daemon>(`/daemons/${id}`);
    }
    const events = sent.get(id) ?? 0;
    const heard = daemon.recorded_messages
      .filter(({ role }) => role === "user")
      .map(({ content }) => content);
    for (let number = 0; number < events; number += 1) {
      const times = heard.filter((text) => text === JSON.stringify({ number })).length;
      if (times === 0) missed += 1;
      if (times > 1) doubled += 1;
    }
    wakes.push(daemon.total_iterations - (from.get(id) ?? 0));
    const due = daemon.next_wake_at === null ? 0 : Date.parse(daemon.next_wake_at);
    if (daemon.status !== "running" || Date.now() - due > LATE_MS) overdue += 1;
  });
  wakes.sort((a, b) => a - b);
  const events = [...sent.values()].reduce((sum, n) => sum + n, 0);
  const median = wakes[Math.floor(wakes.length / 2)] ?? 0;
  const facts = { daemons: count, seconds: Math.round(lasted), events, missed, doubled, overdue };
  console.log(JSON.stringify({ ...facts, wakes: { least: wakes[0], median, most: wakes.at(-1) } }));
  process.exitCode = missed + doubled + overdue === 0 && (wakes[0] ?? 0) > 0 ? 0 : 1;
} finally {
  await hull.stop();
}
