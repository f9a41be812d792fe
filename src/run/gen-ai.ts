/**
 * What spans of models and tools say, in OpenTelemetry's conventions for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/): names, counts and codes; content only where it is asked for.
 */
import type { Block, Message, ModelRequest, ModelTurn, ToolCallBlock } from "../engine/messages.ts";
import type { RunTotals } from "../engine/records.ts";
import type { ToolOutcome } from "../engine/tool-result.ts";
import type { ResolvedTarget } from "../model/providers.ts";
import type { RunContext } from "./context.ts";
import type { Attributes } from "./spans.ts";

/** The conventions' names of providers where they are not ours. */
const PROVIDER_NAMES: Record<string, string> = { xai: "x_ai", google: "gcp.gemini" };

/** Content as an attribute's value holds at most this many characters; the rest is cut off. */
const MAX_CONTENT = 8192;

/** Redacted content as an attribute's value; `undefined` where content is not traced. */
type Content = (value: unknown) => string | undefined;

export function contentOf(context: RunContext): Content {
  if (!context.settings.traceContent) return () => undefined;
  return (value) => (JSON.stringify(context.redacted(value)) ?? "").slice(0, MAX_CONTENT);
}

const providerName = (provider: string): string => PROVIDER_NAMES[provider] ?? provider;

export function agentAttributes(slug: string, executionId: string): Attributes {
  return {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": slug,
    "hull.execution_id": executionId,
  };
}

export function totalsAttributes({ usage, rounds, tool_calls }: RunTotals): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
    "hull.rounds": rounds,
    "hull.tool_calls": tool_calls,
  };
}

export function requestAttributes(
  request: ModelRequest,
  { provider, model }: ResolvedTarget,
  content: Content,
): Attributes {
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(provider),
    "gen_ai.request.model": model,
    "gen_ai.request.max_tokens": request.max_tokens,
    "gen_ai.system_instructions": content([{ type: "text", content: request.system }]),
    "gen_ai.input.messages": content(request.messages.map(messageOf)),
  };
}

export function turnAttributes(turn: ModelTurn, content: Content): Attributes {
  const { usage, model, stop_reason, blocks } = turn;
  const finish_reason = turn.raw_stop_reason ?? stop_reason;
  return {
    "gen_ai.response.model": model,
    // A list in the conventions, which an attribute here cannot be.
    "gen_ai.response.finish_reasons": finish_reason,
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
    "gen_ai.output.messages": content([{ role: "assistant", parts: blocks.map(partOf), finish_reason }]),
  };
}

export function toolAttributes(call: ToolCallBlock, content: Content): Attributes {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": call.name,
    "gen_ai.tool.call.id": call.id,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.arguments": content(call.arguments ?? call.raw),
  };
}

export function outcomeAttributes(outcome: ToolOutcome, content: Content): Attributes {
  return {
    "gen_ai.tool.call.result": content(outcome.content),
    ...(outcome.ok ? {} : { "error.type": outcome.code ?? "failed" }),
  };
}

function messageOf(message: Message): unknown {
  switch (message.role) {
    case "user":
      return {
        role: "user",
        // Of pictures, documents and sound only that they were there.
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
