/** `POST /v1/responses`: OpenAI's responses with every provider. */
import { CallNotFound } from "../../../errors/llm.ts";
import { wrong } from "../../../llm/members.ts";
import { extraToolMembers } from "../../../llm/openai-api/client-tools.ts";
import {
  extraMemberNames,
  type ResponsesAsk,
  readResponses,
  responseRequest,
  withoutFile,
} from "../../../llm/openai-api/response-request.ts";
import { namesSkill, skillNamed } from "../../../llm/skill-model.ts";
import { servedSkill } from "../../../run/agent/skills.ts";
import { takesAnyFile } from "../../../run/agent/workspace-option.ts";
import {
  type Container,
  codeTerms,
  filesForUser,
  makeContainer,
  openContainer,
  removeContainer,
} from "../../../run/container.ts";
import { ignoredHeader, warningsHeader } from "../../../run/end-headers.ts";
import type { RunEvent } from "../../../run/events.ts";
import { operationInput } from "../../../run/operation.ts";
import { problemOf } from "../../../run/problem.ts";
import { ResponseEvents } from "../../../run/responses/events.ts";
import { checkFiles } from "../../../run/responses/inlined.ts";
import {
  hasShell,
  placeOf,
  type ResponseContainer,
  type ResponsesOperation,
  runResponse,
  takesFurther,
} from "../../../run/responses/perform.ts";
import type { VendorModel } from "../../../run/vendor-model.ts";
import type { Begun } from "../../../session/unlisted/rpc.ts";
import { isObject, objectOf } from "../../../skill/json.ts";
import { parsedJson } from "../../../skill/json-depth.ts";
import type { Json, JsonObject } from "../../../skill/manifest.ts";
import type { RequestContext } from "../../context.ts";
import { silentHandle } from "../../event-answer.ts";
import { takeInput } from "../../execution-client.ts";
import { idDigits, idempotencyKey, keyReused, requestHash } from "../../idempotency.ts";
import { listedAnswer } from "../../index-call.ts";
import { accountOf } from "../../llm/account.ts";
import { objectBody } from "../../operations.ts";
import { jsonNow } from "../../page.ts";
import { namedSkillHeaders } from "../../run-headers.ts";
import { formatted } from "../../sse.ts";
import { checkCodeAccess } from "../code-access.ts";
import { newContainer, termsOf } from "../containers/open.ts";
import { ignoredChoice, ignoredStrict, modelLookup, streamedAnswer } from "../model-call.ts";
import { historyOf, inputAfter } from "./history.ts";
import { responseExecution } from "./ids.ts";
import { renderEvent, renderResponse, showsReasoning } from "./render.ts";
import { ended, present, type StoredResponse, storedResponse, streamStored } from "./stored.ts";

/** Whether the request wants Hull to store the response, whose id then follows from the key. */
export function keepsResponse(body: Uint8Array): boolean {
  const parsed = parsedJson(new TextDecoder().decode(body));
  return !isObject(parsed) || parsed.store !== false;
}

/** `POST /v1/responses`. */
export async function createResponse(context: RequestContext): Promise<Response> {
  const body = await objectBody(context);
  const asked = readResponses(body);
  const code = asked.shell === null || asked.shell.type === "local" ? [] : ["shell"];
  checkCodeAccess(context, { code, container: null });
  // The object of a stored response notes it itself.
  const { model } = asked;
  if (!asked.store)
    return listedAnswer(context, { name: "responses", model }, (id) => passing(context, asked, { body, id }));
  const known = await answerKnown(context, asked, body);
  if (known !== null) return known;
  return stored(context, asked, { body, ...(await prepared(context, asked, body)) });
}

/** @throws HullError for a request that cannot be answered */
async function prepared(context: RequestContext, asked: ResponsesAsk, body: JsonObject): Promise<Made> {
  const open = await shellContainer(context, asked.shell, body.tools);
  const { found, ignored } = await checkModel(context, asked, body);
  const history = await historyOf(context, asked);
  const input = await inputAfter(context, history, asked, { asks: true });
  await checkFiles(context, input);
  const whole = [...history, ...input].map(withoutFile);
  if (responseRequest(body, whole).messages.length === 0) throw wrong("input", "a message is required");
  const place = await placeFor(context, asked, { open, items: [...history, ...input] });
  const container = place?.container ?? null;
  const digits = await idDigits(context, "responses");
  const request: ResponsesOperation & { account: string } = {
    operation: "responses",
    account: accountOf(context, null),
    body: storedBody(body, container),
    ...(found === null ? {} : { choice: found.choice }),
    head: headOf(body, asked, { id: `resp_${digits}`, container }),
    history,
    input,
    conversation: asked.conversation,
    container,
    local_shell: asked.shell?.type === "local",
    ...(asked.stream || asked.background ? {} : { silent: true }),
  };
  context.log.response = request.head.id ?? null;
  const headers = { ...ignoredHeader(ignored), ...warningsHeader(found?.choice.warnings ?? []) };
  return { request, headers, found, made: place?.made === true };
}

interface Made {
  request: ResponsesOperation & { account: string };
  headers: Record<string, string>;
  /** The model, looked up; `null`: the request names a skill. */
  found: VendorModel | null;
  /** The container was made for this response. */
  made: boolean;
}

/** The id under which the list of runs has a stored response. */
const executionId = ({ head }: Pick<ResponsesOperation, "head">): string =>
  `ex_${String(head.id).slice("resp_".length)}`;

/** Creates a response in an object of its own, which stores it. */
async function stored(
  context: RequestContext,
  asked: ResponsesAsk,
  { request, body, headers, made }: Made & { body: JsonObject },
): Promise<Response> {
  const execution = responseExecution(context, String(request.head.id));
  const id = executionId(request);
  const input = { text: operationInput(request), files: [] };
  const { text } = await takeInput(context, id, input, "responses");
  const request_hash = await requestHash(context, body);
  const begun = await execution.begin({ skill: "responses", digest: "", request_hash, text, files: [] });
  if (begun === "started") return answerBegun(context, asked, { begun, execution, request, headers });
  // Another request with the key was first, so its response and its container count.
  const first = begun === "other_request" ? null : await storedResponse(context, String(request.head.id));
  const { container } = request;
  if (made && container !== null && container.id !== first?.request.container?.id)
    context.background(removeContainer(context, container.id));
  if (first === null) throw keyReused(context);
  return answerBegun(context, asked, { begun, headers, ...first });
}

/** The earlier response of a request that has the same key; `null` if there is none. @throws IdempotencyKeyReused */
async function answerKnown(
  context: RequestContext,
  asked: ResponsesAsk,
  body: JsonObject,
): Promise<Response | null> {
  if (idempotencyKey(context.request) === null) return null;
  const id = `resp_${await idDigits(context, "responses")}`;
  const begun = await responseExecution(context, id).attach(await requestHash(context, body));
  if (begun === null) return null;
  const headers = { "x-hull-replayed": "1" };
  return answerBegun(context, asked, { begun, headers, ...(await storedResponse(context, id)) });
}

async function answerBegun(
  context: RequestContext,
  { stream, background, include, model }: ResponsesAsk,
  { begun, headers: own, ...response }: StoredResponse & { begun: Begun; headers: Record<string, string> },
): Promise<Response> {
  if (begun === "other_request") throw keyReused(context);
  context.log.execution = begun;
  const { execution, request } = response;
  const id = executionId(request);
  context.log.execution_id = id;
  const ran = await namedSkillHeaders(context, skillNamed(model));
  context.runHeaders = { "x-hull-execution-id": id, ...ran };
  const headers = { ...own, ...context.runHeaders };
  const reasoning = showsReasoning(include, true);
  if (stream) return streamStored(context, response, { after: -1, reasoning, early: true, headers });
  if (background) {
    const { document, endHeaders } =
      begun === "started" ? { document: request.head, endHeaders: {} } : await present(response);
    return jsonNow(context.redacted(renderResponse(document, reasoning)), 200, withEnd(headers, endHeaders));
  }
  const { document, endHeaders } = await ended(execution);
  return jsonNow(renderResponse(document, reasoning), 200, withEnd(headers, endHeaders));
}

/** The headers of a whole answer. @param end those that are known at its end: the call, too, may have left out members */
function withEnd(headers: Record<string, string>, end: Record<string, string>): Record<string, string> {
  const names = [headers, end].flatMap((one) => one["x-hull-ignored"]?.split(", ") ?? []);
  return { ...headers, ...end, ...ignoredHeader(names) };
}

/** Creates a response that is not stored. @param id of the call */
async function passing(
  context: RequestContext,
  asked: ResponsesAsk,
  { body, id }: { body: JsonObject; id: string },
): Promise<Response> {
  const { stream, include } = asked;
  const { request, headers, found } = await prepared(context, asked, body);
  const reasoning = showsReasoning(include, false);
  const left = new AbortController();
  const signal = AbortSignal.any([context.request.signal, left.signal]);
  const handle = { ...silentHandle(context, id, signal), streaming: stream };
  if (!stream) {
    const output = await runResponse(handle, request, found);
    const document: JsonObject = objectOf(output.done.response);
    const all = withEnd(headers, output.headers);
    return jsonNow(context.redacted(renderResponse(document, reasoning)), 200, all);
  }
  const events = new ResponseEvents(request.head, placeOf(request));
  const texts = (made: readonly JsonObject[]): string =>
    made.map((event) => formatted(context.redacted(renderEvent(event, reasoning)))).join("");
  return streamedAnswer(context, {
    headers,
    async run(write, reading) {
      reading.addEventListener("abort", () => left.abort(), { once: true });
      let begun = false;
      const started = (): void => {
        if (!begun) write(texts(events.begin()));
        begun = true;
      };
      const send = (event: RunEvent): void => {
        started();
        const text = texts(events.push(event));
        if (text !== "") write(text);
      };
      const watched = { ...handle, started, emit: async (event: RunEvent) => send(event) };
      const { done } = await runResponse(watched, request, found);
      send({ event: "done", data: { ok: true, ...done } });
    },
    failed: (error) => {
      events.push({ event: "error", data: problemOf(error, context) });
      return texts(events.push({ event: "done", data: { ok: false } }));
    },
  });
}

/**
 * Looks up the model, and names the parts of the request that do not reach its provider.
 * @throws HullError if no model can be chosen, or its provider is not configured
 */
async function checkModel(
  context: RequestContext,
  { model, shell }: ResponsesAsk,
  body: JsonObject,
): Promise<{ found: VendorModel | null; ignored: string[] }> {
  const further = extraMemberNames(body);
  const runs = namesSkill(model) || (shell !== null && shell.type !== "local");
  const tools = Array.isArray(body.tools) ? body.tools.filter(isObject) : [];
  const chosen = [...(runs ? ignoredChoice(body.tool_choice) : []), ...extraToolMembers(tools)];
  const lost = [...further, ...chosen, ...ignoredStrict(tools, null)];
  if (namesSkill(model)) return { found: null, ignored: lost };
  const found = await modelLookup(context, model, !runs)();
  const { protocol } = found.reached;
  const own = !runs && (takesFurther(protocol) || protocol === "mock");
  const strict = ignoredStrict(tools, runs ? null : protocol);
  return { found, ignored: [...(own ? [] : further), ...chosen, ...strict] };
}

/**
 * Checks the shell's terms and finds its skills.
 * @returns a function that creates the shell's container or opens the one that it names; `null`: Hull runs no shell
 * @throws InvalidRequest BundleInvalid SkillNotFound
 */
async function shellContainer(
  context: RequestContext,
  shell: ResponsesAsk["shell"],
  tools: Json | undefined,
): Promise<(() => Promise<Container>) | null> {
  if (shell === null || shell.type === "local") return null;
  const at = Array.isArray(tools) ? tools.findIndex((tool) => isObject(tool) && tool.type === "shell") : 0;
  if (context.settings.workspace_tools.enabled === "never")
    throw wrong(
      `tools.${at}`,
      'this deployment runs no code: its hull.toml says [workspace_tools] enabled = "never"',
    );
  if (shell.type === "container_reference") return () => openContainer(context, shell.container_id);
  return newContainer(context, shell, { path: `tools.${at}.environment`, about: { name: "" } });
}

/**
 * The container of the shell, or of a skill whose tools work on files, and whether it was made now.
 * @param open as of `shellContainer`
 * @param items the whole conversation
 * @throws CallNotFound SkillNotFound FileNotFound
 */
async function placeFor(
  context: RequestContext,
  { model, shell }: ResponsesAsk,
  { open, items }: { open: (() => Promise<Container>) | null; items: readonly JsonObject[] },
): Promise<{ container: ResponseContainer; made: boolean } | null> {
  const slug = skillNamed(model);
  const anywhere = slug !== null && takesAnyFile(context, await servedSkill(context, slug));
  if (open === null) {
    if (!anywhere) return null;
    const earlier = await containerBefore(context, items);
    const opened = earlier ?? (await makeContainer(context, []));
    const terms = codeTerms(opened.metadata);
    const before = await filesForUser(opened, { anywhere });
    const container = { id: opened.id, skills: [], terms, shell: false, anywhere, before };
    return { container, made: earlier === null };
  }
  const opened = await open();
  const before = await filesForUser(opened, { anywhere });
  const container = { id: opened.id, ...termsOf(opened), anywhere, before };
  return { container, made: shell?.type === "container_auto" };
}

/**
 * The container of the last call in the conversation that Hull ran; `null` if there is no such call, or its container is
 * gone.
 */
async function containerBefore(
  context: RequestContext,
  items: readonly JsonObject[],
): Promise<Container | null> {
  const ids = items.flatMap(({ type, environment }) => {
    const ran = type === "shell_call" && isObject(environment) && environment.type === "container_reference";
    return ran && typeof environment.container_id === "string" ? [environment.container_id] : [];
  });
  const last = ids.at(-1);
  if (last === undefined) return null;
  return openContainer(context, last).catch(CallNotFound.orNull);
}

/** The request in the form to store: the id of the container replaces its terms. */
function storedBody({ input: _, ...body }: JsonObject, container: ResponseContainer | null): JsonObject {
  return { ...body, tools: shownTools(body.tools, container) };
}

function shownTools(tools: Json | undefined, container: ResponseContainer | null): Json[] {
  if (!Array.isArray(tools)) return [];
  if (!hasShell(container)) return tools;
  const environment = { type: "container_reference", container_id: container.id };
  return tools.map((tool) => (isObject(tool) && tool.type === "shell" ? { ...tool, environment } : tool));
}

/** The response as it is when it begins. */
function headOf(
  body: JsonObject,
  { model, background, store, previous, conversation, metadata }: ResponsesAsk,
  { id, container }: { id: string; container: ResponseContainer | null },
): JsonObject {
  const { instructions = null, max_output_tokens = null, temperature = null, top_p = null } = body;
  const { parallel_tool_calls = true, tool_choice = "auto", reasoning, text, user } = body;
  return {
    id,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    completed_at: null,
    status: background ? "queued" : "in_progress",
    background,
    error: null,
    incomplete_details: null,
    instructions,
    max_output_tokens,
    model,
    output: [],
    parallel_tool_calls: parallel_tool_calls ?? true,
    previous_response_id: previous,
    conversation: conversation === null ? null : { id: conversation },
    reasoning: { effort: null, summary: null, ...objectOf(reasoning) },
    store,
    temperature,
    text: { format: { type: "text" }, ...objectOf(text) },
    tool_choice: tool_choice ?? "auto",
    tools: shownTools(body.tools, container),
    top_p,
    truncation: "disabled",
    usage: null,
    metadata,
    ...(typeof user === "string" ? { user } : {}),
  };
}
