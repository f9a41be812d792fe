/**
 * Stores what Hull ran in a turn that also called the client's own tools. A chat completion cannot show that, so it
 * stays in the container. The ids of the client's calls refer to it, so Hull finds it again when their results arrive.
 */
import * as z from "zod/mini";
import type { Message, ToolResultMessage } from "../../engine/messages.ts";
import { addResults, messageJson, messageShape, readMessages } from "../../llm/messages.ts";
import type { ChatRequest } from "../../llm/openai-api/request.ts";
import { type Container, openContainer } from "../../run/container.ts";
import type { WorkspaceAccess } from "../../run/workspace/access.ts";
import { readContent, writeFile } from "../../run/workspace/store.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { RequestContext } from "../context.ts";
import { refusalOf } from "../sessions/files.ts";

/** An id for the client: the container, the name of the stored turn, and the model's own id. */
const STORED_TURN_ID = /^(container_01[0-9a-f]{32})\.([0-9a-f]{32})\.(.+)$/s;
const pathOf = (name: string): string => `.hull/turns/${name}.json`;

/**
 * Stores the messages of a run; returns the function that makes the client's ids for its calls.
 * @throws WorkspaceFull BadPath if the container cannot hold them
 */
export async function storeTurns(
  context: RequestContext,
  { id, workspace }: Container,
  messages: readonly Message[],
): Promise<(call: string) => string> {
  const name = crypto.randomUUID().replaceAll("-", "");
  const bytes = new TextEncoder().encode(JSON.stringify(context.redacted(messages.flatMap(messageJson))));
  const path = pathOf(name);
  const intent = { path, expected: null, size: bytes.length };
  const outcome = await writeFile(context.env.FILES, workspace, intent, [bytes]);
  if ("refused" in outcome) throw refusalOf(outcome, path);
  return (call) => `${id}.${name}.${call}`;
}

/** The request with the stored messages inserted, and their container. @throws CallNotFound for an unknown container */
export async function withStoredTurns(context: RequestContext, asked: ChatRequest): Promise<ChatRequest> {
  const { messages } = asked.request;
  if (!messages.some((message) => storedTurnOf(message) !== null)) return asked;
  const containers = new Map<string, Container>();
  const whole: Message[] = [];
  let id = asked.container?.id ?? null;
  /** Whether the message before refers to a stored turn. */
  let follows = false;
  for (const message of messages) {
    const kept = storedTurnOf(message);
    if (kept !== null) {
      const container = containers.get(kept.container) ?? (await openContainer(context, kept.container));
      containers.set(kept.container, container);
      id ??= container.id;
      whole.push(...((await readTurns(context, container.workspace, kept.name)) ?? [withOwnIds(message)]));
    } else if (follows && message.role === "tool") {
      addResults(whole, message.results.map(withOwnId));
    } else whole.push(message);
    follows = kept !== null;
  }
  const { container } = asked;
  const params = container === null ? { skills: [], includes_files: false } : container;
  return { ...asked, container: { ...params, id }, request: { ...asked.request, messages: whole } };
}

/** The stored turn that a client's message refers to; `null` if it refers to none. */
function storedTurnOf(message: Message): { container: string; name: string } | null {
  if (message.role !== "assistant") return null;
  for (const block of message.content) {
    const [, container, name] = (block.type === "tool_call" ? STORED_TURN_ID.exec(block.id) : null) ?? [];
    if (container !== undefined && name !== undefined) return { container, name };
  }
  return null;
}

const ownId = (id: string): string => STORED_TURN_ID.exec(id)?.[3] ?? id;
const withOwnId = (result: ToolResultMessage): ToolResultMessage => ({
  ...result,
  call_id: ownId(result.call_id),
});

function withOwnIds(message: Message): Message {
  if (message.role !== "assistant") return message;
  const content = message.content.map((block) =>
    block.type === "tool_call" ? { ...block, id: ownId(block.id) } : block,
  );
  return { ...message, content };
}

const turnsShape = z.lazy(() => z.array(messageShape));

/** The stored messages; `null` if they are gone, or if a command in the container overwrote them. */
async function readTurns(
  { env }: RequestContext,
  workspace: WorkspaceAccess,
  name: string,
): Promise<Message[] | null> {
  const file = await workspace.findFile(pathOf(name));
  const bytes = file === null ? null : await readContent(env.FILES, file);
  const kept = turnsShape.safeParse(bytes === null ? null : parsedJson(new TextDecoder().decode(bytes)));
  return kept.success ? readMessages(kept.data).messages : null;
}
