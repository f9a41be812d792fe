/**
 * `tools/call` of a tool from a skill's tools.json: runs its handler without an approval, since nobody could give one.
 */

import { RunArtifacts } from "../../run/handler/artifacts.ts";
import { handlerEnvironment } from "../../run/handler/environment.ts";
import { unattendedRefusal } from "../../run/handler/policy.ts";
import { callSkillTool } from "../../run/handler/skill-tool.ts";
import { checkTrust } from "../../run/trust.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject, SkillRecord, SkillTool } from "../../skill/manifest.ts";
import { runId } from "../run-id.ts";
import type { Watch } from "../skills/run.ts";
import { artifactContents } from "./content.ts";
import type { Exchange } from "./exchange.ts";
import { structuredSchema } from "./tools.ts";

/** The result of a call, including its faults. */
export async function callHandlerTool(
  exchange: Exchange,
  { record, tool }: { record: SkillRecord; tool: SkillTool },
  given: JsonObject,
  watch: Watch | null,
): Promise<JsonObject> {
  const { context, signal } = exchange;
  const id = runId(context);
  context.log.skill = record.manifest.slug;
  context.log.execution_id = id;
  checkTrust(context.settings, record);
  const refusal = unattendedRefusal(context.settings, record, tool, given);
  if (refusal !== null) return { content: [{ type: "text", text: refusal }], isError: true };
  const { bot } = context;
  const artifacts = new RunArtifacts(() => null).call(id);
  const { text, value, artifact, fault } = await callSkillTool(
    {
      record,
      tool,
      source: null,
      signal,
      again: false,
      bot,
      models: {},
      call: { type: "tool_call", id, name: tool.name, arguments: given, raw: exchange.written(given) },
      executionId: id,
      runId: id,
      sessionId: null,
      leftMs: Number.MAX_SAFE_INTEGER,
    },
    handlerEnvironment(context, {
      emit: (event) => void watch?.(event),
      known: null,
      workspace: null,
      artifacts,
      choice: { bot, perCall: null },
      policy: context.settings.policy ?? null,
    }),
  );
  const meta = { "x-hull-execution-id": id };
  const content = [{ type: "text", text }, ...(await artifactContents(exchange, artifacts.artifacts))];
  if (fault !== null) return { content, isError: true, _meta: { ...meta, problem: { code: fault } } };
  return { content, ...(artifact ? {} : structured(exchange, tool, value)), _meta: meta };
}

function structured(exchange: Exchange, tool: SkillTool, value: Json): JsonObject {
  if (structuredSchema(exchange, tool) === null) return {};
  return exchange.protocol.modern || isObject(value) ? { structuredContent: value } : {};
}
