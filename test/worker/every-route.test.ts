/** An example for every fixed route: Hull answers it, and both request and answer match the OpenAPI document. */

import { dereference, validate } from "@cfworker/json-schema";
import { beforeAll, describe, expect, it } from "vitest";
import { openapiDocument } from "../../src/api/document.ts";
import { sha256 } from "../../src/bytes.ts";
import { FIXED_ROUTES, type OperationId } from "../../src/skill/fixed-routes.ts";
import { isObject, objectOf } from "../../src/skill/json.ts";
import type { Json, JsonObject } from "../../src/skill/manifest.ts";
import { packTar } from "../../src/skill/tar.ts";
import { makeZip } from "../support/zip.ts";
import { Client, entry, LOCAL, mockSkill } from "./served.ts";

const client = new Client(
  {
    ...LOCAL,
    HULL_LLM: '{"llm":{"mock_routes":true,"aliases":{"mocked":{"id":"m","provider":"mock"}}}}',
  },
  { documents: true },
);
const bytes = (text: string) => new Uint8Array(new TextEncoder().encode(text));
const HOOKS =
  'export const draw = () => ({ __artifact__: true, id: "page", type: "html", title: "Page", content: "<p>" });';
const TAR = packTar([entry(`blob/${await sha256(bytes("a blob"))}`, bytes("a blob"))]);
const ZIP = await makeZip([{ name: "up/SKILL.md", content: mockSkill("up") }]);
const DIGEST = await sha256(TAR);

interface Example {
  path: string;
  /** JSON, or bytes with their type. */
  body?: Json;
  raw?: Uint8Array;
  type?: string;
  headers?: Record<string, string>;
  /** Asks for events: the body is not read, since some streams never end. */
  events?: true;
  /** The status if it is no success: the runner or an MCP server is missing, or a browser is redirected. */
  status?: 503 | 404 | 303;
  /** Path of a call that has to come before. */
  after?: string;
}
const at = (path: string, body?: Json, more: Partial<Example> = {}): Example => ({
  path,
  ...(body === undefined ? {} : { body }),
  ...more,
});
const raw = (path: string, sent: Uint8Array | string, type: string): Example => ({
  path,
  raw: typeof sent === "string" ? bytes(sent) : sent,
  type,
});

/** What earlier examples made. */
const made: Record<string, string> = {};
const MOCK = { provider: "mock" };
const ASK = { name: "ask", description: "Asks a person.", parameters: { q: { type: "string" } } };
const DRAW = { name: "draw", description: "Draws.", handler: "draw", parameters: {} };

/** Waits for a person, then for an event. */
const FLOW = {
  entry: "w",
  nodes: { w: { kind: "wait", wait: { approval: "Go?" } }, e: { kind: "wait", wait: { event: "never" } } },
  edges: [{ from: "w", to: "e" }],
};
const SKILL = "skill/artist";
const SAID = [{ role: "user", content: "Hello." }];
const FIELDS = "application/x-www-form-urlencoded";
const FORM = "multipart/form-data; boundary=edge";
/** A form with one file. */
const part = (field: string, filename: string, content: string): string =>
  `--edge\r\nContent-Disposition: form-data; name="${field}"; filename="${filename}"\r\n\r\n${content}\r\n--edge--\r\n`;
const FOX = part("files[]", "fox/SKILL.md", "---\nname: fox\ndescription: Finds foxes.\n---\nLook.\n");

/** In the order in which they are run. */
const EXAMPLES: [OperationId, () => Example][] = [
  ["index", () => at("/", undefined, { headers: { accept: "application/json" } })],
  ["consolePage", () => at("/console/skills/artist")],
  ["consoleForm", () => ({ ...raw("/console/skills/artist/try", "text=Hello.", FIELDS), status: 303 })],
  ["showSignIn", () => at("/console/sign-in?next=/docs")],
  ["signIn", () => ({ ...raw("/console/sign-in", "key=x&next=/docs", FIELDS), status: 303 })],
  ["signOut", () => ({ ...raw("/console/sign-out", "token=", FIELDS), status: 303 })],
  ["healthz", () => at("/healthz")],
  ["readyz", () => at("/readyz", undefined, { status: 503 })],
  ["metrics", () => at("/metrics")],
  ["openapi", () => at("/openapi.json")],
  ["docs", () => at("/docs")],
  ["docsFile", () => at("/docs/start.js")],
  ["listSkills", () => at("/skills?limit=1&q=artist&mode=llm")],
  ["getCard", () => at("/skills/artist/card")],
  ["listVersions", () => at("/skills/artist/versions")],
  ["getConfig", () => at("/skills/artist/config")],
  ["putConfig", () => at("/skills/artist/config", { tools: {} })],
  ["uploadFile", () => raw("/files?filename=a.txt", "some text", "text/plain")],
  ["getFile", () => at(`/files/${made.file}`)],
  ["deleteFile", () => at(`/files/${made.file}`)],
  ["getExecution", () => at(`/executions/${made.execution}`)],
  ["getExecutionResult", () => at(`/executions/${made.execution}/result`)],
  ["getExecutionEvents", () => at(`/executions/${made.execution}/events`, undefined, { events: true })],
  ["traceExecution", () => at(`/executions/${made.execution}/trace`)],
  ["listAllRuns", () => at("/runs?limit=5&kind=call")],
  ["getRunFigures", () => at("/runs/figures")],
  ["getIndexedRun", () => at(`/runs/${made.execution}`)],
  ["deleteExecution", () => at(`/executions/${made.execution}`)],
  ["listObjects", () => at("/_hull/bundles")],
  ["putObjects", () => raw(`/_hull/bundles/${DIGEST}`, TAR, "application/x-tar")],
  ["getServedCatalog", () => at("/_hull/catalog")],
  ["publishCatalog", () => at("/_hull/catalog", { id: made.catalog ?? "" })],
  ["getPublishedSkill", () => at("/_hull/catalog/artist")],
  ["putSkill", () => raw("/_hull/skills/up", ZIP, "application/zip")],
  ["listUploads", () => at("/_hull/skills")],
  ["deleteSkill", () => at("/_hull/skills/up")],
  ["addKey", () => at("/admin/keys", { tenant: "acme", scopes: ["invoke"], name: "CI" })],
  ["listKeys", () => at("/admin/keys")],
  ["revokeKey", () => at(`/admin/keys/${made.key}`)],
  ["listMcpServers", () => at("/admin/mcp")],
  [
    "beginMcpLogin",
    () => at("/admin/mcp/none/login", { redirect_uri: "http://127.0.0.1:8976/callback" }, { status: 404 }),
  ],
  ["finishMcpLogin", () => at("/admin/mcp/none/login", { login: "v1.", answer: "" }, { status: 404 })],
  ["endMcpLogin", () => at("/admin/mcp/none/login", undefined, { status: 404 })],
  [
    "mcp",
    () =>
      at(
        "/mcp",
        { jsonrpc: "2.0", id: 1, method: "tools/list" },
        {
          headers: { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" },
        },
      ),
  ],
  ["runAgent", () => at("/runs", { prompt: "Greet Ada.", options: { ...MOCK, max_iterations: 3 } })],
  ["callModel", () => at("/llm/call", { prompt: "Who are you?", options: { ...MOCK, max_tokens: 50 } })],
  ["streamModel", () => at("/llm/stream", { prompt: "Who are you?", options: MOCK }, { events: true })],
  [
    "callStructured",
    () =>
      at("/llm/structured", {
        prompt: "How old is Ada?",
        schema: { type: "object", properties: { age: { type: "integer" } }, required: ["age"] },
        options: { mock: [{ text: '{"age": 36}' }] },
      }),
  ],
  ["completeText", () => at("/llm/completion", { prefix: "add(", suffix: ")", options: MOCK })],
  ["getModelInfo", () => at("/llm/info")],
  ["listModels", () => at("/llm/models?id=frontier")],
  ["resolveModel", () => at("/llm/resolve?model=frontier")],
  ["inferProvider", () => at("/llm/infer?model=gpt-4o")],
  ["tierOfModel", () => at("/llm/tier?model=gpt-4o")],
  ["pickModel", () => at("/llm/pick?target=frontier")],
  ["priceTokens", () => at("/llm/cost?model=gpt-4o&input_tokens=1000")],
  ["getCapabilities", () => at("/llm/capabilities?provider=openai&model=gpt-4o")],
  [
    "putCapabilities",
    () =>
      raw(
        "/llm/capabilities",
        '[[provider.openai]]\nmodel_match = "own-*"\nvision = true\n',
        "application/toml",
      ),
  ],
  ["deleteCapabilities", () => at("/llm/capabilities")],
  ["listProviders", () => at("/llm/providers")],
  ["listAvailableProviders", () => at("/llm/providers/available")],
  ["getProvider", () => at("/llm/providers/openai")],
  ["checkProvider", () => at("/llm/providers/mock/health")],
  ["getUsage", () => at("/usage?group_by=model")],
  ["putBudget", () => at("/budgets/skill:artist", { window: "day", max_cost_usd: 5 })],
  ["getBudget", () => at("/budgets/skill:artist")],
  ["listBudgets", () => at("/budgets")],
  ["deleteBudget", () => at("/budgets/skill:artist")],
  ["getTotalUsage", () => at("/llm/usage")],
  ["putRateLimit", () => at("/llm/rate-limit/openai", { rpm: 10 })],
  ["getRateLimit", () => at("/llm/rate-limit/openai")],
  ["queueMocks", () => at("/llm/mocks", { text: "queued" }, { headers: { "x-hull-mock-scope": "own" } })],
  ["listMockCalls", () => at("/llm/mocks/calls", undefined, { headers: { "x-hull-mock-scope": "own" } })],
  ["clearMocks", () => at("/llm/mocks", undefined, { headers: { "x-hull-mock-scope": "own" } })],
  [
    "operateOnTranscript",
    () => at("/transcripts/stats", { messages: [{ role: "user", content: "Hello." }] }),
  ],
  ["openSession", () => at("/sessions", { id: "example", metadata: { about: "examples" } })],
  ["getSessionCost", () => at("/llm/session-cost?session_id=example")],
  ["putSoftBudget", () => at("/llm/budget?session_id=example", { max_cost: 1 })],
  ["getSoftBudget", () => at("/llm/budget?session_id=example")],
  ["deleteSoftBudget", () => at("/llm/budget?session_id=example")],
  ["listSessions", () => at("/sessions")],
  ["getSession", () => at("/sessions/example")],
  ["sessionExists", () => at("/sessions/example/exists")],
  [
    "startRun",
    () =>
      at("/sessions/example/runs?wait=idle", {
        prompt: "Draw, then ask.",
        options: {
          ...MOCK,
          skills: ["artist"],
          tools: [ASK, DRAW],
          approval_policy: { require_approval: ["ask"] },
          mock: [
            { tool_calls: [{ name: "draw", arguments: {} }] },
            { tool_calls: [{ name: "ask", arguments: { q: "Who?" } }] },
            { text: "Done." },
          ],
        },
      }),
  ],
  ["listApprovals", () => at("/sessions/example/approvals")],
  [
    "decideApproval",
    () =>
      at(`/sessions/example/approvals/${made.approval}`, {
        decision: "approve",
        arguments_digest: made.arguments ?? "",
      }),
  ],
  ["listRuns", () => at("/sessions/example/runs")],
  ["getRun", () => at(`/sessions/example/runs/${made.run}`)],
  [
    "answerToolCall",
    () => at("/sessions/example/tool-results", { tool_call_id: made.call ?? "", content: "Ada" }),
  ],
  ["traceRun", () => at(`/sessions/example/runs/${made.run}/trace`)],
  ["followRun", () => at(`/sessions/example/runs/${made.run}/events`, undefined, { events: true })],
  ["cancelRun", () => at(`/sessions/example/runs/${made.run}/cancel`, {})],
  ["listArtifacts", () => at("/sessions/example/artifacts")],
  ["getArtifact", () => at("/sessions/example/artifacts/page?version=1")],
  ["sessionLength", () => at("/sessions/example/length")],
  ["sessionAncestry", () => at("/sessions/example/ancestry")],
  ["listMessages", () => at("/sessions/example/messages?limit=2")],
  ["sendMessage", () => at("/sessions/example/messages", { content: "And then?" })],
  ["sendFeedback", () => at("/sessions/example/feedback", { kind: "hint", content: "Be brief." })],
  ["getTranscript", () => at("/sessions/example/transcript?view=raw")],
  ["getCassette", () => at("/sessions/example/cassette")],
  ["listSessionEvents", () => at("/sessions/example/events/list?event=start&limit=2")],
  ["followSession", () => at("/sessions/example/events?after=0", undefined, { events: true })],
  ["putSessionFile", () => raw("/sessions/example/files/notes/a.txt", "a note", "text/plain")],
  ["listSessionFiles", () => at("/sessions/example/files")],
  ["getSessionFile", () => at("/sessions/example/files/notes/a.txt")],
  ["deleteSessionFile", () => at("/sessions/example/files/notes/a.txt")],
  ["injectMessage", () => at("/sessions/example/inject", { message: { role: "user", content: "Hi." } })],
  ["compactSession", () => at("/sessions/example/compact", { strategy: "truncate", keep_last: 1 })],
  ["trimSession", () => at("/sessions/example/trim", { keep_last: 2 })],
  ["forkSession", () => at("/sessions/example/fork", { dst: "fork" })],
  ["forkSessionAt", () => at("/sessions/example/fork-at", { keep_first: 1, dst: "fork-at" })],
  ["archiveSession", () => at("/sessions/fork/archive", {})],
  ["resumeSession", () => at("/sessions/fork/resume", {})],
  ["abandonSession", () => at("/sessions/fork/abandon", {})],
  ["closeSession", () => at("/sessions/fork-at/close", {})],
  ["resetSession", () => at("/sessions/example/reset", {})],
  ["deleteSession", () => at("/sessions/example")],
  ["spawnDaemon", () => at("/daemons", { task: "Count the mails.", ...MOCK, persist_path: "mails" })],
  ["listDaemons", () => at("/daemons")],
  ["getDaemon", () => at(`/daemons/${made.daemon}`)],
  ["listDaemonWakes", () => at(`/daemons/${made.daemon}/wakes?limit=5`)],
  ["sendEvent", () => at(`/daemons/${made.daemon}/events`, { mail: 17 })],
  ["wakeDaemon", () => at(`/daemons/${made.daemon}/wake`, {})],
  ["stopDaemon", () => at(`/daemons/${made.daemon}/stop`, {})],
  ["resumeDaemonAt", () => at("/daemons/resume", { persist_path: "mails" })],
  ["resumeDaemon", () => at(`/daemons/${made.daemon}/resume`, {}, { after: `/daemons/${made.daemon}/stop` })],
  ["deleteDaemon", () => at(`/daemons/${made.daemon}`)],
  ["spawnTask", () => at("/tasks", { task: "Count.", node: { kind: "stage", model_policy: MOCK } })],
  ["listTasks", () => at("/tasks")],
  ["waitForTasks", () => at("/tasks/wait", { ids: [made.task ?? ""] })],
  ["getTask", () => at(`/tasks/${made.task}`)],
  ["inputTask", () => at(`/tasks/${made.task}/input`, { task: "Count on." })],
  ["closeTask", () => at(`/tasks/${made.task}/close`, {})],
  ["resumeTask", () => at("/tasks/resume", { id: made.task ?? "" })],
  ["triggerTask", () => at(`/tasks/${made.cycles}/trigger`, { payload: 17 })],
  ["runSubAgent", () => at("/sub-agents", { task: "Look.", options: MOCK })],
  ["validateWorkflow", () => at("/workflows/validate", { graph: FLOW })],
  ["putWorkflow", () => at("/workflows/flow", { graph: FLOW })],
  ["listWorkflows", () => at("/workflows")],
  ["getWorkflow", () => at("/workflows/flow")],
  ["getSkillWorkflow", () => at("/workflows/artist/paint")],
  ["operateOnWorkflow", () => at("/workflows/inspect", { graph: FLOW })],
  ["executeWorkflow", () => at("/workflows/execute?wait=none", { task: "Wait.", workflow: "flow" })],
  ["listWorkflowRuns", () => at("/workflows/runs")],
  ["getWorkflowRun", () => at(`/workflows/runs/${made.flow}`)],
  ["followWorkflowRun", () => at(`/workflows/runs/${made.flow}/events`, undefined, { events: true })],
  ["pauseWorkflowRun", () => at(`/workflows/runs/${made.flow}/pause`, {})],
  ["resumeWorkflowRun", () => at(`/workflows/runs/${made.flow}/resume`, {})],
  [
    "decideWorkflowApproval",
    () => at(`/workflows/runs/${made.flow}/approvals`, { node: "w", decision: "approve" }),
  ],
  ["signalWorkflowRun", () => at(`/workflows/runs/${made.flow}/signals`, { name: "later" })],
  ["migrateWorkflowRun", () => at(`/workflows/runs/${made.flow}/migrate`, { workflow: "flow" })],
  ["cancelWorkflowRun", () => at(`/workflows/runs/${made.flow}/cancel`, {})],
  ["forkWorkflowRun", () => at(`/workflows/runs/${made.flow}/fork?wait=none`, { from: "e" })],
  ["killWorkflowRun", () => at(`/workflows/runs/${made.forked}/kill`, {})],
  ["deleteWorkflowRun", () => at(`/workflows/runs/${made.flow}`)],
  ["deleteWorkflow", () => at("/workflows/flow")],
  ["getLlmsText", () => at("/llms.txt")],
  ["getDiscoveryIndex", () => at("/.well-known/agent-skills/index.json")],
  ["getDiscoveryArchive", () => at("/.well-known/agent-skills/artist.zip")],
  ["getDiscoveryFile", () => at("/.well-known/agent-skills/artist/SKILL.md")],
  ["createMessage", () => at("/v1/messages", { model: SKILL, max_tokens: 50, messages: SAID })],
  ["countMessageTokens", () => at("/v1/messages/count_tokens", { model: SKILL, messages: SAID })],
  ["createChatCompletion", () => at("/v1/chat/completions", { model: SKILL, messages: SAID })],
  ["createResponse", () => at("/v1/responses", { model: SKILL, input: "Hello." })],
  ["countResponseTokens", () => at("/v1/responses/input_tokens", { model: SKILL, input: "Hello." })],
  ["compactResponse", () => at("/v1/responses/compact", { model: "mocked", input: "Hello." })],
  ["getResponse", () => at(`/v1/responses/${made.response}`)],
  ["listResponseInput", () => at(`/v1/responses/${made.response}/input_items`)],
  ["cancelResponse", () => at(`/v1/responses/${made.later}/cancel`)],
  ["deleteResponse", () => at(`/v1/responses/${made.response}`)],
  ["createConversation", () => at("/v1/conversations", { items: SAID })],
  ["getConversation", () => at(`/v1/conversations/${made.conversation}`)],
  ["updateConversation", () => at(`/v1/conversations/${made.conversation}`, { metadata: { a: "b" } })],
  ["createConversationItems", () => at(`/v1/conversations/${made.conversation}/items`, { items: SAID })],
  ["listConversationItems", () => at(`/v1/conversations/${made.conversation}/items`)],
  ["getConversationItem", () => at(`/v1/conversations/${made.conversation}/items/${made.item}`)],
  ["deleteConversationItem", () => at(`/v1/conversations/${made.conversation}/items/${made.item}`)],
  ["deleteConversation", () => at(`/v1/conversations/${made.conversation}`)],
  ["createContainer", () => at("/v1/containers", { name: "box" })],
  ["listContainers", () => at("/v1/containers")],
  ["getContainer", () => at(`/v1/containers/${made.container}`)],
  [
    "createContainerFile",
    () => raw(`/v1/containers/${made.container}/files`, part("file", "note.txt", "A note."), FORM),
  ],
  ["listContainerFiles", () => at(`/v1/containers/${made.container}/files`)],
  ["getContainerFile", () => at(`/v1/containers/${made.container}/files/${made.inside}`)],
  ["getContainerFileContent", () => at(`/v1/containers/${made.container}/files/${made.inside}/content`)],
  ["deleteContainerFile", () => at(`/v1/containers/${made.container}/files/${made.inside}`)],
  ["deleteContainer", () => at(`/v1/containers/${made.container}`)],
  ["listV1Models", () => at("/v1/models")],
  ["getV1Model", () => at(`/v1/models/${SKILL}`)],
  ["createStoredSkill", () => raw("/v1/skills", FOX, FORM)],
  ["listStoredSkills", () => at("/v1/skills")],
  ["getStoredSkill", () => at(`/v1/skills/${made.stored}`)],
  ["createStoredSkillVersion", () => raw(`/v1/skills/${made.stored}/versions`, FOX, FORM)],
  ["listStoredSkillVersions", () => at(`/v1/skills/${made.stored}/versions`)],
  ["updateStoredSkill", () => at(`/v1/skills/${made.stored}`, { default_version: "2" })],
  ["getStoredSkillContent", () => at(`/v1/skills/${made.stored}/content`)],
  ["getStoredSkillVersion", () => at(`/v1/skills/${made.stored}/versions/1`)],
  ["getStoredSkillVersionContent", () => at(`/v1/skills/${made.stored}/versions/1/content`)],
  ["deleteStoredSkillVersion", () => at(`/v1/skills/${made.stored}/versions/1`)],
  ["deleteStoredSkill", () => at(`/v1/skills/${made.stored}`)],
  ["createStoredFile", () => raw("/v1/files", part("file", "note.txt", "A note."), FORM)],
  ["listStoredFiles", () => at("/v1/files")],
  ["getStoredFile", () => at(`/v1/files/${made.file_kept}`)],
  ["getStoredFileContent", () => at(`/v1/files/${made.file_kept}/content`)],
  ["deleteStoredFile", () => at(`/v1/files/${made.file_kept}`)],
];

/** What later examples need of an answer. */
function note(id: OperationId, answer: JsonObject): void {
  const first = Array.isArray(answer.data) ? objectOf(answer.data[0]) : {};
  if (id === "uploadFile") made.file = String(answer.id);
  if (id === "addKey") made.key = String(answer.id);
  if (id === "startRun") made.run = String(answer.run_id);
  if (id === "createStoredSkill") made.stored = String(answer.id);
  if (id === "createResponse") made.response = String(answer.id);
  if (id === "createConversation") made.conversation = String(answer.id);
  if (id === "createConversationItems") made.item = String(first.id);
  if (id === "createContainer") made.container = String(answer.id);
  if (id === "createContainerFile") made.inside = String(answer.id);
  if (id === "createStoredFile") made.file_kept = String(answer.id);
  if (id === "spawnTask") made.task = String(answer.id);
  if (id === "executeWorkflow") made.flow = String(objectOf(answer.run).id);
  if (id === "forkWorkflowRun") made.forked = String(objectOf(answer.run).id);
  if (id === "spawnDaemon") made.daemon = String(answer.id);
  if (id !== "listApprovals") return;
  made.approval = String(first.id);
  made.call = String(first.tool_call_id);
  made.arguments = String(first.arguments_digest);
}

const document = openapiDocument("1");
/** The schemas by their places in the document: finding them takes longer than checking a value. */
const places = dereference(document);
const resolved = (value: Json | undefined): JsonObject => {
  const { $ref } = objectOf(value);
  if (typeof $ref !== "string") return objectOf(value);
  return $ref
    .slice(2)
    .split("/")
    .reduce((here, name) => objectOf(here[name]), document);
};

/** The faults of a value, by the schema of a media type. */
function faultsOf(media: Json | undefined, value: unknown): string[] {
  const schema = objectOf(objectOf(media).schema);
  const { valid, errors } = validate(value, schema, "2020-12", places, false);
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).slice(-5);
}

/** The schemas that say something of a value: the schema itself, and those that it refers to and that the value fits. */
function partsOf(schema: JsonObject, value: Json): JsonObject[] {
  const { $ref, allOf, anyOf, oneOf } = schema;
  const fits = [anyOf ?? oneOf ?? []].flat().filter((part) => faultsOf({ schema: part }, value).length === 0);
  const parts = [$ref === undefined ? [] : resolved(schema), allOf ?? [], fits].flat();
  return [schema, ...parts.flatMap((part) => partsOf(objectOf(part), value))];
}

/** Where a value has members that none of its schemas names, although one of them names others. */
function unnamed(schemas: JsonObject[], value: Json, path = ""): string[] {
  const parts = schemas.flatMap((schema) => partsOf(schema, value));
  if (Array.isArray(value)) {
    const items = parts.flatMap((part) => (isObject(part.items) ? [part.items] : []));
    return value.flatMap((item, n) => unnamed(items, item, `${path}/${n}`));
  }
  if (!isObject(value) || parts.every(({ properties }) => properties === undefined)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const of = parts.flatMap(({ properties, additionalProperties: more }) => {
      const known = objectOf(properties)[name] ?? (more === true ? {} : more);
      return isObject(known) ? [known] : [];
    });
    return of.length === 0 ? [`${path}/${name}`] : unnamed(of, member, `${path}/${name}`);
  });
}

/** Requests that read only a part of a file, or nothing if the client has it. */
const CONDITIONS: RequestInit[] = [
  { headers: { range: "bytes=0-0" } },
  { headers: { "if-none-match": "*" } },
];
/** Bodies that no route takes as JSON. */
const REFUSED: RequestInit[] = [{ headers: { "content-encoding": "gzip" } }, { body: "{" }];

beforeAll(async () => {
  made.catalog = await client.publish(
    { artist: mockSkill("artist") },
    {
      "hooks.js": bytes(HOOKS),
      "workflows/paint.yaml": bytes("act: {prompt: Paint.}"),
    },
  );
  const run = await client.fetch("/skills/artist", {
    method: "POST",
    body: "Hello.",
    headers: { "idempotency-key": "example" },
  });
  made.execution = run.headers.get("x-hull-execution-id") ?? "";
  const later = await client.post("/v1/responses", { model: SKILL, input: "Hello.", background: true });
  made.later = (await later.json<{ id: string }>()).id;
  const cycles = { task: "Watch.", node: { model_policy: MOCK }, carry: { retriggerable: true } };
  const task = await (await client.post("/tasks", cycles)).json<{ id: string }>();
  made.cycles = task.id;
});

describe("every fixed route", () => {
  it("has an example", () => {
    const ids = EXAMPLES.map(([id]) => id);
    expect(ids.toSorted()).toEqual(FIXED_ROUTES.map(([id]) => id).toSorted());
  });

  it.each(EXAMPLES)("%s answers as documented", async (id, example) => {
    const [, method = "GET", route = ""] = FIXED_ROUTES.find(([name]) => name === id) ?? [];
    const path = route.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
    const operation = resolved(objectOf(objectOf(document.paths)[path])[method.toLowerCase()]);
    const {
      path: url,
      body,
      raw: sent,
      type = "application/json",
      headers,
      events,
      status,
      after,
    } = example();
    if (after !== undefined) await client.post(after, {});
    const takes = objectOf(resolved(operation.requestBody).content);
    if (body !== undefined) expect(faultsOf(takes[type], body)).toEqual([]);
    const given = sent ?? (body === undefined ? null : JSON.stringify(body));
    const init = {
      method,
      headers: { ...(given === null ? {} : { "content-type": type }), ...headers },
      ...(given === null ? {} : { body: given }),
    };
    const answers = objectOf(operation.responses);
    const contentOf = ({ status }: Response): JsonObject =>
      objectOf(resolved(answers[String(status)] ?? (status < 400 ? {} : answers.default)).content);
    const isJson = given !== null && type === "application/json";
    for (const odd of isJson ? REFUSED : method === "GET" && events !== true ? CONDITIONS : []) {
      const response = await client.fetch(url, {
        ...init,
        ...odd,
        headers: { ...init.headers, ...odd.headers },
      });
      const text = await response.text();
      const declared =
        Object.keys(answers).includes("default") && response.status >= 400
          ? "default"
          : String(response.status);
      expect([odd, Object.keys(answers)]).toEqual([odd, expect.arrayContaining([declared])]);
      if (isJson) expect([odd, response.ok]).toEqual([odd, false]);
      if (!(response.headers.get("content-type") ?? "").startsWith("application/problem+json")) continue;
      expect(faultsOf(contentOf(response)["application/problem+json"], JSON.parse(text))).toEqual([]);
    }
    const response = events === true ? await client.stream(url, init) : await client.fetch(url, init);
    const content = contentOf(response);
    const got = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
    const text = events === true ? "" : await response.text();
    if (status === undefined) expect(response.ok ? "" : text).toBe("");
    else expect(response.status).toBe(status);
    expect(Object.keys(answers)).toContain(String(response.status));
    if (events === true) await response.body?.cancel();
    if (text === "") return;
    expect([...Object.keys(content), got]).toContain(content["*/*"] === undefined ? got : "*/*");
    if (got !== "application/json") return;
    const value = JSON.parse(text);
    if (isObject(value)) note(id, value);
    const media = objectOf(content[got] ?? content["*/*"]);
    expect(faultsOf(media, value)).toEqual([]);
    // Answers below /v1 are the vendors', and documented by them.
    if (!url.startsWith("/v1/")) expect(unnamed([objectOf(media.schema)], value)).toEqual([]);
  });
});
