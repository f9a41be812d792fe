/** Shows the events of a delegated run among those of a run without a session, to which no relay sends them. */
import type { AgentEffectContext } from "../../engine/agent/step.ts";
import { Internal } from "../../errors.ts";
import { logFault } from "../../log.ts";
import { readFrames } from "../../model/frames.ts";
import type { RunContext } from "../context.ts";
import { eventOf, type RunEvent } from "../events.ts";
import type { SessionClient } from "../session-client.ts";
import type { TaskSettings } from "./handle.ts";
import { parentEvents } from "./parent-event.ts";

/** Characters of one event, and bytes of all events. */
const MAX_EVENT = 40 * 1024 * 1024;
const MAX_BYTES = 256 * 1024 * 1024;

/** Emits the events as they come. A failure here does not fail the run: its answer does not depend on these events. */
export async function relayChildEvents(
  context: RunContext,
  session: SessionClient,
  { name, task }: TaskSettings,
  run_id: string,
  { run: parent_run_id, signal }: AgentEffectContext,
  emit: (event: RunEvent) => void,
): Promise<void> {
  const of = { run_id, parent_run_id, session_id: session.id, name, task, sub_agent: true };
  const broken = (reason: string) => new Internal({ cause: `events of ${run_id}: ${reason}` });
  try {
    const body = await session.events(run_id, 0);
    await readFrames(
      body,
      {
        framing: "sse",
        max_event: MAX_EVENT,
        max_bytes: MAX_BYTES,
        signal,
        unusable: broken,
        cutOff: broken,
      },
      ({ event = "", data }) => {
        const sent = eventOf(event, data);
        for (const shown of parentEvents(sent, of)) emit(shown);
        return sent.event === "done";
      },
    );
  } catch (error) {
    if (!signal.aborted) logFault(context, { event: "events_not_sent", run_id }, error);
  }
}
