/** What commands do with answers that no Hull of their version gives, and with requests that break off. */
import { expect, test } from "vitest";
import { hullHere, runHere } from "../../support/hull-here.ts";
import { serve } from "./answering-server.ts";
import { folder, skillText } from "./folder.ts";

/** Every command that asks a Hull, and its actions. */
const COMMANDS = Object.entries({
  sessions: ["ls", "show x", "tail x", "send x y", "stop x", "resume x"],
  daemons: ["ls", "show x", "tail x", "send x y", "wake x", "stop x", "resume x"],
  tasks: ["ls", "show x", "tail x", "wait x", "send x y", "trigger x", "close x", "resume x"],
  workflow: ["run x --task y", "ls", "show x", "explain x", "cancel x", "fork x --from y", "test"],
  approvals: ["ls", "ls x", "approve x y"],
  keys: ["add", "list"],
  mcp: ["login x --no-browser", "list"],
  logs: ["x"],
  runs: [],
  run: ["x", "x --session y"],
  call: ["x", "x --stream"],
  chat: ["x"],
  upload: ["skills/a"],
  publish: [".", "--rollback"],
}).flatMap(([name, actions]) =>
  actions.length === 0 ? [name] : actions.map((action) => `${name} ${action}`),
);
/** Those that expect nothing of the answer. */
const REMOVALS = ["sessions rm x", "daemons rm x", "keys revoke x", "mcp logout x", "remove x"];

const HTML = "<html>Sign in</html>";

test.each<[string, string, string]>([
  ["an object without members", "application/json", "{}"],
  ["a list", "application/json", "[]"],
  ["nothing", "application/json", ""],
  ["half a JSON", "application/json", '{"data":[{"id":"a'],
  ["a page", "text/html", HTML],
])("a command says that an answer is not one of its Hull: %s", async (_, type, text) => {
  const test = "workflow: w\ncases:\n  - name: c\n    task: t\n    expect: { status: completed }\n";
  const dir = folder({ "skills/a/SKILL.md": skillText("a"), "skills/a/workflows/w.test.yaml": test });
  const url = await serve((_, response) => response.writeHead(200, { "content-type": type }).end(text));
  for (const command of text.startsWith("{}") || text.length < 3 ? COMMANDS : [...COMMANDS, ...REMOVALS]) {
    const { code, printed } = await runHere([...command.split(" "), "--url", url], dir, { ...process.env });
    const all = printed.map((one) => one.text).join("");
    expect([command, code, all]).toEqual([
      command,
      4,
      expect.stringMatching(
        /^(?:.*\n)?hull: [A-Z]+ http:\S+ answered .*\.\n {2}Another version of Hull runs /,
      ),
    ]);
    expect(all).not.toMatch(/undefined|Error/);
  }
});

test.each([
  ["without members", "[{}]"],
  ["that are no objects", "[null]"],
  ["that is none", "{}"],
])("a command that shows a list says that the answer has one %s", async (_, data) => {
  const url = await serve((_, response) => response.end(`{"data":${data},"next_cursor":null}`));
  for (const command of COMMANDS.filter((one) => /^runs| (?:ls|list)$/.test(one) && !one.startsWith("mcp"))) {
    const { code, err } = await hullHere([...command.split(" "), "--url", url]);
    expect([command, code, err]).toEqual([
      command,
      4,
      expect.stringMatching(/^hull: GET http:\S+ answered with .*\.\n {2}Another version of Hull runs /),
    ]);
  }
});

test("a request that breaks off goes out again, under the same key if it is a POST", async () => {
  const asked: string[] = [];
  let cuts = 0;
  const url = await serve(({ method, headers, socket }, response) => {
    asked.push(`${method} ${headers["idempotency-key"]}`);
    cuts += 1;
    if (cuts === 1) return socket.destroy();
    if (cuts === 2) {
      response.removeHeader("x-request-id");
      return response.writeHead(502).end("The gateway reaches nobody.");
    }
    if (cuts === 3 && method !== "DELETE") return response.write("{", () => socket.destroy());
    // The first request removed it.
    if (method === "DELETE") return response.writeHead(404).end("{}");
    return response.end(JSON.stringify({ run_id: null, data: [], next_cursor: null }));
  });
  for (const command of ["sessions send x y", "sessions ls", "sessions rm x"]) {
    cuts = 0;
    expect([command, await hullHere([...command.split(" "), "--url", url])]).toMatchObject([
      command,
      { code: 0 },
    ]);
  }
  const [key = ""] = asked.map((line) => /^POST ([\da-f]{32})$/.exec(line)?.[1]);
  const [get, remove] = ["GET undefined", "DELETE undefined"];
  const post = `POST ${key}`;
  expect(asked).toEqual([post, post, post, post, get, get, get, get, remove, remove, remove]);
});

test("what would take effect twice goes out once: a run that ends with its command, a rollback, a key", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve(({ method, headers, socket }, response) => {
    if (method === "GET") return response.end('{"id":null,"previous":null}');
    asked.push(String(headers["idempotency-key"]));
    return socket.destroy();
  });
  for (const command of [
    ["run", "x"],
    ["publish", "--rollback"],
    ["keys", "add"],
  ])
    expect(await hullHere([...command, "--url", url])).toMatchObject({
      code: 4,
      err: "hull: The server broke off its answer.\n",
    });
  expect(asked).toEqual(["undefined", "undefined", "undefined"]);
});

test("what a skill answers as JSON and is none is printed as it is", async () => {
  const card = { route: "/skills/x", method: "POST", input: "text", output: "text", workspaceTools: true };
  const url = await serve(({ url }, response) => {
    const text = url?.endsWith("/card") ? JSON.stringify(card) : '{"text":"half';
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  const ended = await hullHere(["call", "x", "-i", "y", "--url", url]);
  expect(ended).toEqual({ code: 0, out: '{"text":"half', err: "" });
});

test("--json has the code of a refusal once", async () => {
  const problem = { code: "session_not_found", detail: "There is no session x." };
  const url = await serve((_, response) => response.writeHead(404).end(JSON.stringify(problem)));
  const { out } = await hullHere(["sessions", "show", "x", "--json", "--url", url]);
  expect(JSON.parse(out)).toEqual({ ...problem, hint: "hull sessions ls shows what there is." });
});
