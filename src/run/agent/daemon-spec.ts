/** The specification of a daemon's run. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RunContext } from "../context.ts";
import { llmHost } from "../llm-host.ts";
import { agentSpec, type RunInput } from "./options.ts";

export const newRunId = (): string => `run_${crypto.randomUUID().replaceAll("-", "")}`;

/** Where a daemon keeps its snapshot among the files of its session, unless its settings say otherwise. */
export const daemonFolder = (id: string): string => `daemons/${id}`;

export const snapshotIn = (folder: string): string => `${folder}/daemon.json`;

/** @throws those of `agentSpec` */
export async function daemonSpec(context: RunContext, session: string, input: RunInput): Promise<AgentSpec> {
  const { signal } = new AbortController();
  const of = { signal, session, skill: null, account: `session:${session}` };
  const host = await llmHost(context, of, input.options.mock);
  const { daemon, persistent } = input.options;
  const options = { ...input.options, daemon: forced(daemon, true), persistent: forced(persistent, false) };
  return agentSpec(context, host, { ...input, options }, { run: newRunId(), session });
}

/** What a daemon has in any case. A wrong type stays, and is refused like that of any option. */
const forced = (given: Json | undefined, value: boolean): Json =>
  given === undefined || given === null || typeof given === "boolean" ? value : given;
