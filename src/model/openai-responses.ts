/**
 * The OpenAI Responses protocol: turns the canonical request into a body. The provider stores nothing, so each request
 * contains the conversation (`openai-responses-input.ts`). `openai-responses-answer.ts` reads the answer.
 */

import type {
  FunctionTool,
  NamespaceTool,
  ResponseCreateParamsBase,
  ResponseTextConfig,
  Tool,
  ToolChoiceFunction,
  ToolChoiceOptions,
} from "openai/resources/responses/responses";
import { firstOf } from "../cut.ts";
import type { ModelRequest, ToolChoice, ToolDefinition } from "../engine/messages.ts";
import { present } from "../skill/json.ts";
import { mentionsJson, withJsonWord } from "./json-instruction.ts";
import { parallelCalls } from "./openai-chat.ts";
import { parseResponse } from "./openai-responses-answer.ts";
import { responsesInput, type WireItem } from "./openai-responses-input.ts";
import { createResponsesStream } from "./openai-responses-stream.ts";
import { rootObject } from "./root-schema.ts";
import { sendableName, type Wire, type WireTarget } from "./wire.ts";

export const openAiResponses: Wire = {
  framing: "sse",
  body: responsesBody,
  parse: parseResponse,
  stream: createResponsesStream,
};

type WireBody = Omit<ResponseCreateParamsBase, "input"> & { input: WireItem[] };

function responsesBody(request: ModelRequest, target: WireTarget, stream: boolean): WireBody {
  const { sampling = {}, thinking } = request;
  const format = textFormat(request);
  const system = format?.type === "json_object" ? withJsonWord(request) : request.system;
  const reasons = thinking !== undefined || target.capabilities.reasoning_effort_supported === true;
  return {
    model: target.model,
    ...(system.trim() === "" ? {} : { instructions: system }),
    input: responsesInput(request, target),
    max_output_tokens: request.max_tokens,
    ...toolMembers(request),
    ...parallelCalls(request),
    ...present({ temperature: sampling.temperature, top_p: sampling.top_p, text: format && { format } }),
    ...(thinking?.mode === "effort" ? { reasoning: { effort: thinking.level } } : {}),
    store: false,
    // Without storage, reasoning goes back in a form that only the provider can read.
    ...(reasons ? { include: ["reasoning.encrypted_content" as const] } : {}),
    ...(stream ? { stream: true } : {}),
  };
}

function textFormat(request: ModelRequest): ResponseTextConfig["format"] {
  const { json, json_as_text, schema } = request;
  if (!json) return undefined;
  if (json_as_text === true) return mentionsJson(request) ? { type: "json_object" } : undefined;
  if (schema === undefined) return { type: "json_object" };
  return { type: "json_schema", name: "response", ...schema };
}

function toolMembers(request: ModelRequest): Pick<WireBody, "tools" | "tool_choice"> {
  const { tools, tool_choice, tool_search } = request;
  if (tools.length === 0) return {};
  const declared = tool_search === undefined ? tools.map(functionTool) : searchableTools(tools);
  return { tools: declared, ...(tool_choice === undefined ? {} : { tool_choice: toolChoice(tool_choice) }) };
}

function toolChoice(choice: ToolChoice): ToolChoiceOptions | ToolChoiceFunction {
  return typeof choice === "object" ? { type: "function", name: sendableName(choice.name) } : choice;
}

const functionTool = (tool: ToolDefinition): FunctionTool => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  parameters: rootObject(tool.parameters),
  strict: tool.strict === true,
  ...(tool.defer_loading === true ? { defer_loading: true } : {}),
});

/** The search first, then tools without a namespace, then each namespace with its tools. */
function searchableTools(tools: readonly ToolDefinition[]): Tool[] {
  const groups = Map.groupBy(tools, ({ namespace }) => namespace);
  const named = Array.from(groups).flatMap(([name, members]) =>
    name === undefined ? [] : [namespaceTool(name, members)],
  );
  return [{ type: "tool_search" }, ...(groups.get(undefined) ?? []).map(functionTool), ...named];
}

/** A namespace as a tool. The model sees its name and description before it searches. */
function namespaceTool(name: string, tools: readonly ToolDefinition[]): NamespaceTool {
  const names = tools.map((tool) => tool.name).join(", ");
  const description = firstOf(`The tools of ${name}: ${names}`, 1000);
  return { type: "namespace", name, description, tools: tools.map(functionTool) };
}
