/** Waits until a deployment serves its new catalog. */

import { setTimeout as sleep } from "node:timers/promises";
import { reasonOf } from "../system-error.ts";

/** A new address gets its certificate within this time, an old one its new version, in ms. */
const LIVE_MS = 60_000;
const POLL_MS = 1000;

/** Waits until one of the addresses serves the catalog, and returns that address; otherwise returns the last answer. */
export async function waitUntilLive(
  urls: readonly string[],
  catalog: string,
): Promise<{ url: string } | { said: string }> {
  const end = Date.now() + LIVE_MS;
  let said = "nothing";
  do {
    for (const url of urls) {
      const answer = await health(url);
      if (answer.catalog === catalog) return { url };
      said = `${url}/healthz: ${answer.said}`;
    }
    await sleep(POLL_MS);
  } while (Date.now() < end);
  return { said };
}

async function health(url: string): Promise<{ catalog?: string; said: string }> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    if (!response.ok) return { said: `${response.status} ${text.slice(0, 500)}` };
    const { catalog }: { catalog?: string } = JSON.parse(text);
    return catalog === undefined ? { said: text.slice(0, 500) } : { catalog, said: `it serves ${catalog}` };
  } catch (error) {
    return { said: reasonOf(error) };
  }
}
