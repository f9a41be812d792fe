/** The body of `POST /v1/chat/completions` as a canonical request. */
import * as z from "zod/mini";
import type { ModelRequest, ProviderPassthrough, ToolDefinition } from "../../engine/messages.ts";
import type { ContainerTool } from "../../engine/workspace-tools/code-tools.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { type ContainerParams, containerShape, readContainer } from "../container-params.ts";
import {
  flag,
  lenient,
  listOf,
  messageList,
  modelName,
  number,
  readShape,
  texts,
  tokens,
} from "../members.ts";
import { systemPrompt } from "../system-prompt.ts";
import { checkAnswered, checkToolNames } from "../tool-call-ids.ts";
import { readChat } from "./conversation.ts";
import {
  callTerms,
  checkFurther,
  effort,
  format,
  functionMembers,
  functionTool,
  membersOutside,
  namedFormat,
  ownEffort,
  toolChoice,
} from "./terms.ts";

const UNSUPPORTED = ["logprobs", "top_logprobs"] as const;

/** OpenAI's chat completions have no such tool, so it has the name that Anthropic gave it, with or without a date. */
const codeTool = () =>
  z.object({ type: z.string().check(z.regex(/^code_execution(?:_\d{8})?$/, { abort: true })) });
const functionShape = () => z.object({ type: z.literal("function"), function: z.object(functionMembers()) });

export const chatBody = z.lazy(() =>
  z.object({
    model: modelName(),
    messages: messageList(),
    stream: flag(),
    stream_options: lenient(z.object({ include_usage: lenient(z.boolean()) })),
    n: z.nullish(z.literal(1, "one answer for each call")),
    max_tokens: z.nullish(tokens()),
    max_completion_tokens: z.nullish(tokens()),
    temperature: number(),
    top_p: number(),
    stop: texts(),
    seed: number(),
    frequency_penalty: number(),
    presence_penalty: number(),
    response_format: format(
      z.object({ type: z.literal("json_schema"), json_schema: z.object(namedFormat()) }),
    ),
    reasoning_effort: effort(),
    tools: listOf(z.union([functionShape(), codeTool()], "a tool of type function with a name is expected")),
    tool_choice: toolChoice(z.object({ function: z.object({ name: z.string() }) })),
    parallel_tool_calls: lenient(z.boolean()),
    container: containerShape,
  }),
);
type ChatBody = z.infer<typeof chatBody>;

export interface ChatRequest {
  model: string;
  stream: boolean;
  /** Whether the last event of a stream reports the usage. */
  reports_usage: boolean;
  request: ModelRequest;
  /** Members without a canonical form: targets of the same protocol get them unchanged. */
  extra: JsonObject;
  /** Names of members that Hull sends to no target, because its answers cannot carry the result. */
  unsupported: readonly string[];
  /** The same members, for requests whose tools Hull executes. */
  passthrough: ProviderPassthrough;
  container: ContainerParams | null;
  /** The tools for code that the client asked for. */
  code: readonly ContainerTool[];
}

/** @throws InvalidRequest for a member that is missing, has another type, or is not accounted */
export function readChatRequest(body: JsonObject): ChatRequest {
  const unsupported = UNSUPPORTED.filter((name) => name in body && body[name] !== null);
  const further = membersOutside(body, chatBody, unsupported);
  // A stored completion never becomes part of a later request, as a stored response does.
  checkFurther(further, "store");
  const given = readShape(chatBody, body);
  const own = ownEffort(given.reasoning_effort);
  const extra = own === null ? further : { ...further, reasoning_effort: own };
  const { tool_choice: choice, parallel_tool_calls: parallel } = given;
  const { response_format: form, temperature, top_p, seed } = given;
  const { frequency_penalty, presence_penalty } = given;
  const { system, listed, messages, unanswered } = readChat(given.messages);
  checkAnswered(unanswered);
  return {
    model: given.model,
    stream: given.stream === true,
    reports_usage: given.stream_options?.include_usage === true,
    request: {
      ...systemPrompt(system, listed),
      ...(listed ? { system_listed: true as const } : {}),
      messages,
      tools: toolsOf(given.tools),
      ...callTerms({
        choice: typeof choice === "object" ? choice?.function : choice,
        parallel,
        limit: given.max_completion_tokens ?? given.max_tokens,
        format: form?.type === "json_schema" ? form.json_schema : form,
        effort: given.reasoning_effort,
        sampling: {
          temperature,
          top_p,
          seed,
          frequency_penalty,
          presence_penalty,
          stop: [given.stop ?? []].flat(),
        },
      }),
    },
    extra,
    unsupported,
    passthrough: { protocol: "openai-chat", body: extra, tools: [], headers: {} },
    container: readContainer(given.container),
    code: given.tools?.some((tool) => !("function" in tool)) === true ? ["bash_code_execution"] : [],
  };
}

/** The client's own functions. @throws InvalidRequest for a name that is taken */
function toolsOf(list: ChatBody["tools"]): ToolDefinition[] {
  const tools = (list ?? []).flatMap((tool, n) =>
    "function" in tool ? [{ path: `tools.${n}.function`, definition: functionTool(tool.function) }] : [],
  );
  checkToolNames(tools.map(({ path, definition: { name } }) => ({ name, path })));
  return tools.map(({ definition }) => definition);
}
