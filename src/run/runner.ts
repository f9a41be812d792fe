/** How this deployment reaches its runner: over loopback in dev, through the container's Durable Object otherwise. */
import { RunnerUnavailable } from "../errors/run.ts";
import { logFault, logLine } from "../log.ts";
import { readBytes } from "../registry/published.ts";
import { importTicketKey } from "../tool/protocol.ts";
import { RunnerCircuit } from "../tool/runner-circuit.ts";
import type { KnownExecutions, Runner, RunOptions } from "../tool/runner-client.ts";
import type { RunContext } from "./context.ts";

/** The number of container instances that share the executions: `max_instances` in wrangler.toml. */
const INSTANCES = 4;

/** How long the runner may take to report that it is ready, in ms. */
const READY_TIMEOUT_MS = 2000;

async function ticketKey(
  { deployment: { ticketKeys } }: RunContext,
  runner: string,
  secret: () => string | Promise<string>,
): Promise<CryptoKey> {
  const key = ticketKeys.get(runner) ?? (await importTicketKey(await secret()));
  ticketKeys.set(runner, key);
  return key;
}

/** The circuit of a runner; of each change it writes a line to the log. */
function circuitOf({ deployment }: RunContext, runner: string, where: string): RunnerCircuit {
  const { runnerCircuits, settings } = deployment;
  const known = runnerCircuits.get(runner);
  if (known !== undefined) return known;
  const circuit = new RunnerCircuit(where, (note) =>
    note.event === "runner_down"
      ? logFault(settings.eventRedactor, note)
      : logLine(settings.eventRedactor, note),
  );
  runnerCircuits.set(runner, circuit);
  return circuit;
}

/**
 * The runner for an execution. An execution always reaches the same instance, whose journal knows it.
 * @param name selects the instance: the execution's id, or that of its workspace, whose folder is there
 */
export async function runnerEndpoint(context: RunContext, name: string): Promise<Runner> {
  const { origin, secret } = context.settings.runner;
  if (origin !== null) {
    const where = `at ${origin}`;
    if (secret === null) throw new RunnerUnavailable({ where, cause: "HULL_RUNNER_SECRET is not set" });
    const key = await ticketKey(context, secret, () => secret);
    const circuit = circuitOf(context, secret, where);
    return { key, circuit, fetch: (path, init) => fetch(origin + path, init) };
  }
  const { RUNNER } = context.env;
  const instance = `runner-${instanceOf(name)}`;
  const stub = RUNNER.get(RUNNER.idFromName(instance));
  const circuit = circuitOf(context, instance, `in the container ${instance}`);
  const key = await ticketKey(context, instance, () => stub.runnerSecret()).catch((error: unknown) => {
    throw new RunnerUnavailable({ where: circuit.where, cause: `RunnerObject: ${String(error)}` });
  });
  return { key, circuit, fetch: (path, init) => stub.fetch(`http://runner${path}`, init) };
}

/** @param known remembered detached executions; `null` if none is detached */
export function runOptions(
  context: RunContext,
  signal: AbortSignal,
  known: KnownExecutions | null,
): RunOptions {
  return {
    tenant: context.tenant,
    ...(known === null ? {} : { known }),
    pack: (digest) => readBytes(context.env, "pack", digest),
    signal,
    now: Date.now,
    background: context.background,
  };
}

function instanceOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
  return hash % INSTANCES;
}

/** Asks the runner whether it accepts work. @throws RunnerUnavailable */
export async function runnerReady(context: RunContext): Promise<void> {
  const runner = await runnerEndpoint(context, "readyz");
  const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
  const response = await runner
    .fetch("/readyz", { method: "GET", headers: {}, signal })
    .catch((error: unknown) => {
      throw new RunnerUnavailable({ where: runner.circuit.where, cause: String(error) });
    });
  await response.body?.cancel();
  if (!response.ok)
    throw new RunnerUnavailable({
      where: runner.circuit.where,
      cause: `the runner answered ${response.status}`,
    });
}
