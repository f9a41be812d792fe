/** What models, tools and users write does nothing to a terminal. */
import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { EventPrinter } from "../../../scripts/call/event-printer.ts";
import { command as approvals } from "../../../scripts/commands/approvals.ts";
import { command as logs } from "../../../scripts/commands/logs.ts";
import { command as sessions } from "../../../scripts/commands/sessions.ts";
import { command as tasks } from "../../../scripts/commands/tasks.ts";
import { printLine } from "../../../scripts/dev/log-lines.ts";
import { print } from "../../../scripts/report.ts";

/** Collects what is written to streams of this kind from now on. */
function listen(isTTY: boolean): () => string {
  let text = "";
  for (const stream of [process.stdout, process.stderr]) {
    const before = stream.isTTY;
    stream.isTTY = isTTY;
    const spy = vi.spyOn(stream, "write").mockImplementation((piece) => {
      text += String(piece);
      return true;
    });
    onTestFinished(() => {
      stream.isTTY = before;
      spy.mockRestore();
    });
  }
  return () => text;
}

/** What is written to streams of this kind. */
function written(isTTY: boolean, write: () => void): string {
  const text = listen(isTTY);
  write();
  return text();
}

/** Two events and a list. */
const shown = (isTTY: boolean): string =>
  written(isTTY, () => {
    const printer = new EventPrinter();
    printer.print("delta", { text: "a\u001b[8mb\tc\r\nd\r", round: 1 });
    printer.print("approval_request", { tool: "pay", arguments: { to: "\u009b8m\u007f" }, id: "apr" });
    print(false, {}, "user: \u001b]52;c;x\u0007\n");
  });

test("attack: control characters reach a pipe, and no terminal", () => {
  expect(shown(false)).toBe(
    'a\u001b[8mb\tc\r\nd\r? pay({"to":"\u009b8m\u007f"}) waits for approval apr\nuser: \u001b]52;c;x\u0007\n',
  );
  expect(shown(true)).toBe(
    'a\ufffd[8mb\tc\nd\ufffd\n? pay({"to":"\ufffd8m\ufffd"}) waits for approval apr\nuser: \ufffd]52;c;x\ufffd\n',
  );
});

test("attack: the arguments of a call that waits show characters that reorder or hide text", () => {
  const lines = written(true, () => {
    new EventPrinter().print("approval_request", {
      tool: "run",
      arguments: { c: "a\u202eb\u200b" },
      id: "apr",
    });
  });
  expect(lines).toBe('? run({"c":"a\\u202eb\\u200b"}) waits for approval apr\n');
});

test("attack: log lines of a Worker, and the spans of a run, reach a terminal without control characters", () => {
  const name = "tool x\u001b[2J\u009b8m";
  const line = JSON.stringify({
    event: "request",
    method: "GET",
    path: "/x",
    status: 500,
    request_id: "r",
    duration_ms: 1,
    stack: "Error: \u001b]0;x\u0007",
    spans: [{ name, at_ms: 1, duration_ms: 2, tool: name }],
  });
  const lines = written(true, () => {
    printLine(line, "worker", false);
    printLine(JSON.stringify({ event: "x_failed", error: "\u009b8m" }), "worker", false);
  });
  expect(lines).toContain("GET /x 500 1 ms r\n");
  expect(lines).toContain("tool x\ufffd[2J\ufffd8m");
  expect(lines.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});

test("a line about a run starts a new line in a terminal, and adds nothing to text in a pipe", () => {
  const lines = (isTTY: boolean): string =>
    written(isTTY, () => {
      const printer = new EventPrinter();
      printer.print("delta", { text: "I look." });
      printer.print("tool_call", { name: "look", arguments: {} });
      printer.print("tool_result", { ok: true, duration_ms: 5 });
      printer.print("delta", { text: "Seen.\n" });
      printer.say("The run ended.");
      printer.print("delta", { text: "More" });
      printer.endLine();
    });
  expect(lines(true)).toBe("I look.\n→ look({})\n← ok 5 ms\nSeen.\nThe run ended.\nMore\n");
  expect(lines(false)).toBe("I look.→ look({})\n← ok 5 ms\nSeen.\nThe run ended.\nMore");
});

test("output of a tool, an artifact and a lost MCP server are for people: on stderr, and no control character", () => {
  const lines = written(true, () => {
    const printer = new EventPrinter();
    printer.print("tool_output", { call_id: "c", stream: "emit", text: "50 %\u009b8m" });
    printer.print("artifact", { type: "code", title: "Plan", version: 2 });
    printer.print("skill_mcp_bind_failed", { name: "maps", server: "geo", error: "refused" });
    printer.print("tomorrows_event", { text: "x" });
  });
  expect(lines).toBe('50 %\ufffd8m\n+ code "Plan", version 2\n! no MCP server geo of maps: refused\n');
});

test("a round that begins again is announced before its new text", () => {
  const retried = (isTTY: boolean): string =>
    written(isTTY, () => {
      const printer = new EventPrinter();
      printer.print("delta", { text: "half ", round: 1 });
      printer.print("round", { round: 1, restarted: true, parent_run_id: "above" });
      printer.print("round", { round: 1, restarted: true });
      printer.print("delta", { text: "whole", round: 1 });
      printer.print("round", { round: 1, finish_reason: "stop" });
    });
  const note = "↻ round 1 begins again: ignore its text above";
  expect(retried(true)).toBe(`half \n${note}\nwhole`);
  expect(retried(false)).toBe(`half ${note}\nwhole`);
});

test("a script may colour its output", () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  new EventPrinter().print("delta", { text: "\u001b[31mred" });
  expect(write).toHaveBeenCalledWith("\u001b[31mred");
});

const HOSTILE = "x\u001b[2J\u009b8m";
const TASK = { status: "failed", result: { summary: HOSTILE }, error: { code: "c", detail: HOSTILE } };
const EVENT = { type: "delta", seq: 1, ts: "2026-01-01T00:00:00.000Z", run_id: "r", text: HOSTILE, round: 1 };
const APPROVAL = { id: "a", tool: HOSTILE, arguments: { to: HOSTILE }, arguments_digest: "d" };
const ANSWERS: Record<string, string> = {
  "GET /sessions/s": JSON.stringify({ id: "s", state: HOSTILE, created_at: "now", length: 1, last_event: 1 }),
  "GET /sessions/s/runs": JSON.stringify({
    data: [{ run_id: "r", status: HOSTILE, created_at: "now" }],
    next_cursor: null,
  }),
  "GET /sessions/s/transcript": HOSTILE,
  "GET /sessions/s/events": `id: 1\nevent: delta\ndata: ${JSON.stringify(EVENT)}\n\nid: 2\nevent: done\ndata: {"ok":true}\n\n`,
  "GET /sessions/s/approvals": JSON.stringify({ data: [APPROVAL] }),
  "POST /sessions/s/approvals/a": "{}",
  "POST /tasks/wait": JSON.stringify(TASK),
};

test.for([
  ["sessions show", sessions, ["show", "s"], "x\ufffd[2J\ufffd8m"],
  ["sessions tail", sessions, ["tail", "s", "--after", "0", "--run"], "x\ufffd[2J\ufffd8m"],
  ["logs", logs, ["s"], "x [2J 8m"],
  ["logs --json", logs, ["s", "--json"], "x\\u001b[2J\ufffd8m"],
  ["tasks wait", tasks, ["wait", "t"], "x\ufffd[2J\ufffd8m"],
  ["approvals approve", approvals, ["approve", "s", "a"], "x\ufffd[2J\ufffd8m"],
] as const)(
  "attack: hull %s shows what others wrote, and no control character",
  async ([, command, words, expected]) => {
    const server = createServer(({ method, url = "" }, response) => {
      const answer = ANSWERS[`${method} ${url.split("?")[0]}`];
      response.writeHead(answer === undefined ? 404 : 200, {
        "x-request-id": "req",
        "content-type": url.includes("/events") ? "text/event-stream" : "application/json",
      });
      response.end(answer ?? "{}");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const text = listen(true);
    await command.run([...words, "--url", `http://127.0.0.1:${port}`]);
    expect(text()).toContain(expected);
    expect(text()).not.toMatch(/[\u001b\u009b]/);
  },
);
