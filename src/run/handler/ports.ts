/** What calls of Skill Tools handlers need from their surroundings. */
import type { Json, JsonObject, SkillRecord, SkillTool } from "../../skill/manifest.ts";
import type { HandlerCall, HandlerOutcome } from "../../tool/handler/call.ts";
import type { FolderFile } from "../../tool/isolate/handler-rpc.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import type { configForCall } from "../tool-config.ts";
import type { CallArtifacts } from "./artifacts.ts";

/** A session's workspace, as the work folder of a call in an isolate. */
export interface WorkFolder {
  /** All files; `null`: there are more than an isolate can hold. */
  files(): Promise<FolderFile[] | null>;
  /** Applies a call's changes to the session; returns what did not become a file, and why. */
  save(written: readonly FolderFile[], removed: readonly string[]): Promise<{ path: string; why: string }[]>;
}

export interface HandlerEnvironment {
  context: RunContext;
  emit: (event: RunEvent) => void;
  /** Executes a call in the runner. */
  runner: (call: HandlerCall) => Promise<HandlerOutcome>;
  /** Runs Python for a handler in an isolate, in the session's folder of the runner; returns what the handler gets. */
  python: (call: HandlerCall, code: string, timeoutMs: number | null) => Promise<JsonObject>;
  /**
   * Whether a call may start processes that its tool's tier does not need: for `ctx.python`, or instead of an isolate.
   */
  processes: boolean;
  /** `null`: calls have no session. */
  folder: WorkFolder | null;
  /** The configured values of a tool. */
  config: (record: SkillRecord, tool: SkillTool) => ReturnType<typeof configForCall>;
  /** Receives the artifacts of the call. */
  artifacts: Pick<CallArtifacts, "keep">;
}

/** How a call ended, for the model and for the record. */
export interface SkillToolResult {
  value: Json;
  /** Whether the tool returned an artifact. Then `value` is the line that the model reads of it, or why there is none. */
  artifact: boolean;
  /** As the model sees it. */
  text: string;
  /** `null`: it succeeded. */
  fault: HandlerOutcome["fault"];
  duration_ms: number;
  exit_code: number | null;
  metadata: JsonObject;
}
