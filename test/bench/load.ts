/** Load and its figures: latencies of a repeated operation, measured alternately with its floor. */
import { Agent, request } from "node:http";

/** Latencies in ms. */
interface Latencies {
  p50: number;
  p90: number;
  p99: number;
}

/** Latencies, and throughput in calls per second. */
export interface Sample extends Latencies {
  per_second: number;
}

export function latenciesOf(times: number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

/** Runs `once` `rounds` times, `concurrency` at a time. */
export async function load(
  once: () => Promise<unknown>,
  concurrency: number,
  rounds: number,
): Promise<Sample> {
  const times: number[] = [];
  let left = rounds;
  const begun = performance.now();
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const start = performance.now();
      await once();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const seconds = (performance.now() - begun) / 1000;
  return { ...latenciesOf(times), per_second: rounds / seconds };
}

/** Measures several in turns, so that all meet the same machine; returns the block of median p50 of each. */
export async function inTurns(
  subjects: readonly (() => Promise<unknown>)[],
  concurrency: number,
  rounds: number,
): Promise<Sample[]> {
  for (const once of subjects) await load(once, concurrency, Math.ceil(rounds / 4));
  const samples = subjects.map((): Sample[] => []);
  for (let block = 0; block < 5; block++) {
    for (const [i, once] of subjects.entries()) samples[i]?.push(await load(once, concurrency, rounds));
  }
  return samples.map(median);
}

/** Measures floor and ours in turns. */
export async function compare(
  floor: () => Promise<unknown>,
  ours: () => Promise<unknown>,
  concurrency: number,
  rounds: number,
): Promise<{ floor: Sample; ours: Sample }> {
  const [floors, mine] = await inTurns([floor, ours], concurrency, rounds);
  if (floors === undefined || mine === undefined) throw new RangeError("no samples");
  return { floor: floors, ours: mine };
}

export function median(samples: Sample[]): Sample {
  const sorted = samples.toSorted((a, b) => a.p50 - b.p50);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError("no samples");
  return middle;
}

const agent = new Agent({ keepAlive: true });

export interface Ask {
  method?: "GET" | "POST";
  body?: string;
  headers?: Record<string, string>;
  /** The status that is no error. */
  status?: number;
}

/** One request over a kept connection, to the end of its answer. */
export function ask(url: string, { method = "GET", body, headers, status = 200 }: Ask = {}): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(url, { method, agent, headers }, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      if (answer.statusCode === status) resolve(text);
      else reject(new RangeError(`${url} answered ${answer.statusCode}: ${text}`));
    });
    answer.on("error", reject);
  });
  sent.on("error", reject);
  sent.end(body);
  return promise;
}

/** One POST of a text. */
export function post(url: string, body: string, headers: Record<string, string> = {}): Promise<string> {
  return ask(url, { method: "POST", body, headers: { "content-type": "text/plain", ...headers } });
}
