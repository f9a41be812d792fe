/**
 * Runs a bundled module and returns the one message that it sends, a line of JSON. The module may be untrusted, so it
 * runs in a separate process without the developer's variables, files, programs and network, as far as the machine can
 * withhold them.
 */

import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import * as z from "zod";
import type { Json } from "../../src/skill/manifest.ts";
import type { SkillDescription } from "../../src/typed/describe.ts";
import { reasonOf } from "../system-error.ts";
import { findSandbox, type Sandbox } from "./sandbox.ts";

/** Time limit of the module's top level. */
const MAX_MS = 30_000;
/** The descriptor to which the module writes its message, and the most characters that are read of it. */
export const MESSAGE_FD = 3;
const MAX_MESSAGE = 16 * 1024 * 1024;
const MODULE = "skill.mjs";

const json = z.custom<Json>();
const description: z.ZodType<SkillDescription> = z.object({
  name: z.string(),
  description: z.string(),
  instructions: z.string(),
  tools: z.array(z.record(z.string(), json)),
  faults: z.array(z.object({ path: z.string(), message: z.string() })),
  stacks: z.object({ skill: z.string(), tools: z.array(z.string()) }),
});

interface Evaluated {
  description: SkillDescription;
  /** The folder in which the module ran: the sources of a stack are relative to it. */
  dir: string;
  /** Whether it could not reach the network. */
  offline: boolean;
}

/** @returns a typed skill's description, or why its module failed */
export async function evaluateModule(bytes: Uint8Array): Promise<Evaluated | { fault: string }> {
  // Node's permissions apply to real paths.
  const dir = await realpath(await mkdtemp(join(tmpdir(), "hull-typed-")));
  try {
    await writeFile(join(dir, MODULE), bytes);
    const sandbox = await findSandbox();
    const answer = await run(dir, sandbox);
    if ("fault" in answer) return answer;
    const parsed = description.safeParse(answer.message);
    return parsed.success
      ? { description: parsed.data, dir, offline: sandbox.offline }
      : { fault: "it sent something other than its tools." };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** @param dir contains the module; it is the module's home, and the only folder that it can read and write */
function run(dir: string, { prefix }: Sandbox): Promise<{ message: unknown } | { fault: string }> {
  const { promise, resolve } = Promise.withResolvers<{ message: unknown } | { fault: string }>();
  const permissions = ["--permission", `--allow-fs-read=${dir}/`, `--allow-fs-write=${dir}/`];
  const node = [process.execPath, ...permissions, "--enable-source-maps", join(dir, MODULE)];
  const [program = "", ...args] = [...prefix, ...node];
  const child = spawn(program, args, {
    cwd: dir,
    env: { HOME: dir, TMPDIR: dir },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-20_000);
  });
  const channel = child.stdio[MESSAGE_FD];
  let sent = "";
  if (channel instanceof Readable)
    channel.setEncoding("utf8").on("data", (text: string) => {
      sent += text;
      if (text.includes("\n")) resolve({ message: messageIn(sent) });
      else if (sent.length > MAX_MESSAGE) resolve({ fault: `it sent more than ${MAX_MESSAGE} characters.` });
    });
  const timer = setTimeout(() => resolve({ fault: `it did not end within ${MAX_MS} ms.` }), MAX_MS);
  child.on("error", (error) => resolve({ fault: reasonOf(error) }));
  child.on("close", (code) => resolve({ fault: reasonIn(stderr) ?? `its process ended with ${code}.` }));
  return promise.finally(() => {
    clearTimeout(timer);
    child.kill("SIGKILL");
    channel?.destroy();
  });
}

/** The first line, parsed; `undefined`: it is not JSON. */
function messageIn(sent: string): unknown {
  try {
    return JSON.parse(sent.slice(0, sent.indexOf("\n")));
  } catch {
    return undefined;
  }
}

/** The line of the error in Node's output, with the place in skill.ts if there is one. */
function reasonIn(stderr: string): string | null {
  const line = /^[ \t]*(?:[A-Za-z]*Error|Uncaught)\b.*$/m.exec(stderr)?.[0]?.trim();
  const at = /skill\.ts:(\d+):\d+/.exec(stderr)?.[1];
  if (line === undefined) return null;
  return at === undefined ? line : `${line} (line ${at})`;
}
