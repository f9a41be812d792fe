/** Faults of storage: a request that reads survives one that lasts for a moment, and its client learns of a longer one. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { withFaults } from "./faulty-storage.ts";
import { Client, mockSkill } from "./served.ts";

const client = new Client({ HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' });
const MANIFEST = "---\nname: stored\ndescription: A stored skill\n---\nAnswer.\n";
const LARGE = 9 * 1024 * 1024;

let catalog: string;

async function idOf(answer: Promise<Response>): Promise<string> {
  const { id } = await (await answer).json<{ id: string }>();
  return id;
}
const put = (session: string, path: string, content: object): Promise<Response> =>
  client.fetch(`/sessions/${session}/files/${path}`, { method: "PUT", body: JSON.stringify(content) });
async function script(...mocks: object[]): Promise<void> {
  await client.fetch("/llm/mocks", { method: "DELETE" });
  await client.post("/llm/mocks", mocks);
}

beforeAll(async () => {
  catalog = await client.publish({
    writer: mockSkill("writer", "allowed-tools: Write\n"),
    plain: mockSkill("plain"),
    static: { "SKILL.md": "---\nname: static\ndescription: d\nserve: a.txt\n---\n", "a.txt": "a" },
    offered: { "SKILL.md": "---\nname: offered\ndescription: d\n---\nRead a.txt.\n", "a.txt": "a" },
    makes: mockSkill("makes", "allowed-tools: Write\noutput: file\n"),
  });
});
afterAll(() => client.fetch("/llm/mocks", { method: "DELETE" }));

/** Which read fails, and how a request is prepared that reads so. */
const READS: Record<string, ["get" | "head", () => Promise<() => Promise<Response>>]> = {
  "an upload is looked up": [
    "head",
    async () => {
      const id = await idOf(client.fetch("/files", { method: "POST", body: "x" }));
      return () => client.fetch(`/files/${id}`, { method: "HEAD" });
    },
  ],
  "an upload is downloaded": [
    "get",
    async () => {
      const id = await idOf(client.fetch("/files", { method: "POST", body: "x" }));
      return () => client.fetch(`/files/${id}`);
    },
  ],
  "a chat completion continues a turn in which Hull ran a tool": [
    "get",
    async () => {
      const call = (name: string, args: object) => ({ name, arguments: args });
      const tool_calls = [call("Write", { file_path: "a", content: "x" }), call("weather", {})];
      await script({ tool_calls }, { text: "Done." });
      const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }];
      const asked = { model: "skill/writer", tools, messages: [{ role: "user", content: "Go." }] };
      const first = await client.post("/v1/chat/completions", asked);
      const { choices } = await first.json<{ choices: { message: { tool_calls: { id: string }[] } }[] }>();
      const said = choices[0]?.message;
      const result = { role: "tool", tool_call_id: said?.tool_calls[0]?.id, content: "sunny" };
      const messages = [...asked.messages, said, result];
      return () => client.post("/v1/chat/completions", { ...asked, messages });
    },
  ],
  "a daemon resumes a snapshot": [
    "get",
    async () => {
      await client.post("/sessions", { id: "heir" });
      await put("heir", "from.json", { _type: "daemon_snapshot", total_iterations: 1, visible_messages: [] });
      const options = { provider: "mock", daemon: true, resume_path: "from.json", mock: [{ text: "more" }] };
      return () => client.post("/sessions/heir/runs", { prompt: "ignored", options });
    },
  ],
  "a workflow session is restored": [
    "get",
    async () => {
      await client.post("/sessions", { id: "flow" });
      await put("flow", "chat.json", { _type: "workflow_session" });
      return () => client.post("/workflows/session_restore", { path: "flow/chat.json" });
    },
  ],
  "a stored skill is served": [
    "get",
    async () => {
      const form = new FormData();
      form.append("files[]", new File([MANIFEST], "stored/SKILL.md"), "stored/SKILL.md");
      const skill_id = await idOf(client.fetch("/v1/skills", { method: "POST", body: form }));
      return () =>
        client.fetch("/_hull/skills/stored", {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ skill_id }),
        });
    },
  ],
  "a large file of a form is read": [
    "get",
    async () => {
      await script({ text: "Done." });
      const form = new FormData();
      form.append("prompt", "Go.");
      form.append("file", new File([new Uint8Array(LARGE)], "a.bin"));
      return () => client.fetch("/skills/writer", { method: "POST", body: form });
    },
  ],
};

it.each(Object.entries(READS))("R2 fails once while %s", async (_, [method, prepare]) => {
  const ask = await prepare();
  const { answer, faults } = await withFaults(client.env, { binding: "FILES", method }, 1, ask);
  await answer.arrayBuffer();
  expect([faults, answer.ok]).toEqual([1, true]);
});

it.each([
  ["the pointer", "/skills/static", () => "catalog:current"],
  ["the catalog", "/skills/static", () => `catalog:${catalog}`],
  ["the record of a skill", "/skills/static", () => "skill:"],
  ["a served file", "/skills/static", () => "blob:"],
  ["a pack", "/.well-known/agent-skills/offered/a.txt", () => "pack:"],
])("KV fails once while an isolate reads %s", async (_, path, key) => {
  const fresh = new Client();
  const fault = { binding: "SKILLS", method: "get", of: key() } as const;
  const { answer, faults } = await withFaults(fresh.env, fault, 1, () => fresh.fetch(path));
  expect([faults, answer.status, await answer.text()]).toEqual([1, 200, "a"]);
});

it.each([
  ["R2", { binding: "FILES", method: "get", of: "answers/" }],
  ["D1", { binding: "DB", method: "prepare", of: "kept_answers" }],
] as const)("%s fails once while a request with a key is repeated", async (name, fault) => {
  const headers = { "idempotency-key": `again-${name}`, "content-type": "application/json" };
  const body = JSON.stringify({ metadata: { name } });
  const ask = () => client.fetch("/v1/conversations", { method: "POST", headers, body });
  const first = await (await ask()).json();
  const { answer, faults } = await withFaults(client.env, fault, 1, ask);
  expect([faults, answer.status, await answer.json()]).toEqual([1, 200, first]);
});

it.each([
  ["anthropic", { error: { type: "overloaded_error" } }],
  ["openai", { error: { type: "server_error", code: "storage_unavailable" } }],
])(
  "clients of %s get a lasting fault of D1 as an error that says to try again later",
  async (vendor, told) => {
    const id = await idOf(client.fetch("/files", { method: "POST", body: "x" }));
    const fault = { binding: "DB", method: "prepare", of: "FROM stored_files" } as const;
    const ask = () => client.fetch(`/${vendor}/v1/files/${id}`);
    const { answer } = await withFaults(client.env, fault, 100, ask);
    const { headers } = answer;
    expect([answer.status, headers.get("retry-after"), headers.get("x-should-retry")]).toEqual([
      503,
      "2",
      null,
    ]);
    expect(await answer.json()).toMatchObject(told);
  },
);

it("a lasting fault of R2 is a fault of the protocol in MCP, not of the tool", async () => {
  await script(
    { tool_calls: [{ name: "Write", arguments: { file_path: "a", content: "x" } }] },
    { text: "Done." },
  );
  const params = { name: "makes", arguments: { input: "Go." } };
  const { answer } = await withFaults(client.env, { binding: "FILES", method: "get" }, 100, () =>
    client.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  );
  expect(await answer.json()).toMatchObject({
    error: { code: -32603, message: expect.stringContaining("storage did not answer") },
  });
});
