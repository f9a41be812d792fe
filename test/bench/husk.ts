/**
 * HUSK, whose skills Hull serves too, as a subject of the bench: pass the command that starts your build of it
 * (`--husk "bun /path/to/husk.js"`). Nothing of it is part of this repository.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "./load.ts";

/** How long it may take until it answers, in ms. */
const START_MS = 10_000;

export interface Husk {
  url: string;
  stop: () => Promise<void>;
}

/** Starts HUSK with a folder of skills; its address is on loopback. */
export async function startHusk(command: string, skills: string): Promise<Husk> {
  const [program = "", ...args] = command.split(" ");
  const port = await freePort();
  const child = spawn(program, [...args, "serve", skills, "--port", String(port)], { stdio: "ignore" });
  const failed = once(child, "exit").then(([code]) => {
    throw new RangeError(`${command} ended with ${code} before it answered`);
  });
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([answers(url), failed]);
  failed.catch(() => {});
  const stop = async (): Promise<void> => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  };
  return { url, stop };
}

async function answers(url: string): Promise<void> {
  for (const until = performance.now() + START_MS; performance.now() < until; await sleep(50)) {
    const isThere = await ask(`${url}/healthz`).then(
      () => true,
      () => false,
    );
    if (isThere) return;
  }
  throw new RangeError(`nothing answers at ${url}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new RangeError("no port is free");
  return address.port;
}
