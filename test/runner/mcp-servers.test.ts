/** Executions that are MCP servers: their messages, their places, and how they end. */
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { McpBridge } from "../../container/mcp-bridge.ts";
import { type ExecutionSpec, HEARTBEAT_MS, signTicket } from "../../src/tool/protocol.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import {
  type Bundle,
  bundle,
  type Collected,
  collect,
  gone,
  run,
  running,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

/** Answers each request with its method, after what `before` writes. */
const answering = (before: string): string => `import json, sys
${before}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"line": line}}), flush=True)
`;

let runner: TestRunner;
let files: Bundle;
beforeAll(async () => {
  files = await bundle({
    "answers.py": answering(""),
    "changes.py": answering(
      `print('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\\n{"jsonrpc":"2.0","method":"notifications/message"}', flush=True)
print("no message", flush=True)`,
    ),
    "parts.py": `import sys, time
for line in sys.stdin:
    for part in ('[{"jsonrpc":"2.0","id":7,', '"result":{"x":1}},\\r\\n', ' {}]\\n'):
        print(part.replace("\\r\\n", ""), end="", flush=True)
        time.sleep(0.05)
`,
    "twice.py": `import json, sys
for line in sys.stdin:
    answer = json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}})
    deep = '{"jsonrpc": "2.0", "id": ' + "[" * 200000 + "]" * 200000 + ', "result": {}}'
    sys.stdout.write(answer + '\\n{"jsonrpc": "2.0", "method": "notifications/message"}\\n' + answer + "\\n" + deep + "\\n")
    sys.stdout.flush()
`,
  });
  runner = await startRunner();
});
afterAll(() => runner.stop());

interface Server {
  id: string;
  end: Promise<Collected>;
  stop: () => Promise<Collected>;
  stderr: () => string;
}

/** Starts a server, and waits until the runner has admitted it. */
async function serve(
  argv: string[],
  more: Partial<ExecutionSpec> = {},
  on: TestRunner = runner,
): Promise<Server> {
  const leaving = new AbortController();
  const asked = spec({ digest: files.digest, argv, server: true, ...more });
  const admitted = Promise.withResolvers<void>();
  let stderr = "";
  const events = async function* () {
    for await (const event of runExecution(on, asked, {}, runOptions(files, { signal: leaving.signal }))) {
      admitted.resolve();
      if (event.kind === "stderr") stderr += Buffer.from(event.bytes).toString();
      yield event;
    }
  };
  const end = collect(events());
  end.catch(admitted.reject);
  await admitted.promise;
  const stop = () => {
    leaving.abort();
    return end;
  };
  return { id: asked.id, end, stop, stderr: () => stderr };
}

/** Posts a message. */
async function post(id: string, body: string, on: TestRunner = runner): Promise<Response> {
  const ticket = await signTicket(on.key, `execution:${id}`, "", Date.now());
  const headers = { authorization: `Bearer ${ticket}` };
  return fetch(`${on.url}/v1/executions/${id}/messages`, { method: "POST", headers, body });
}

const request = (id: number, more: object = {}): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "m", ...more });
const dataOf = async (response: Response): Promise<unknown[]> =>
  (await response.text())
    .split("\n\n")
    .filter(Boolean)
    .map((event) => JSON.parse(event.replace(/^data: /, "")));

describe("messages", () => {
  test("a request's answer is a stream; each message is one line of stdin, with the digits that it had", async () => {
    const server = await serve(["python3", "answers.py"]);
    const early = await post(server.id, '{"jsonrpc": "2.0",\r\n "id": 1, "method": "m", "params": 1.10}');
    expect(early.headers.get("content-type")).toBe("text/event-stream");
    const line = '{"jsonrpc": "2.0",  "id": 1, "method": "m", "params": 1.10}\n';
    expect(await dataOf(early)).toEqual([{ jsonrpc: "2.0", id: 1, result: { line } }]);
    expect((await post(server.id, '{"jsonrpc":"2.0","method":"notifications/initialized"}')).status).toBe(
      202,
    );
    const both = await Promise.all([post(server.id, request(2)), post(server.id, request(3))]);
    expect(await Promise.all(both.map(dataOf))).toMatchObject([[{ id: 2 }], [{ id: 3 }]]);
    await expect(server.stop()).rejects.toMatchObject({ code: "client_closed_request" });
    await gone("answers.py");
  });

  test("what a server asks or announces while nothing waits comes with the next answer", async () => {
    const server = await serve(["python3", "changes.py"]);
    await until(server.stderr, (text) => text.includes("no message"));
    const [first, answer] = await dataOf(await post(server.id, request(1)));
    expect([first, answer]).toMatchObject([{ method: "notifications/tools/list_changed" }, { id: 1 }]);
    expect(await dataOf(await post(server.id, request(2)))).toMatchObject([{ id: 2 }]);
    await expect(server.stop()).rejects.toThrow();
    await gone("changes.py");
  });

  test("an answer in parts, and in a batch", async () => {
    const server = await serve(["python3", "parts.py"]);
    const [answer] = await dataOf(await post(server.id, request(7)));
    expect(answer).toEqual([{ jsonrpc: "2.0", id: 7, result: { x: 1 } }, {}]);
    await expect(server.stop()).rejects.toThrow();
    await gone("parts.py");
  });

  test("an answer that comes twice, a message right behind it, and an id that is no id", async () => {
    const server = await serve(["python3", "twice.py"]);
    for (const id of [1, 2])
      expect(await dataOf(await post(server.id, request(id)))).toEqual([{ jsonrpc: "2.0", id, result: {} }]);
    await expect(server.stop()).rejects.toThrow();
    await gone("twice.py");
  });

  test("a line that never ends counts for all requests together", async () => {
    const script = "import sys\nfor _ in sys.stdin: print('x' * 9_000_000, end='', flush=True)";
    const server = await serve(["python3", "-c", script]);
    const answers = [await post(server.id, request(1)), await post(server.id, request(2))];
    expect((await server.end).status).toMatchObject({ cause: "output_too_large" });
    // To keep a connection open, the bridge also writes empty comments while a request waits.
    for (const answer of answers) expect((await answer.text()).replaceAll(":\n\n", "")).toBe("");
  });

  test("long answers count each for itself, and at most 20 questions wait for a request", async () => {
    const script = `import json, sys
print('{"id": "q", "method": "roots/list"}\\n' * 30 + "asked", flush=True)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "result": "x" * 9_000_000}), flush=True)
`;
    const server = await serve(["python3", "-c", script]);
    await until(server.stderr, (text) => text.includes("asked"));
    for (const count of [21, 1]) expect(await dataOf(await post(server.id, request(1)))).toHaveLength(count);
    await expect(server.stop()).rejects.toThrow();
  });

  test("refused: what is no message, more than the server reads, an execution that is no server", async () => {
    const server = await serve(["sleep", "77.31"]);
    for (const body of ["", "no JSON", "7", "[]"]) expect((await post(server.id, body)).status).toBe(400);
    const large = request(1, { params: "x".repeat(9 * 1024 * 1024) });
    const first = await post(server.id, large);
    expect(first.status).toBe(200);
    await first.body?.cancel();
    await until(
      async () => (await post(server.id, large)).status,
      (status) => status === 400,
    );
    expect((await post("unknown", request(1))).status).toBe(404);
    const unsigned = await fetch(`${runner.url}/v1/executions/${server.id}/messages`, {
      method: "POST",
      body: "{}",
    });
    expect(unsigned.status).toBe(401);
    const script = run(runner, files, { id: "no-server", argv: ["sleep", "77.32"], timeout_ms: 500 });
    await running("77.32");
    expect((await post("no-server", request(1))).status).toBe(404);
    await script;
    await expect(server.stop()).rejects.toThrow();
    await gone("77.31");
  });
});

test("a client that has not yet read its whole answer gets nothing behind it", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const errors: Error[] = [];
  const server = createServer((_, response) => {
    response.on("error", (error) => errors.push(error));
    const bridge = new McpBridge(() => {});
    bridge.take(request(1), response);
    bridge.push(Buffer.from(`{"id":1,"result":"${"x".repeat(12_000_000)}"}\n`));
    bridge.push(Buffer.from('{"method":"notifications/message"}\n{"id":1,"result":2}\n'));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const answer = await fetch(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  vi.advanceTimersByTime(HEARTBEAT_MS);
  vi.useRealTimers();
  expect((await dataOf(answer)).length).toBe(1);
  expect(errors).toEqual([]);
  server.close();
});

test("a place of its own: scripts run beside it, another server is refused, and its end frees the place", async () => {
  const own = await startRunner({
    flags: ["--mcp-servers", "1", "--concurrency", "1", "--queue-timeout-ms", "1"],
  });
  const server = await serve(["sleep", "77.33"], {}, own);
  expect((await run(own, files, { argv: ["true"] })).status).toMatchObject({ cause: "exit" });
  await expect(serve(["sleep", "77.34"], {}, own)).rejects.toMatchObject({ code: "runner_busy" });
  await expect(server.stop()).rejects.toThrow();
  await until(
    () => fetch(`${own.url}/metrics`).then((response) => response.text()),
    (text) => text.includes("hull_runner_mcp_servers 0\n"),
  );
  expect((await (await serve(["true"], {}, own)).end).status).toMatchObject({ cause: "exit" });
  await own.stop();
});

test("a server that rests ends, and what waits for its answer ends with it", async () => {
  const server = await serve(["sleep", "77.35"], { timeout_ms: 1000 });
  const waiting = await post(server.id, request(1));
  expect(await waiting.text()).toBe("");
  expect((await server.end).status).toMatchObject({ cause: "timed_out" });
  expect((await post(server.id, request(2))).status).toBe(404);
});

test("a server that writes or is written to does not rest", async () => {
  const writes = 'for _ in 1 2 3 4 5 6 7 8; do echo "{}"; sleep 0.5; done';
  const talking = await serve(["sh", "-c", writes], { timeout_ms: 2500 });
  const listening = await serve(["sleep", "4"], { timeout_ms: 2500 });
  while ((await post(listening.id, '{"method":"notifications/message"}')).status === 202);
  for (const server of [talking, listening])
    expect((await server.end).status).toMatchObject({ cause: "exit" });
});

test("nothing but stderr is kept of it, with a remark on lines that are no messages", async () => {
  const script = 'printf "Listening on stdio\nagain\n"; echo oops >&2; exit 3';
  const ended = await (await serve(["sh", "-c", script])).end;
  expect(ended.status).toMatchObject({ cause: "exit", exit_code: 3 });
  expect(ended.stdout.toString()).toBe("");
  const remark = "[hull: its stdout has a line that is no message: Listening on stdio]\n";
  expect([`oops\n${remark}`, `${remark}oops\n`]).toContain(ended.stderr.toString());
});

test("a runner that drains takes none of the servers that wait for a place", async () => {
  const own = await startRunner({ flags: ["--mcp-servers", "1"] });
  const server = await serve(["sleep", "77.38"], {}, own);
  server.end.catch(() => {});
  const waiting = serve(["sleep", "77.39"], {}, own);
  waiting.catch(() => {});
  await until(
    () => fetch(`${own.url}/metrics`).then((response) => response.text()),
    (text) => text.includes("hull_runner_waiting 1\n"),
  );
  const ended = own.kill("SIGTERM");
  await expect(waiting).rejects.toMatchObject({ code: "runner_draining" });
  await expect(server.stop()).rejects.toThrow();
  await ended;
  await own.stop();
});

test("what it writes to stderr comes while it runs, beyond the 64 KiB of other processes", async () => {
  const server = await serve(["sh", "-c", "head -c 200000 /dev/zero >&2; echo at last >&2; sleep 77.40"]);
  await until(server.stderr, (text) => text.endsWith("at last\n"));
  await expect(server.stop()).rejects.toThrow();
  await gone("77.40");
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "a runner that ends by %s leaves no server behind",
  async (signal) => {
    const own = await startRunner({ flags: ["--drain-ms", "0"] });
    const server = await serve(["sleep", signal === "SIGTERM" ? "77.36" : "77.37"], {}, own);
    server.end.catch(() => {});
    await running(signal === "SIGTERM" ? "77.36" : "77.37");
    await own.kill(signal);
    await gone("77.36");
    await gone("77.37");
    await own.stop();
  },
);
