/** Secrets of tools in a whole local Hull: sealed by the key in the state folder, seen by handlers in sessions, found nowhere. */
import { globSync, readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commonHull, restarted } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { dataOf, readEvents } from "../support/sse.ts";

const CANARY = "canary-41c7aa90-secret";
const CALL_CANARY = "canary-93bd1e55-of-a-call";
const CONFIG = [
  { name: "token", type: "secret" },
  { name: "once", type: "secret", scope: "per_call" },
];
const HANDLER = `export default async (_, ctx) => {
  const { token = "", once = "" } = ctx.config;
  await ctx.emit("emitted " + token + once);
  await ctx.artifact({ type: "code", title: "Of a secret", content: token + once });
  return { token, once, lengths: [token.length, once.length] };
}`;
const PYTHON = `import json, os
def handler(args):
    token = json.loads(os.environ["HULL_TOOL_CONFIG"])["token"]
    print("printed " + token)
    return {"__artifact__": True, "id": "py", "type": "markdown", "title": "From Python", "content": f"{len(token)} {token}"}
`;
const SKILLS = {
  "keyed/SKILL.md": "---\nname: keyed\ndescription: d\nmode: llm\nprovider: mock\n---\nAnswer.\n",
  "keyed/tools.json": JSON.stringify([
    { name: "leak", description: "Leaks", script: "scripts/leak.js", parameters: {}, "x-config": CONFIG },
    { name: "paint", description: "Paints", script: "scripts/paint.py", parameters: {}, "x-config": CONFIG },
  ]),
  "keyed/scripts/paint.py": PYTHON,
  "keyed/scripts/leak.js": HANDLER,
  "asked/SKILL.md": "---\nname: asked\ndescription: d\nmode: llm\n---\nAnswer.\n",
  "asked/tools.json": JSON.stringify([
    { name: "leak", description: "Leaks", script: "leak.js", parameters: {}, "x-config": CONFIG },
  ]),
  "asked/leak.js": HANDLER,
};

let { hull, fake } = await commonHull(SKILLS);

const send = (method: string, path: string, body?: object): Promise<Response> =>
  hull.call(path, body === undefined ? undefined : JSON.stringify(body), {
    method,
    headers: { "content-type": "application/json" },
  });

test("a session's handler gets its secrets; nothing stored, streamed or logged contains them", async () => {
  const at = hull.output().length;
  const set = await send("PUT", "/skills/keyed/config", { tools: { leak: { token: CANARY } } });
  expect(await json(set)).toMatchObject({ tools: { leak: { values: { token: { set: true } } } } });
  await send("POST", "/sessions", { id: "sealed" });
  const options = {
    skills: ["keyed"],
    tool_configs: { leak: { once: CALL_CANARY } },
    mock: [{ tool_calls: [{ name: "leak", arguments: {} }] }, { text: "end" }],
  };
  const run = await send("POST", "/sessions/sealed/runs", { prompt: "go", options });
  const text = await run.text();
  expect(run.status).toBe(200);
  expect(text).toContain(`[${CANARY.length},${CALL_CANARY.length}]`);
  const told = [text];
  for (const path of ["/messages", "/transcript?view=raw", "/artifacts"]) {
    told.push(await (await send("GET", `/sessions/sealed${path}`)).text());
  }
  expect(told.join()).toContain("[redacted]");
  expect(told.join("") + hull.output().slice(at)).not.toMatch(/canary-/);

  const state = hull.stateDir;
  const key = join(state, "secret.key");
  expect(statSync(key).mode & 0o777).toBe(0o600);
  expect(readFileSync(key, "utf8")).toMatch(/^X[\w-]{43}$/);
  expect(hull.output()).not.toContain(readFileSync(key, "utf8"));
  const files = globSync("**/*", { cwd: state });
  const holding: string[] = [];
  for (const path of files) {
    // A folder, or a file that its database has removed meanwhile, holds nothing.
    const bytes = await readFile(join(state, path), "latin1").catch(() => "");
    if (bytes.includes(CANARY) || bytes.includes(CALL_CANARY)) holding.push(path);
  }
  expect(files.some((path) => path.endsWith(".sqlite"))).toBe(true);
  expect(holding).toEqual([]);
});

test("a Python handler's artifact is one event before its result, and kept; its secret is its own", async () => {
  await send("PUT", "/skills/keyed/config", { tools: { paint: { token: CANARY } } });
  const mock = [{ tool_calls: [{ name: "paint", arguments: {} }] }, { text: "end" }];
  const body = JSON.stringify({ prompt: "go", options: { skills: ["keyed"], mock } });
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const events = await readEvents(await hull.call("/sessions/sealed/runs", body, { headers }));
  const names = events
    .map(({ event }) => event)
    .filter((name) => /^(artifact|tool_output|tool_result)$/.test(name));
  expect(names.filter((name) => name !== "tool_output")).toEqual(["artifact", "tool_result"]);
  const content = `${CANARY.length} [redacted]`;
  expect(dataOf(events, "artifact")).toMatchObject([{ id: "py", title: "From Python", content, version: 1 }]);
  expect(
    dataOf(events, "tool_output")
      .map(({ text }) => text)
      .join(""),
  ).toContain("printed [redacted]");
  expect(await json(await send("GET", "/sessions/sealed/artifacts/py"))).toMatchObject({
    content,
    version: 1,
  });
  const messages = await (await send("GET", "/sessions/sealed/messages")).text();
  expect(messages).toContain('Artifact \\"From Python\\" was made');
  expect(messages).not.toContain(content);
  expect(JSON.stringify(events) + hull.output()).not.toContain(CANARY);
});

test("a call of the skill in a session gets the values of its bot", async () => {
  const token = `${CANARY}-of-the-shop`;
  await send("PUT", "/skills/asked/config?bot=shop", { tools: { leak: { token } } });
  await send("POST", "/sessions", { id: "shop" });
  fake.script([{ tool_calls: [{ name: "leak", arguments: {} }] }, { text: "end" }]);
  const headers = { "x-hull-bot": "shop" };
  const call = await hull.call("/skills/asked?session_id=shop", "go", { headers });
  expect(await call.text()).toBe("end");
  expect(JSON.stringify(fake.requests.at(-1)?.body)).toContain(`[${token.length},0]`);
});

test("the next start opens what this one sealed", async () => {
  hull = await restarted("plain", "SIGTERM");
  const { tools } = await json<{ tools: object }>(await send("GET", "/skills/keyed/config"));
  expect(tools).toMatchObject({
    leak: { values: { token: { set: true }, once: { set: false } }, diagnostics: [] },
  });
  const options = {
    skills: ["keyed"],
    mock: [{ tool_calls: [{ name: "leak", arguments: {} }] }, { text: "end" }],
  };
  const run = await send("POST", "/sessions/sealed/runs", { prompt: "go", options });
  expect(await run.text()).toContain(`[${CANARY.length},0]`);
});
