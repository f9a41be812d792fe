/** The specification of a daemon's run. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { RunContext } from "../context.ts";
import { llmHost } from "../llm-host.ts";
import { agentSpec, type RunInput } from "./options.ts";

export const newRunId = (): string => `run_${crypto.randomUUID().replaceAll("-", "")}`;

/** @throws those of `agentSpec` */
export async function daemonSpec(context: RunContext, session: string, input: RunInput): Promise<AgentSpec> {
  const { signal } = new AbortController();
  const of = { signal, session, skill: null, account: `session:${session}` };
  const host = await llmHost(context, of, input.options.mock);
  const options = { ...input.options, daemon: true, persistent: false };
  return agentSpec(context, host, { ...input, options }, { run: newRunId(), session });
}
