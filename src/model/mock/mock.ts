/** The answers that a test queues to replace a provider's, and the calls that it can inspect afterwards. JSON-safe. */
import * as z from "zod/mini";
import type { ModelRequest, ToolDefinition } from "../../engine/messages.ts";
import { ERROR_CATEGORIES } from "../../errors/failure-class.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { AnthropicSearchTool, ChatSearchTool } from "../search-tools.ts";

/** The most characters of a pattern: matching takes time in proportion to it. */
const MAX_PATTERN = 10_000;

/** One queued answer. Without `match` it answers the next call, which uses it up. */
export type Mock = z.output<typeof mockShape>;
export const mockShape = z.lazy(() => {
  const maybe = z.exactOptional;
  const text = () => maybe(z.string("text"));
  const count = () => maybe(z.int("a whole number").check(z.nonnegative("at least 0")));
  const object = () => z.custom<JsonObject>(isObject, "an object");
  return z.strictObject({
    /** Default: none. */
    text: text(),
    tool_calls: maybe(
      z.array(
        z.strictObject(
          {
            name: z.string("the name of a tool").check(z.minLength(1, "the name of a tool")),
            arguments: maybe(object()),
          },
          "{name, arguments}",
        ),
        "a list of {name, arguments}",
      ),
    ),
    /** Answers calls with a message that matches this pattern; `*` matches anything. */
    match: maybe(z.string("text").check(z.maxLength(MAX_PATTERN, `up to ${MAX_PATTERN} characters`))),
    /** The first call uses up a mock with `match`. */
    consume_match: maybe(z.boolean("true or false")),
    /** Tokens; default: a count of the bytes of all messages. */
    input_tokens: count(),
    /** Default: 30. */
    output_tokens: count(),
    /** Default: 0. */
    cache_read_tokens: count(),
    cache_write_tokens: count(),
    /** Reasoning, and a summary of reasoning. */
    thinking: text(),
    thinking_summary: text(),
    /** A normalised reason or any provider's own word; default: `tool_use` with calls, else `end_turn`. */
    stop_reason: text(),
    /** The model that the answer names; default: `mock`. */
    model: text(),
    /** The call fails with this error. `message`: the provider's supposed words. */
    error: maybe(
      z.strictObject(
        {
          category: z.enum(ERROR_CATEGORIES),
          message: text(),
          retry_after_ms: count(),
        },
        "{category, message, retry_after_ms}",
      ),
    ),
  });
});
export type MockError = NonNullable<Mock["error"]>;

/** One attempt at a call, as the provider would have received it. */
export interface MockCall extends Pick<ModelRequest, "messages" | "system" | "thinking"> {
  /** The offered tools, sent or described in the system text; before them the provider's own search, if it has one. */
  tools: (ToolDefinition | AnthropicSearchTool | ChatSearchTool)[];
}
