/** What each way in which a process can end means for the caller that started it. */
import type { ToolErrorCode } from "../engine/tool-fault.ts";
import {
  ClientClosedRequest,
  CommandNotFound,
  ExecutionLost,
  OutOfMemory,
  OutputTooLarge,
  ScriptFailed,
  ScriptKilled,
  ScriptTimeout,
  SpawnFailed,
} from "../errors/run.ts";
import type { HullError } from "../errors.ts";
import { counted } from "../plural.ts";
import {
  DEPENDENCIES_FAULT,
  type EndedStatus,
  type ExecutionSpec,
  MAX_OUTPUT_FILES,
  TOO_MANY_FILES,
} from "./protocol.ts";

/** How a process ended, and the limits that it ran with. */
type Facts = Pick<EndedStatus, "signal" | "reason"> &
  Pick<ExecutionSpec, "id" | "timeout_ms"> & { command: string; maxBytes: number };
type Asked = Pick<ExecutionSpec, "id" | "timeout_ms" | "argv" | "limits">;

/** The last characters that the process wrote. */
interface Tails {
  stdout: string;
  stderr: string;
}

interface ProcessEnd {
  /** The code for the model. */
  code: ToolErrorCode;
  /** The text for the model: it continues "It was", and has no full stop. */
  said: (facts: Facts) => string;
  /** The end leaves unknown what the process did. */
  unknown?: true;
  /** For the caller of a script. */
  error: (facts: Facts, tails: Tails) => HullError;
}

const LOST_SAID = "lost while it ran";
const NO_START: Readonly<Record<string, string>> = {
  EACCES: "it is not executable",
  ENOEXEC: "a file of its kind needs a #! line",
  [DEPENDENCIES_FAULT]: "the packages that it needs could not be installed",
};

/** Every end but a process's own exit. */
const ENDS: Readonly<Record<Exclude<EndedStatus["cause"], "exit">, ProcessEnd>> = {
  timed_out: {
    code: "timed_out",
    said: ({ timeout_ms }) => `stopped after ${timeout_ms} ms, its time limit`,
    error: ({ timeout_ms }, tails) => new ScriptTimeout({ timeout_ms, ...tails }),
  },
  // The caller cancelled it and reads nothing more, or the runner ended itself.
  cancelled: {
    code: "killed",
    said: () => "stopped: the runner was shut down",
    unknown: true,
    error: () => new ClientClosedRequest({}),
  },
  out_of_memory: {
    code: "out_of_memory",
    said: () => "killed: it exceeded its memory limit",
    error: () => new OutOfMemory({}),
  },
  signal: {
    code: "killed",
    said: ({ signal }) => `ended by ${signal ?? "a signal"}`,
    error: ({ signal }, { stderr }) => new ScriptKilled({ signal: signal ?? "an unknown signal", stderr }),
  },
  output_too_large: {
    code: "killed",
    said: (facts) => {
      const { limit, of } = mostOutput(facts);
      return `ended: it wrote more than ${counted(limit, of)}`;
    },
    error: (facts) => new OutputTooLarge(mostOutput(facts)),
  },
  command_not_found: {
    code: "command_not_found",
    said: ({ command }) => `not started: the runner has no "${command}", or not its interpreter`,
    error: ({ command }) => new CommandNotFound({ command }),
  },
  spawn_failed: {
    code: "command_not_found",
    said: ({ reason = "unknown reason" }) => `not started: ${NO_START[reason] ?? reason}`,
    error: ({ command, reason = "unknown reason" }) => new SpawnFailed({ command, reason }),
  },
  lost: {
    code: "outcome_unknown",
    said: () => LOST_SAID,
    unknown: true,
    error: ({ id }) => new ExecutionLost({ id }),
  },
};

const factsOf = ({ signal, reason }: EndedStatus, { id, timeout_ms, argv, limits }: Asked): Facts => ({
  id,
  timeout_ms,
  signal,
  command: argv[0] ?? "",
  maxBytes: limits.max_output_bytes,
  ...(reason === undefined ? {} : { reason }),
});

/** The limit of its output that a process exceeded. */
const mostOutput = ({ maxBytes, reason }: Facts): { limit: number; of: "byte" | "file" } =>
  reason === TOO_MANY_FILES ? { limit: MAX_OUTPUT_FILES, of: "file" } : { limit: maxBytes, of: "byte" };

const OUTCOME_UNKNOWN = "The outcome is unknown: it may or may not have taken effect, and was not run again.";

/** How a process ended that did not exit by itself. */
interface CutShort {
  code: ToolErrorCode;
  /** Sentences, the first of which continues "It was". */
  remark: string;
  /** The end leaves unknown what the process did. */
  unknown: boolean;
}

/** The remark on a process that was lost together with its status. */
export const LOST = `${LOST_SAID}. ${OUTCOME_UNKNOWN}`;

/** How a process was cut short; `null`: it exited by itself. */
export function cutShort(status: EndedStatus, asked: Asked): CutShort | null {
  if (status.cause === "exit") return null;
  const { code, said, unknown = false } = ENDS[status.cause];
  const text = `${said(factsOf(status, asked))}.`;
  return { code, remark: unknown ? `${text} ${OUTCOME_UNKNOWN}` : text, unknown };
}

/** How a tool's process was cut short; `null`: it exited by itself. @throws ClientClosedRequest if its caller left */
export function toolCutShort(
  status: EndedStatus,
  asked: Asked & Pick<ExecutionSpec, "detach">,
): CutShort | null {
  // Nobody waits for the model's reaction. A detached process has no caller that could leave.
  if (status.cause === "cancelled" && !asked.detach) throw new ClientClosedRequest({});
  return cutShort(status, asked);
}

/**
 * The caller's error for the end of a script skill's process; `null` is success.
 * @param tails called for an error only
 */
export function scriptError(status: EndedStatus, asked: Asked, tails: () => Tails): HullError | null {
  if (status.cause !== "exit") return ENDS[status.cause].error(factsOf(status, asked), tails());
  return status.exit_code === 0 ? null : new ScriptFailed({ exit_code: status.exit_code ?? -1, ...tails() });
}
