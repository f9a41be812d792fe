/** `hull run`, `hull chat` and `hull approvals` against a real `hull dev --direct`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json, REPO, runHull } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { sharedHull } from "../support/shared.ts";

const ASKER =
  "---\nname: asker\ndescription: Asks. Use when asked.\nmode: llm\nprovider: mock\ntools:\n  - {name: look, description: Looks, " +
  "command: [echo, seen], parameters: [{name: where, description: w}], annotations: {destructive: true}}\n---\nAsk.\n";

const PAYER =
  "---\nname: payer\ndescription: Pays. Use when asked to.\nmode: llm\nprovider: mock\n---\nPay.\n";
const PAY = {
  name: "pay",
  description: "Pays.",
  script: "pay.js",
  "x-risk": "dangerous",
  parameters: { amount: { type: "integer" } },
};

const hull = await sharedHull({
  args: ["--direct"],
  skills: {
    "asker/SKILL.md": ASKER,
    "payer/SKILL.md": PAYER,
    "payer/tools.json": JSON.stringify([PAY]),
    "tool/SKILL.md": "---\nname: tool\ndescription: Prints. Use when asked.\nrun: echo hi\n---\nPrint.\n",
    "payer/pay.js": "export default ({ amount }) => `paid ${amount}`;\n",
  },
  project: { "hull.toml": '[llm]\nmock_routes = true\n[approvals]\nrequire_risk = "dangerous"\n' },
});

const cli = (args: string[], stdin?: string | Buffer) =>
  runHull([...args, "--url", hull.url], { cwd: hull.root, ...(stdin === undefined ? {} : { stdin }) });

test("hull run prints an agent's answer, also with a skill, and fails where the run does", async () => {
  const plain = await cli(["run", "Who are you?", "--provider", "mock"], "");
  expect(plain).toMatchObject({ code: 0, output: expect.stringContaining("Who are you?") });
  const asked = await cli(["run", "Look.", "--skill", "asker"]);
  expect(asked).toMatchObject({ code: 0, output: expect.stringMatching(/^The mock model .*Look\.\n$/) });
  const wrong = await cli(["run", "x", "--skill", "nobody"]);
  expect(wrong.code).not.toBe(0);
  expect(wrong.output).toContain("nobody");
  expect(await cli(["run"])).toMatchObject({
    code: 2,
    output: expect.stringContaining("A run needs a prompt."),
  });
});

test("hull run says why there is no answer", async () => {
  const limit = JSON.stringify({ window: "day", max_output_tokens: 0 });
  await hull.call("/budgets/skill:payer", limit, { method: "PUT" });
  const refused = await cli(["run", "Pay.", "--skill", "payer"]);
  expect(refused).toMatchObject({ code: 0, output: expect.stringContaining("ended as budget_exhausted.") });
  await hull.call("/budgets/skill:payer", undefined, { method: "DELETE" });
});

test("hull chat keeps the conversation, and continues it", async () => {
  const first = await cli(
    ["chat", "--provider", "mock", "--session", "talk"],
    "My name is Ada.\n\nWho am I?\n",
  );
  expect(first.code).toBe(0);
  expect(first.output).toMatch(/Go on with: hull chat --session talk --url \S+ --provider mock\n/);
  await cli(["chat", "asker", "--session", "talk"], "And now?\n");
  const messages = await json<{ data: { role: string; content: unknown }[] }>(
    await hull.call("/sessions/talk/messages"),
  );
  const said = messages.data
    .filter(({ role }) => role === "user")
    .map(({ content }) => JSON.stringify(content));
  expect(said.filter((text) => /My name is Ada|Who am I|And now/.test(text))).toHaveLength(3);
});

test.each([
  ["tool", 2, "The skill tool has mode: script; only llm skills hold conversations."],
  ["nobody", 3, 'No skill is called "nobody".'],
])("hull chat %s ends before it asks for a message, and makes no session", async (skill, code, says) => {
  const ended = await cli(["chat", skill, "--session", `with-${skill}`], "");
  expect(ended).toMatchObject({ code, output: expect.stringContaining(says) });
  expect((await hull.call(`/sessions/with-${skill}`)).status).toBe(404);
});

test("hull chat takes each line of stdin byte for byte, and stops at one that is not UTF-8", async () => {
  const lines = Buffer.concat([
    Buffer.from("\u00e4\u2028\u{1f600} one\r\n\n"),
    Buffer.from([0xff, 0x41, 0x0a]),
    Buffer.from("three\n"),
  ]);
  const ended = await cli(["chat", "--provider", "mock", "--session", "bytes"], lines);
  expect(ended).toMatchObject({
    code: 2,
    output: expect.stringContaining("Line 3 of standard input is not UTF-8."),
  });
  const { data } = await json<{ data: { role: string; content: unknown }[] }>(
    await hull.call("/sessions/bytes/messages"),
  );
  const said = data.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));
  expect(said).toEqual([expect.stringContaining("\u00e4\u2028\u{1f600} one")]);
  expect(said.join("")).not.toContain("\\r");
});

test("hull chat says that an empty line is not a message", async () => {
  const only = await cli(["chat", "asker"], " \n\n");
  expect(only).toMatchObject({ code: 2, output: expect.stringContaining("has no message") });
  const { after, ended } = chatting("asker");
  await after(/› /, "\r");
  await after(/An empty line is not a message\.[\s\S]*› /, "\x04");
  expect(await ended()).toMatchObject({ code: 0 });
});

test("hull chat exits with 1 for a script if one of its runs failed, and continues with the others", async () => {
  const fails = { match: "*fail*", consume_match: true, error: { category: "auth", message: "no" } };
  await hull.post("/llm/mocks", [fails]);
  const ended = await cli(["chat", "--provider", "mock", "--session", "ends"], "fail\nThis is well.\n");
  expect(ended).toMatchObject({ code: 1, output: expect.stringContaining("This is well.") });
  await hull.call("/llm/mocks", undefined, { method: "DELETE" });
});

test("hull approvals lists the calls that wait, and decides each", async () => {
  const answered = (id: string, mock: object[]) =>
    hull.post(`/sessions/${id}/runs`, {
      prompt: "go",
      options: {
        skill: "asker",
        mock,
        approval_policy: { require_approval: ["look"] },
      },
    });
  expect((await cli(["approvals"])).output).toBe("No call waits for an approval.\n");
  const calls = [{ tool_calls: [{ name: "look", arguments: { where: "here" } }] }, { text: "end" }];
  for (const [id, word] of [
    ["gate-1", "approve"],
    ["gate-2", "deny"],
  ] as const) {
    await hull.post("/sessions", { id });
    const run = answered(id, calls);
    const listed = await until(
      () => cli(["approvals", "ls", id]),
      ({ output }) => output.includes("look"),
    );
    expect(listed.output).toContain('{"where":"here"}');
    expect((await cli(["approvals"])).output).toContain(id);
    const [, approval = ""] = /Decide with: hull approvals approve \S+ (\S+)/.exec(listed.output) ?? [];
    const decided = await cli(["approvals", word, id, approval]);
    expect(decided.output).toBe(`${word === "approve" ? "Approved" : "Denied"} look({"where":"here"}).\n`);
    expect((await run).status).toBe(200);
    expect(await cli(["approvals", word, id, approval])).toMatchObject({ code: 3 });
  }
  expect(await cli(["approvals", "approve", "gate-1"])).toMatchObject({ code: 2 });
});

/** A terminal with a program in it: its arguments. */
const TERMINAL = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";

/** `hull chat` in a terminal. */
const chatting = (...args: string[]) => chattingAt(hull.url, ...args);
function chattingAt(url: string, ...args: string[]) {
  const command = [join(REPO, "bin/hull.mjs"), "chat", ...args, "--url", url];
  const terminal = spawn("python3", ["-c", TERMINAL, process.execPath, ...command], {
    cwd: hull.root,
    env: { PATH: process.env.PATH, HOME: hull.root, TERM: "xterm" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  const ended = once(terminal, "close");
  return {
    /** Types a line once the terminal has shown a match since the line before. */
    async after(pattern: RegExp, line: string): Promise<void> {
      await until(
        async () => shown,
        (text) => pattern.test(text),
      );
      shown = "";
      terminal.stdin.write(line);
    },
    ended: async (): Promise<{ code: unknown; shown: string }> => {
      const [code] = await ended;
      return { code, shown };
    },
  };
}

const pays = (amount: number) => ({ tool_calls: [{ name: "pay", arguments: { amount } }] });

test("hull chat: Ctrl-C cancels the run under way, and lines typed early are messages all the same", async () => {
  await hull.post("/llm/mocks", [pays(9)]);
  const { after, ended } = chatting("payer", "--session", "early");
  await after(/› /, "Pay nine.\r");
  await after(/Approve pay\?.*: /, "\x03");
  await after(/The run ended as cancelled\.[\s\S]*› /, "One.\rTwo.\rThree.\r");
  await after(/Three\.\r?\n[\s\S]*› /, "\x03");
  expect(await ended()).toMatchObject({ code: 0, shown: expect.stringContaining("Go on with:") });
  const { data } = await json<{ data: { role: string; content: unknown }[] }>(
    await hull.call("/sessions/early/messages"),
  );
  const said = data.filter(({ role }) => role === "user").map(({ content }) => JSON.stringify(content));
  expect(said.filter((text) => /One|Two|Three/.test(text))).toHaveLength(3);
  await hull.call("/llm/mocks", undefined, { method: "DELETE" });
});

test("hull chat: Ctrl-C says that there is no run yet, and that a run could not be cancelled", async () => {
  // What a real server answers for a moment only, or if it breaks.
  const sessions = [
    { status: 200, body: { run: null } },
    { status: 500, body: { title: "Internal error", detail: "It broke." } },
  ];
  const server = createServer((request, response) => {
    const { method, url = "" } = request;
    response.setHeader("x-request-id", "r");
    if (method === "GET" && url === "/sessions/s") {
      const { status, body } = sessions.shift() ?? expect.fail("too many questions");
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    } else if (url === "/sessions") response.end('{"id":"s"}');
    else response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { after, ended } = chattingAt(`http://127.0.0.1:${port}`);
  const run = once(server, "request").then(async () => once(server, "request"));
  await after(/› /, "Hello.\r");
  await run;
  await after(/Hello/, "\x03");
  await after(/There is no run to cancel\./, "\x03");
  await after(/The run was not cancelled: .*It broke\.[\s\S]*Ctrl-C again leaves it\./, "\x03");
  await ended();
  server.closeAllConnections();
  server.close();
});

test("hull chat asks in a terminal whether a call may be made, and the run continues either way", async () => {
  await hull.post("/llm/mocks", [pays(5), { text: "It is done." }, pays(7), { text: "It is not." }]);
  const { after, ended } = chatting("payer", "--session", "till");
  await after(/› /, "Pay five.\r");
  await after(/Approve pay\?.*: /, "y\r");
  await after(/It is done\.[\s\S]*› /, "Pay seven.\r");
  await after(/Approve pay\?.*: /, "n\r");
  await after(/It is not\.[\s\S]*› /, "\x04");
  expect(await ended()).toEqual({
    code: 0,
    shown: expect.stringContaining("Go on with: hull chat payer --session till"),
  });
  await hull.call("/llm/mocks", undefined, { method: "DELETE" });
  const runs = await json<{ data: { run_id: string }[] }>(await hull.call("/sessions/till/runs"));
  const [second, first] = await Promise.all(
    runs.data.map(async ({ run_id }) =>
      json<{ result: object }>(await hull.call(`/sessions/till/runs/${run_id}`)),
    ),
  );
  expect(first?.result).toMatchObject({ successful_tools: ["pay"], rejected_tools: [] });
  expect(second?.result).toMatchObject({ successful_tools: [], rejected_tools: ["pay"] });
});
