/** MCP servers for tests: real ones, made with the official SDK, and one that misbehaves as its path says. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as ModernServer } from "@modelcontextprotocol/server";
import * as z from "zod";

export interface TestMcpServer {
  /**
   * Origin; `/stateful`, `/stateless` and `/modern` are servers, the rest misbehaves. `/repeats` and `/repeats-refused`
   * repeat the header `authorization` in the list of tools and in results, or in the refusal of a list.
   */
  url: string;
  /** `<path> <JSON-RPC method>` of every message, in order; `DELETE` of ended sessions. */
  asked: string[];
  /** Headers of the last message to each path. */
  headers: Map<string, IncomingMessage["headers"]>;
  /** Whether `/stateless` delays calls of tools. */
  holds: boolean;
  /**
   * How `/stateful` answers the second call of a session, which it has forgotten as if it were restarted, or which it
   * refuses with the status 400 and this JSON; "": not at all.
   */
  forgets: string;
  /** Calls of the tool `remember`, by session. */
  sessions: Map<string, number>;
  close(): Promise<void>;
}

const HUGE = "x".repeat(9 * 1024 * 1024);

export async function startMcpServer(): Promise<TestMcpServer> {
  const asked: string[] = [];
  const sessions = new Map<string, number>();
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const hanging = new Set<ServerResponse>();
  const made: TestMcpServer = {
    url: "",
    asked,
    headers: new Map(),
    holds: false,
    forgets: "",
    sessions,
    close: async () => {},
  };

  const register = (server: McpServer, session: () => string): void => {
    const echo = { description: "Repeats a text.", inputSchema: { text: z.string() } };
    server.registerTool("echo", { ...echo, annotations: { readOnlyHint: true } }, async (args) => ({
      content: [{ type: "text", text: `echo: ${args.text}` }],
    }));
    server.registerTool("fail-it", { description: "Fails." }, async () => ({
      isError: true,
      content: [{ type: "text", text: "it failed on purpose" }],
    }));
    server.registerTool("remember", { description: "Counts calls of a session." }, async () => {
      const count = (sessions.get(session()) ?? 0) + 1;
      sessions.set(session(), count);
      return { content: [{ type: "text", text: `call ${count}` }] };
    });
    server.registerTool("mixed", { description: "All kinds of content." }, async () => ({
      content: [
        { type: "text", text: "first" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource_link", uri: "https://example.com/a", name: "a" },
        { type: "resource", resource: { uri: "x:b", text: "second" } },
      ],
    }));
  };

  const stateful = async (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const id = String(request.headers["mcp-session-id"] ?? "");
    let transport = transports.get(id);
    const isCall = Object(body).method === "tools/call";
    if (made.forgets !== "" && isCall && sessions.has(id)) {
      const refuse = (status: number, json: string) =>
        void response.writeHead(status, { "content-type": "application/json" }).end(json);
      if (made.forgets.startsWith("{")) return refuse(400, made.forgets);
      const [status, form] = made.forgets.split("-");
      if (form === undefined) return void response.writeHead(Number(status)).end("No valid session");
      if (form === "named") {
        const error = { code: -32001, message: "Session not found" };
        return refuse(Number(status), JSON.stringify({ jsonrpc: "2.0", id: Object(body).id, error }));
      }
      // What the official server says that was not opened, as a new process is not.
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
      await new McpServer({ name: "stateful", version: "1" }).connect(transport);
    }
    if (transport === undefined) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void transports.set(session, opened),
      });
      transport = opened;
      const server = new McpServer({ name: "stateful", version: "1" });
      register(server, () => opened.sessionId ?? "");
      await server.connect(opened);
    }
    await transport.handleRequest(request, response, body);
  };
  const stateless = async (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const server = new McpServer({ name: "stateless", version: "1" });
    register(server, () => "none");
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    await transport.handleRequest(request, response, body);
  };
  const modern = createMcpHandler(
    () => {
      const server = new ModernServer({ name: "modern", version: "1" });
      const inputSchema = z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) });
      server.registerTool("place", { description: "Names a region.", inputSchema }, async ({ region }) => ({
        content: [{ type: "text", text: `in ${region}` }],
      }));
      return server;
    },
    { legacy: "reject" },
  );

  /** The id of the call whose stream ended before its answer; `null`: it never gets one. */
  let waiting: unknown;

  /** By path: the fault in the answer to `tools/call`. */
  const misbehave: Record<string, (response: ServerResponse, id: unknown) => void> = {
    "/huge": (response, id) =>
      json(response, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: HUGE }] } }),
    "/huge-events": (response) => events(response, HUGE),
    "/slow": (response) => void hanging.add(response),
    "/no-json": (response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end("{nope"),
    "/no-mcp": (response) => json(response, { hello: "world" }),
    "/no-answer": (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n');
    },
    "/other-id": (response) => json(response, { jsonrpc: "2.0", id: 99, result: {} }),
    "/no-result": (response, id) => json(response, { jsonrpc: "2.0", id, result: "text" }),
    "/cut": (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"jsonrpc"');
      setTimeout(() => response.destroy(), 20);
    },
    "/fault": (response, id) =>
      json(response, { jsonrpc: "2.0", id, error: { code: -32602, message: "no luck" } }),
    // What servers of several frameworks answer if a tool throws, whatever it has done before.
    "/throws": (response, id) =>
      json(response, { jsonrpc: "2.0", id, error: { code: -32603, message: "boom" } }),
    "/server-error": (response, id) =>
      json(response, { jsonrpc: "2.0", id, error: { code: -32001, message: "Request timed out" } }),
    "/status": (response) => void response.writeHead(503).end("busy"),
    "/gateway": (response) => void response.writeHead(504).end("Gateway Timeout"),
    "/fails": (response, id) =>
      json(response, {
        jsonrpc: "2.0",
        id,
        result: { isError: true, content: [{ type: "text", text: "half done" }] },
      }),
    // What a server may also send (2025-03-26: batches; 2025-11-25: streams that end early and continue elsewhere).
    "/batch": (response, id) => json(response, [NOTE, answerTo(id)]),
    "/batch-events": (response, id) => events(response, JSON.stringify([NOTE, answerTo(id)])),
    "/strange-messages": (response, id) =>
      events(response, `7\n\ndata: nope\n\n: hb\nretry: x\ndata:\n\ndata: ${JSON.stringify(answerTo(id))}`),
    "/result-and-error": (response, id) => json(response, { ...answerTo(id), error: null }),
    "/nulls": (response, id) =>
      json(response, {
        jsonrpc: "2.0",
        id,
        result: { content: null, structuredContent: { said: "done" }, isError: null },
      }),
    "/null-members": (response, id) => {
      const link = { type: "resource_link", uri: "x:a", name: null };
      const resource = { type: "resource", resource: { uri: "x:b", text: null, blob: "AAAA" } };
      const content = [{ type: "text", text: "done", annotations: null }, link, resource];
      json(response, { jsonrpc: "2.0", id, result: { content, structuredContent: null } });
    },
    "/old": (response, id) => json(response, answerTo(id)),
    "/mute": (response, id) => json(response, answerTo(id)),
    "/crashes": (response, id) => json(response, answerTo(id)),
    "/empty": (response, id) => json(response, { jsonrpc: "2.0", id, result: { structuredContent: null } }),
    "/ends-early": (response, id) => {
      waiting = id;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end("id: e1\nretry: 5\ndata:\n\n");
    },
    "/breaks-early": (response, id) => {
      waiting = id;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("id: e1\nretry: 5\ndata:\n\n", () => response.destroy());
    },
    "/never-ends": (response) => {
      waiting = null;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end("id: e1\nretry: 0\ndata:\n\n");
    },
    "/to-metadata": redirect(() => "http://169.254.169.254/latest/meta-data/"),
    "/to-private": redirect(() => "https://10.0.0.7/mcp"),
    "/to-unlisted": redirect(() => "https://elsewhere.example/mcp"),
    "/to-file": redirect(() => "file:///etc/passwd"),
    "/loop": redirect(() => "/loop"),
    "/see-other": (response) => void response.writeHead(303, { location: "/stateless" }).end(),
    "/moved": redirect(() => "/stateless"),
  };

  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const body = await text(request);
    const message = body === "" ? null : JSON.parse(body);
    asked.push(`${path} ${message?.method ?? request.method}`);
    made.headers.set(path, request.headers);
    const sent = String(request.headers.authorization);
    if (path === "/repeats") return listing(response, message, `Acts with ${sent}.`);
    if (path === "/repeats-refused" && message?.method === "tools/list") {
      const error = { code: -32001, message: `not for ${sent}` };
      return json(response, { jsonrpc: "2.0", id: message.id, error });
    }
    if (path === "/repeats-refused") return listing(response, message);
    const wrong = misbehave[path];
    if (wrong !== undefined) {
      if (request.method === "GET") {
        const last = request.headers["last-event-id"];
        const more = `id: ${last}+\nretry: 0\ndata: ${JSON.stringify(NOTE)}\n\n`;
        // First it ends once more.
        const goesOn = waiting === null || last === "e1";
        const data = goesOn ? more : `data: ${JSON.stringify(answerTo(waiting, `after ${last}`))}\n\n`;
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end(data);
      }
      if (message.method === "tools/call") return wrong(response, message.id);
      // Some bridges pass the request on to a server that does not know it.
      if (message.method === "server/discover") {
        if (path === "/mute") return void hanging.add(response);
        if (path === "/crashes") return void response.writeHead(500).end("Internal Server Error");
      }
      const version = path === "/old" ? "2024-11-05" : "2025-11-25";
      return listing(response, message, path.startsWith("/null") ? null : undefined, version);
    }
    if (path === "/stateless" && made.holds && message?.method === "tools/call")
      return void hanging.add(response);
    if (path === "/modern") return passOn(modern, request, response, body);
    if (path === "/stateful") return stateful(request, response, message ?? undefined);
    if (path === "/stateless") return stateless(request, response, message ?? undefined);
    response.writeHead(404).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const bound = server.address();
  made.url = `http://127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`;
  made.close = async () => {
    for (const response of hanging) response.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return made;
}

const NOTE = { jsonrpc: "2.0", method: "notifications/unheard_of", params: null };
const answerTo = (id: unknown, text = "done") => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text }] },
});

const redirect = (target: () => string) => (response: ServerResponse) =>
  void response.writeHead(307, { location: target() }).end();

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function events(response: ServerResponse, data: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${data}\n\n`);
}

/** The part of a server up to 2025-11-25 that a client needs to find a tool `act`. */
function listing(
  response: ServerResponse,
  { id, method }: { id?: unknown; method: string },
  description: string | null = "Acts.",
  protocolVersion = "2025-11-25",
): void {
  const properties = { how: { type: "string", description: description ?? "" } };
  const nulls = description === null ? { annotations: null, title: null, outputSchema: null } : {};
  const tool = { name: "act", description, inputSchema: { type: "object", properties }, ...nulls };
  const results = new Map<string, object>([
    ["initialize", { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }],
    ["tools/list", { tools: [tool, { name: "no-schema" }, { inputSchema: {} }, "text"] }],
    ["tools/call", { content: [{ type: "text", text: description ?? "" }] }],
  ]);
  if (id === undefined) return void response.writeHead(202).end();
  const result = results.get(method);
  const error = { code: -32601, message: "Method not found" };
  json(response, { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
}

async function passOn(
  handler: ReturnType<typeof createMcpHandler>,
  { headers, url, method }: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const sent = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const request = new Request(`http://127.0.0.1${url}`, { method: method ?? "POST", headers: sent, body });
  const answer = await handler.fetch(request);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
}
