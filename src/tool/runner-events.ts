/** Reads a runner's answers: frames as events, refusals as errors. */
import { atMost } from "../at-most.ts";
import { ConcurrencyLimited, ExecutionConflict } from "../errors/request.ts";
import {
  ClientClosedRequest,
  ExecutionLost,
  RunnerBusy,
  RunnerDraining,
  RunnerProtocolError,
} from "../errors/run.ts";
import { causeOf } from "../errors.ts";
import { parsedJson } from "../skill/json-depth.ts";
import {
  type EndedStatus,
  type FileFrame,
  FRAME,
  type Frame,
  FrameDecoder,
  fileFrame,
  HEARTBEAT_MS,
  refusal,
  statusFrame,
  type WorkspaceChange,
  workspaceChange,
} from "./protocol.ts";

export type RunEvent =
  | { kind: "started"; queue_ms: number }
  | { kind: "stdout"; bytes: Uint8Array }
  | { kind: "stderr"; bytes: Uint8Array }
  | ({ kind: "file" } & FileFrame)
  /** Bytes of the last `file`. */
  | { kind: "file_bytes"; bytes: Uint8Array }
  /** A change of the session's files. */
  | { kind: "change"; change: WorkspaceChange }
  /** Bytes of the last `change` that is a write. */
  | { kind: "change_bytes"; bytes: Uint8Array }
  | { kind: "ended"; status: EndedStatus };

/** The connection failed, not the execution. */
export class Disconnected extends Error {
  override name = "Disconnected";
}

const decoder = new TextDecoder();

/** A runner that is silent for this long is gone. */
const SILENCE_MS = 3 * HEARTBEAT_MS;

/**
 * The events of an answer, one per frame except heartbeats, up to `ended`.
 * @throws Disconnected if the body stops before that or falls silent; RunnerProtocolError
 */
export async function* followFrames(response: Response): AsyncGenerator<RunEvent, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Disconnected("an answer without a body");
  const frames = new FrameDecoder();
  try {
    for (;;) {
      const { done, value } = await readInTime(reader);
      if (done) throw new Disconnected("the runner's answer was cut");
      for (const frame of pushFrames(frames, value)) {
        if (frame.type === FRAME.heartbeat) continue;
        const event = toEvent(frame);
        yield event;
        if (event.kind === "ended") return;
      }
    }
  } finally {
    // Not awaited: if the connection hangs, this call hangs too.
    void reader.cancel().catch(() => {});
  }
}

async function readInTime(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Awaited<ReturnType<typeof reader.read>>> {
  try {
    return await atMost(reader.read(), SILENCE_MS, () => {
      throw new Disconnected("the runner fell silent");
    });
  } catch (error) {
    throw error instanceof Disconnected ? error : new Disconnected(causeOf(error));
  }
}

function pushFrames(frames: FrameDecoder, chunk: Uint8Array): Frame[] {
  try {
    return frames.push(chunk);
  } catch (error) {
    throw new RunnerProtocolError({ reason: causeOf(error) });
  }
}

function toEvent({ type, payload }: Frame): RunEvent {
  if (type === FRAME.stdout) return { kind: "stdout", bytes: payload };
  if (type === FRAME.stderr) return { kind: "stderr", bytes: payload };
  if (type === FRAME.fileBytes) return { kind: "file_bytes", bytes: payload };
  if (type === FRAME.changeBytes) return { kind: "change_bytes", bytes: payload };
  const value = parsedJson(decoder.decode(payload));
  if (type === FRAME.change) {
    const change = workspaceChange.safeParse(value);
    if (change.success) return { kind: "change", change: change.data };
  } else if (type === FRAME.file) {
    const file = fileFrame.safeParse(value);
    if (file.success) return { kind: "file", ...file.data };
  } else {
    const status = statusFrame.safeParse(value);
    if (status.success && status.data.kind === "started") return status.data;
    if (status.success && status.data.kind === "ended") return { kind: "ended", status: status.data };
  }
  throw new RunnerProtocolError({ reason: `a frame of type ${type} is not valid` });
}

/** The error for an unexpected answer. `limit`: the skill's own concurrency. */
export async function refusedBy(
  response: Response,
  execution: { id: string; skill: string; limit: number },
): Promise<Error> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    return new Disconnected(causeOf(error));
  }
  const { id, skill, limit } = execution;
  const parsed = refusal.safeParse(parsedJson(text));
  if (!parsed.success) {
    // Components in between (a proxy, a starting container) do not know the protocol.
    if (response.status >= 500) return new Disconnected(`status ${response.status}`);
    return new RunnerProtocolError({ reason: `status ${response.status} without a refusal` });
  }
  const { code, detail, retry_after_s = 1 } = parsed.data;
  switch (code) {
    case "runner_busy":
      return new RunnerBusy({ retry_after_s });
    case "runner_draining":
      return new RunnerDraining({ retry_after_s });
    case "concurrency_limited":
      return new ConcurrencyLimited({ skill, limit, retry_after_s });
    case "execution_conflict":
      return new ExecutionConflict({ id });
    // The runner had accepted the id and no longer knows it, so its disk is gone.
    case "execution_lost":
    case "execution_not_found":
      return new ExecutionLost({ id });
    case "client_closed_request":
      return new ClientClosedRequest({});
    default:
      return new RunnerProtocolError({ reason: `${code}: ${detail}` });
  }
}
