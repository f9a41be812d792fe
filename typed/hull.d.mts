/** Types of `import { defineSkill, tool } from "hullrun"` (docs/tools.md): a skill with typed tools, written in `skill.ts`. */
import type * as z from "zod/v4/core";

/** What a handler is given beside its input. */
export interface ToolContext<Config = Record<string, never>> {
  /** The work folder: absolute, the session's own, or a fresh one for this call. */
  readonly workDir: string;
  /** Effective values of the tool's parameters, checked by the schema of `config`. */
  readonly config: Config;
  /** Those variables of the tool's `env` that are set and granted. */
  readonly env: Readonly<Record<string, string>>;
  /** Aborts when the call is cancelled or its time is up. */
  readonly signal: AbortSignal;
  /** The model's id of this call. */
  readonly callId: string;
  readonly sessionId?: string;
  /** The profile of configuration that the caller chose. */
  readonly bot?: string;
  /** Slot to model alias, from the run's options. */
  readonly models: Readonly<Record<string, string>>;
  /** Tells whoever watches the run; the model does not see it. */
  emit(text: string): Promise<void>;
  readonly artifact: ArtifactCalls;
  /** Runs Python in the session's workspace; for tools that declare `requiresFilesystem`. */
  python(code: string, options?: { timeoutMs?: number }): Promise<PythonResult>;
}

export interface PythonResult {
  stdout: string;
  stderr: string;
  exit_code: number | null;
}

export type ArtifactType =
  | "code"
  | "html"
  | "markdown"
  | "svg"
  | "mermaid"
  | "react"
  | "image"
  | "custom"
  | "document";

export interface Artifact {
  /** Absent: made up. */
  id?: string;
  type: ArtifactType;
  title: string;
  content: string;
  language?: string;
  metadata?: Record<string, unknown>;
  plugin?: string;
}

export interface ArtifactCalls {
  (artifact: Artifact): Promise<{ id: string }>;
  update(
    id: string,
    change: { content?: string; title?: string; metadata?: Record<string, unknown> },
  ): Promise<{ id: string }>;
}

export interface ToolDefinition<Input extends z.$ZodType, Config extends z.$ZodType, Output extends z.$ZodType> {
  /** A lower-case letter, then at most 63 lower-case letters, digits or `_`. */
  name: string;
  /** What it does and when to use it, for the model. */
  description: string;
  /** An object; absent: no parameters. */
  input?: Input;
  /** Checked after the call. */
  output?: Output;
  /** An object of what may be configured, each as a parameter with its default. */
  config?: Config;
  /** Variables that it may see; never a model provider's key. */
  env?: readonly string[];
  /** Default 60000. */
  timeoutMs?: number;
  /** Where it runs; absent: an isolate where that can be. */
  tier?: "isolate" | "runner";
  sideEffects?: boolean;
  idempotent?: boolean;
  /** `true`: any public host; a list: these, such as `api.example.com` or `*.example.com`. */
  requiresNetwork?: boolean | readonly string[];
  requiresFilesystem?: boolean;
  /** `auto` (the default) follows from the flags above. */
  riskLevel?: "auto" | "safe" | "moderate" | "dangerous" | "critical";
  /** Left out of lists and tool panels; models see it and may call it. */
  hidden?: boolean;
  displayName?: string;
  version?: string;
  category?: string;
  tags?: readonly string[];
  icon?: string;
  group?: string;
  deprecated?: boolean | string;
  examples?: readonly unknown[];
  estimatedLatencyMs?: number;
  run(
    input: z.output<Input>,
    ctx: ToolContext<z.output<Config>>,
  ): Answer<z.input<Output>> | Promise<Answer<z.input<Output>>>;
}

/** What a tool answers. The schema `output` describes neither a failure nor an artifact. */
export type Answer<Value> =
  | Value
  | { error: unknown }
  | (Artifact & { __artifact__: true })
  | { __artifact_update__: true; id: string; content?: unknown; title?: string; metadata?: Record<string, unknown> };

/** Any tool, whatever its schemas. */
export interface AnyTool extends Omit<ToolDefinition<z.$ZodType, z.$ZodType, z.$ZodType>, "run"> {
  run(input: never, ctx: never): unknown;
}

export interface SkillDefinition {
  /** As in SKILL.md; where that stands beside the file, the two agree. */
  name: string;
  description: string;
  /** The body of SKILL.md, where there is none. */
  instructions?: string;
  tools: readonly AnyTool[];
}

type NoParameters = z.$ZodObject<Record<never, never>>;

/** One tool; `input` and `ctx.config` of `run` have the types of their schemas. */
export function tool<
  Input extends z.$ZodType = NoParameters,
  Config extends z.$ZodType = NoParameters,
  Output extends z.$ZodType = z.$ZodUnknown,
>(definition: ToolDefinition<Input, Config, Output>): ToolDefinition<Input, Config, Output>;

/** A skill; the default export of `skill.ts`. */
export function defineSkill<Skill extends SkillDefinition>(definition: Skill): Skill;
