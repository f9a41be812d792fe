/** The progress of a run as MCP progress notifications. */

import { firstOf } from "../../cut.ts";
import { counted } from "../../plural.ts";
import type { RunEvent } from "../../run/events.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import type { Watch } from "../skills/run.ts";
import { isId, type RequestId } from "./message.ts";

/** The shortest time in ms between two notifications that report only new text. */
const TEXT_PAUSE_MS = 500;
/** Longest message. */
const MAX_MESSAGE = 500;

/** The token with which a client asks for progress; `null` if it does not ask. */
export function progressToken({ _meta }: JsonObject): RequestId | null {
  const token = isObject(_meta) ? _meta.progressToken : undefined;
  return isId(token) ? token : null;
}

interface Progress {
  /** Sends a run's events as progress. */
  watch: Watch;
  /** Says that the run continues: clients that wait a minute for an answer wait longer then. */
  goesOn: () => void;
}

/** @param send sends one notification */
export function progressOf(
  context: Pick<RequestContext, "redacted">,
  token: RequestId,
  send: (notification: JsonObject) => Promise<void>,
): Progress {
  let progress = 0;
  let characters = 0;
  let textSentAt = 0;
  const notify = (message: string): Promise<void> => {
    progress += 1;
    const params = {
      progressToken: token,
      progress,
      message: firstOf(context.redacted(message), MAX_MESSAGE),
    };
    return send({ jsonrpc: "2.0", method: "notifications/progress", params });
  };
  const watch: Watch = async (event) => {
    if (event.event !== "delta") {
      const message = messageOf(event);
      if (message !== null) await notify(message);
      return;
    }
    const { text } = event.data;
    characters += typeof text === "string" ? text.length : 0;
    if (Date.now() - textSentAt < TEXT_PAUSE_MS) return;
    textSentAt = Date.now();
    await notify(`${counted(characters, "character")} so far`);
  };
  return { watch, goesOn: () => void notify("still running") };
}

function messageOf({ event, data }: RunEvent): string | null {
  switch (event) {
    case "tool_call":
      return `calls ${data.name}`;
    case "tool_result":
      return data.ok === true ? "the tool has answered" : "the tool has failed";
    case "round":
      return data.restarted === true ? null : `model call ${data.round} has ended`;
    case "stderr":
    case "tool_output":
      return typeof data.text === "string" ? data.text.trim() || null : null;
    case "approval_request":
      return `${data.tool} waits for approval`;
    case "artifact":
      return `made ${data.title}`;
    case "skill_activated":
      return `uses the skill ${data.name}`;
    case "skill_mcp_bind_failed":
      return `cannot connect to ${data.server}`;
    case "sub_agent_start":
      return `starts the sub-agent ${data.name}`;
    case "sub_agent_result":
      return `the sub-agent ${data.name} has ended: ${data.status}`;
    case "stage":
      return `stage ${data.node_id}: ${data.status}`;
    // Text is counted; the rest is in the answer, or says nothing to people.
    case "delta":
    case "thought":
    case "start":
    case "skill_matched":
    case "skill_deactivated":
    case "skill_scope_tools":
    case "skill_mcp_bound":
    case "skill_mcp_unbound":
    case "tool_search_query":
    case "tool_search_result":
    case "feedback_injected":
    case "transcript_compacted":
    case "daemon_wake":
    case "response_part":
    case "task_update":
    case "error":
    case "done":
      return null;
  }
}
