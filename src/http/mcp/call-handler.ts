/**
 * `tools/call` of a tool from a skill's tools.json: runs its handler without an approval, since nobody could give one.
 */

import { HullError, toHullError } from "../../errors.ts";
import { logLine } from "../../log.ts";
import { tracedTool } from "../../run/gen-ai.ts";
import { RunArtifacts } from "../../run/handler/artifacts.ts";
import { handlerEnvironment } from "../../run/handler/environment.ts";
import { unattendedRefusal } from "../../run/handler/policy.ts";
import { callSkillTool, type SkillToolCall } from "../../run/handler/skill-tool.ts";
import { checkTrust } from "../../run/trust.ts";
import { asJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject, SkillRecord, SkillTool } from "../../skill/manifest.ts";
import { idempotencyKey } from "../idempotency.ts";
import { jsonAnswer } from "../json.ts";
import { keyed } from "../keyed.ts";
import { RUN_ID, runId } from "../run-id.ts";
import type { Watch } from "../skills/run.ts";
import { artifactContents } from "./content.ts";
import type { Exchange } from "./exchange.ts";
import { structuredSchema } from "./tools.ts";

interface Called {
  record: SkillRecord;
  tool: SkillTool;
}

/**
 * The result of a call, including its faults. With an `Idempotency-Key` a repeated call receives the first one's result.
 * @throws IdempotencyKeyReused AnswerLost
 */
export async function callHandlerTool(
  exchange: Exchange,
  called: Called,
  given: JsonObject,
  watch: Watch | null,
): Promise<JsonObject> {
  const { request } = exchange.context;
  if (idempotencyKey(request) === null) return carriedOut(exchange, called, given, watch);
  const headers = new Headers(request.headers);
  // Local dev's front ends a run of this name when the client leaves, but a call with a key must continue.
  for (const name of [RUN_ID, "content-length", "content-encoding"]) headers.delete(name);
  const init = { method: "POST", headers, body: exchange.written(given) };
  const context = exchange.context.within(new Request(request.url, init));
  const { record, tool } = called;
  context.route = `/mcp ${record.manifest.slug} ${tool.name}`;
  const once = keyed(
    async (inner) => {
      const own = { ...exchange, context: inner, signal: inner.request.signal };
      return jsonAnswer(await carriedOut(own, called, given, watch));
    },
    { effects: !tool.idempotent },
  );
  const answer = await once(context, {});
  const result: JsonObject = JSON.parse(await answer.text());
  if (answer.headers.get("x-hull-replayed") === null) return result;
  return { ...result, _meta: { ...objectOf(result._meta), "x-hull-replayed": "1" } };
}

async function carriedOut(
  exchange: Exchange,
  { record, tool }: Called,
  given: JsonObject,
  watch: Watch | null,
): Promise<JsonObject> {
  const { context, signal } = exchange;
  const id = runId(context);
  context.log.skill = record.manifest.slug;
  if (record.uploaded_by !== undefined) context.log.uploaded = true;
  context.log.execution_id = id;
  checkTrust(context.settings, record);
  const refusal = unattendedRefusal(context.settings, record, tool, given);
  if (refusal !== null) {
    const problem = { code: "permission_denied" };
    return { content: [{ type: "text", text: refusal }], isError: true, _meta: { problem } };
  }
  const { bot } = context;
  const artifacts = new RunArtifacts(() => null).call(id);
  const asked: SkillToolCall = {
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
  };
  const environment = handlerEnvironment(context, {
    emit: (event) => void watch?.(event),
    known: null,
    workspace: null,
    artifacts,
    choice: { bot, perCall: null },
    policy: context.settings.policy ?? null,
  });
  const { text, value, artifact, fault } = await tracedTool(context, asked.call, async () => {
    const ended = await callSkillTool(asked, environment);
    const status = ended.fault === null ? ("ok" as const) : ("error" as const);
    return { ...ended, content: ended.text, status, error_category: ended.fault };
  });
  context.deployment.metrics.countToolCall(fault ?? "ok");
  const meta = { "x-hull-execution-id": id };
  const made = await artifactContents(exchange, artifacts.artifacts).catch(toHullError);
  if (made instanceof HullError) return notStored(context, text, made, meta);
  const content = [{ type: "text", text }, ...made];
  if (fault !== null) return { content, isError: true, _meta: { ...meta, problem: { code: fault } } };
  return { content, ...(artifact ? {} : structured(exchange, tool, value)), _meta: meta };
}

/**
 * The result of a tool that has done its work, but whose artifacts could not be stored. It is kept under the call's key,
 * since a repetition must not do the work again.
 */
function notStored(
  context: Exchange["context"],
  text: string,
  { data, operator }: HullError,
  meta: JsonObject,
): JsonObject {
  const { title, detail, code, members } = data;
  logLine(context, { event: "artifact_not_stored", code, error: operator }, "error");
  const content = [text, `${title}: ${detail}`].map((one) => ({ type: "text", text: one }));
  const _meta = { ...meta, problem: { code, ...members } };
  return asJson(context.redacted({ content, isError: true, _meta }));
}

function structured(exchange: Exchange, tool: SkillTool, value: Json): JsonObject {
  if (structuredSchema(exchange, tool) === null) return {};
  return exchange.protocol.modern || isObject(value) ? { structuredContent: value } : {};
}
