/** A call of a handler, as the run of a skill makes it. */
import { randomUUID } from "node:crypto";
import type { BundledFile, JsonObject, Manifest, SkillTool } from "../../src/skill/manifest.ts";
import type { HandlerCall, HandlerNote } from "../../src/tool/handler/call.ts";
import { type ProcessDeps, runInRunner } from "../../src/tool/handler/process.ts";
import type { Runner } from "../../src/tool/runner-client.ts";
import { type Bundle, runOptions } from "./runner.ts";

const manifest: Manifest = {
  name: "tools",
  slug: "tools",
  description: "d",
  mode: "llm",
  route: "/skills/tools",
  method: "POST",
  input: "text",
  input_mime: [],
  output: "text",
  timeout_ms: 60_000,
  idle_timeout_ms: 60_000,
  deadline_ms: 60_000,
  tool_env: [],
  extra: {},
};

type CallFields = Partial<Omit<HandlerCall, "tool">> & { tool?: Partial<SkillTool> };

/** A call of the script of this path. */
export function handlerCall(
  { digest, executables }: Bundle,
  script: string,
  args: JsonObject,
  fields: CallFields = {},
): HandlerCall & { notes: HandlerNote[] } {
  const notes: HandlerNote[] = [];
  const { tool, ...rest } = fields;
  const files = executables.map((path): BundledFile => ({ path, size: 1, mode: 0o755, sha256: "" }));
  return {
    record: { format: 1, manifest, body: "", files, pack: digest },
    tool: {
      name: "probe",
      description: "d",
      parameters: {},
      tier: "runner",
      script,
      timeout_ms: 60_000,
      env: [],
      network: null,
      filesystem: false,
      side_effects: false,
      idempotent: true,
      risk: "safe",
      hidden: false,
      config: [],
      ...tool,
    },
    args,
    raw: JSON.stringify(args),
    callId: "call_1",
    executionId: randomUUID(),
    runId: randomUUID(),
    sessionId: null,
    bot: null,
    models: {},
    config: {},
    env: {},
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    note: (note) => notes.push(note),
    ...rest,
    notes,
  };
}

/** The dependencies of a call of this bundle's handlers. */
export function processDeps(runner: Runner, from: Bundle, fields: Partial<ProcessDeps> = {}): ProcessDeps {
  const { tenant, pack, now, background } = runOptions(from);
  return {
    runner,
    options: { tenant, pack, now, background },
    settings: { grace_ms: 2000, providerKeys: new Set() },
    ...fields,
  };
}

/** Makes a call; returns its outcome and the notes that it sent. */
export async function callScript(
  runner: Runner,
  from: Bundle,
  script: string,
  args: JsonObject = {},
  fields: CallFields = {},
) {
  const call = handlerCall(from, script, args, fields);
  const outcome = await runInRunner(call, processDeps(runner, from));
  const said = call.notes.map((note) => (note.kind === "output" ? note.text : "")).join("");
  return { ...outcome, said, notes: call.notes };
}
