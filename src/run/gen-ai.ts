/**
 * Attributes of the spans of models and tools, in OpenTelemetry's conventions for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/): names, counts and codes, and content only on request.
 */

import { firstOf } from "../cut.ts";
import type { AgentToolResult } from "../engine/agent/records.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import type { RunState } from "../engine/agent/state.ts";
import type { Block, Message, ModelRequest, ModelTurn, ToolCallBlock } from "../engine/messages.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { RunContext } from "./context.ts";
import { type Attributes, inSpan, type OpenSpan } from "./spans.ts";

/** Names of providers that differ between the conventions and Hull. */
const PROVIDER_NAMES: Record<string, string> = { xai: "x_ai", google: "gcp.gemini" };

/** The most characters of content in an attribute's value; the rest is cut off. */
const MAX_CONTENT = 8192;

/** Redacted content as an attribute's value; `undefined` if content is not traced. */
type Content = (value: unknown) => string | undefined;

function contentOf(context: RunContext): Content {
  if (!context.settings.traceContent) return () => undefined;
  return (value) => firstOf(JSON.stringify(context.redacted(value)) ?? "", MAX_CONTENT);
}

/** Drives a run in a span of its own. @param execution the request's id of the run */
export function tracedRun<T>(
  context: RunContext,
  { run_id, session_id, agent }: AgentSpec,
  execution: string | null,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const attributes = (): Attributes => ({
    "gen_ai.operation.name": "invoke_agent",
    ...(agent === undefined ? {} : { "gen_ai.agent.name": agent }),
    ...(session_id === null ? {} : { "gen_ai.conversation.id": session_id }),
    ...(execution === null ? { "hull.run_id": run_id } : { "hull.execution_id": execution }),
  });
  return inSpan(context, agent === undefined ? "invoke_agent" : `invoke_agent ${agent}`, attributes, work);
}

/** The attributes of a part of a run: what it took. @param from the run at the beginning of the part */
export function runAttributes(
  { totals, iterations, tools_used, error }: RunState,
  from: RunState,
): Attributes {
  return {
    "gen_ai.usage.input_tokens": totals.input_tokens - from.totals.input_tokens,
    "gen_ai.usage.output_tokens": totals.output_tokens - from.totals.output_tokens,
    "hull.rounds": iterations - from.iterations,
    // A daemon forgets its earliest calls when it wakes.
    "hull.tool_calls": Math.max(0, tools_used.length - from.tools_used.length),
    ...(error === null ? {} : { "error.type": error.code }),
  };
}

/** Makes a model's call in a span of its own. */
export function tracedCall(
  context: RunContext,
  request: ModelRequest,
  target: ResolvedTarget,
  call: () => Promise<ModelTurn>,
): Promise<ModelTurn> {
  const content = contentOf(context);
  const attributes = () => requestAttributes(request, target, content);
  return inSpan(context, `chat ${target.model}`, attributes, async (span) => {
    const turn = await call();
    span.set(() => turnAttributes(turn, content));
    return turn;
  });
}

/** Makes a tool's call in a span of its own. */
export function tracedTool<T extends ToolEnd>(
  context: RunContext,
  call: ToolCallBlock,
  work: () => Promise<T>,
): Promise<T> {
  const content = contentOf(context);
  const attributes = () => toolAttributes(call, content);
  return inSpan(context, `execute_tool ${call.name}`, attributes, async (span) => {
    const result = await work();
    span.set(() => resultAttributes(result, content));
    return result;
  });
}

function requestAttributes(
  request: ModelRequest,
  { provider, model }: ResolvedTarget,
  content: Content,
): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": PROVIDER_NAMES[provider] ?? provider,
    "gen_ai.request.model": model,
    "gen_ai.request.max_tokens": request.max_tokens,
    "gen_ai.system_instructions": content([{ type: "text", content: request.system }]),
    "gen_ai.input.messages": content(request.messages.map(messageOf)),
  };
}

function turnAttributes(turn: ModelTurn, content: Content): Attributes {
  const { usage, model, stop_reason, blocks } = turn;
  const finish_reason = turn.raw_stop_reason ?? stop_reason;
  return {
    "gen_ai.response.model": model,
    // The conventions want a list here, which an attribute cannot be.
    "gen_ai.response.finish_reasons": finish_reason,
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
    "gen_ai.output.messages": content([{ role: "assistant", parts: blocks.map(partOf), finish_reason }]),
  };
}

function toolAttributes(call: ToolCallBlock, content: Content): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": call.name,
    "gen_ai.tool.call.id": call.id,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.arguments": content(call.arguments ?? call.raw),
  };
}

type ToolEnd = Pick<AgentToolResult, "content" | "status" | "error_category">;

const resultAttributes = (result: ToolEnd, content: Content): Attributes => ({
  "gen_ai.tool.call.result": content(result.content),
  ...(result.status === "ok" ? {} : { "error.type": result.error_category ?? "failed" }),
});

function messageOf(message: Message): unknown {
  switch (message.role) {
    case "user":
      return {
        role: "user",
        // Pictures, documents and sound leave only a note that they were there.
        parts: message.content.map((part) =>
          part.type === "text" ? { type: "text", content: part.text } : { type: "blob", modality: part.type },
        ),
      };
    case "assistant":
      return { role: "assistant", parts: message.content.map(partOf) };
    case "tool":
      return {
        role: "tool",
        parts: message.results.map(({ call_id, content }) => ({
          type: "tool_call_response",
          id: call_id,
          response: content,
        })),
      };
  }
}

function partOf(block: Block): unknown {
  switch (block.type) {
    case "output_text":
      return { type: "text", content: block.text };
    case "reasoning":
    case "reasoning_summary":
      return { type: "reasoning", content: block.text };
    case "tool_call":
      return { type: "tool_call", id: block.id, name: block.name, arguments: block.arguments ?? block.raw };
    default:
      return { type: block.type };
  }
}
