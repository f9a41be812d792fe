/** Calls one handler as a run does, in real isolates of Worker Loader, and records its notes. */
import { sha256 } from "../../src/bytes.ts";
import { Deployment } from "../../src/deployment.ts";
import type { Bindings } from "../../src/env.ts";
import { detachedContext } from "../../src/run/context.ts";
import type { RunEvent } from "../../src/run/events.ts";
import type { HandlerEnvironment, SkillToolResult, WorkFolder } from "../../src/run/handler/ports.ts";
import { callSkillTool, type SkillToolCall } from "../../src/run/handler/skill-tool.ts";
import type { JsonObject, SkillRecord, SkillTool } from "../../src/skill/manifest.ts";
import type { HandlerCall } from "../../src/tool/handler/call.ts";
import { bindings } from "./file-bindings.ts";

export const TOOL: SkillTool = {
  name: "probe",
  description: "Probes",
  parameters: { type: "object", properties: {}, required: [] },
  tier: "isolate",
  script: "scripts/probe.js",
  timeout_ms: 20_000,
  env: [],
  network: null,
  filesystem: false,
  side_effects: false,
  idempotent: false,
  risk: "safe",
  hidden: false,
  config: [],
};

export const RECORD: SkillRecord = {
  format: 1,
  manifest: {
    name: "probes",
    slug: "probes",
    description: "Probes",
    mode: "llm",
    route: "/skills/probes",
    method: "POST",
    input: "text",
    input_mime: [],
    output: "text",
    tool_env: [],
    extra: {},
    timeout_ms: 60_000,
    idle_timeout_ms: 60_000,
    deadline_ms: 60_000,
  },
  body: "",
  files: [],
  pack: null,
};

/** Stores the module in the registry, as a publish does; returns its digest. */
export async function stored(source: string): Promise<string> {
  const bytes = new Uint8Array(new TextEncoder().encode(source));
  const digest = await sha256(bytes);
  await bindings.SKILLS.put(`module:${digest}`, bytes);
  return digest;
}

export interface Scene {
  variables?: Record<string, unknown>;
  tenant?: string;
  tool?: Partial<SkillTool>;
  record?: Partial<SkillRecord>;
  args?: JsonObject;
  call?: Partial<SkillToolCall>;
  environment?: Partial<HandlerEnvironment>;
}

export interface Heard extends SkillToolResult {
  events: RunEvent[];
  /** Calls that reached the runner. */
  inRunner: HandlerCall[];
  artifacts: JsonObject[];
}

const deployments = new Map<string, Deployment>();

/** The same for the same variables. */
function deploymentWith(variables: Record<string, unknown> = {}): Deployment {
  const name = JSON.stringify(Object.entries(variables).map(([key, value]) => [key, String(value)]));
  const env: Bindings = Object.assign({}, bindings, { HULL_ENV: "local" }, variables);
  const known = deployments.get(name) ?? new Deployment(env);
  deployments.set(name, known);
  return known;
}

/** Calls a handler; `source` is its module. */
export async function handle(source: string, scene: Scene = {}): Promise<Heard> {
  const events: RunEvent[] = [];
  const inRunner: HandlerCall[] = [];
  const artifacts: JsonObject[] = [];
  const origin = { requestId: "req_test", tenant: scene.tenant ?? "acme", startedAt: Date.now() };
  const environment: HandlerEnvironment = {
    context: detachedContext(deploymentWith(scene.variables), origin, () => {}),
    emit: (event) => events.push(event),
    runner: async (call) => {
      inRunner.push(call);
      return { value: "from the runner", fault: null, duration_ms: 0, exit_code: 0, diagnostics: [] };
    },
    python: async (_call, code) => ({ stdout: `ran ${code}`, stderr: "", exit_code: 0 }),
    processes: true,
    folder: null,
    config: async () => ({ values: {}, secrets: [], diagnostics: [] }),
    artifacts: {
      keep: async (value) => {
        artifacts.push(value);
        const line = `Artifact "${String(value.title)}".`;
        return value.type === "broken" ? { error: "no" } : { line, findings: [] };
      },
    },
    ...scene.environment,
  };
  const tool = { ...TOOL, module: await stored(source), ...scene.tool };
  const { args = {} } = scene;
  const result = await callSkillTool(
    {
      record: { ...RECORD, ...scene.record },
      tool,
      source: null,
      call: { type: "tool_call", id: "call_1", name: tool.name, arguments: args, raw: JSON.stringify(args) },
      executionId: "ex_1-tool-1-0",
      runId: "ex_1",
      sessionId: null,
      bot: null,
      models: {},
      leftMs: 60_000,
      signal: new AbortController().signal,
      again: false,
      ...scene.call,
    },
    environment,
  );
  return { ...result, events, inRunner, artifacts };
}

/** A workspace in memory. */
export class FakeFolder implements WorkFolder {
  readonly contents: Map<string, string>;
  tooLarge = false;

  constructor(files: Record<string, string> = {}) {
    this.contents = new Map(Object.entries(files));
  }

  async files() {
    if (this.tooLarge) return null;
    return Array.from(this.contents, ([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
  }

  async save(...[written, removed]: Parameters<WorkFolder["save"]>) {
    for (const { path, bytes } of written) this.contents.set(path, new TextDecoder().decode(bytes));
    for (const path of removed) this.contents.delete(path);
    return [];
  }
}
