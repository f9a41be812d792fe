/** The files of a served skill with workspace tools: in its answer, in a session, for a repeated call. */
import { beforeAll, describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { withFaults } from "./faulty-storage.ts";
import { Client, mockSkill } from "./served.ts";

const ENV = { HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' };
const client = new Client(ENV);

beforeAll(async () => {
  await client.publish({
    writes: { "SKILL.md": mockSkill("writes", "workspace_tools: true\n") },
    makes: { "SKILL.md": mockSkill("makes", "workspace_tools: true\noutput: file\n") },
  });
});

/** A client whose first request to R2 resolves `began`; its requests to R2 wait until `ended`. */
function waitsForStorage() {
  const asking = new Client(ENV);
  const [begins, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const get = (target: R2Bucket, name: PropertyKey) => {
    const value: unknown = Reflect.get(target, name);
    if (typeof value !== "function") return value;
    return async (...args: unknown[]) => {
      begins.resolve();
      await ends.promise;
      return Reflect.apply(value, target, args);
    };
  };
  Object.assign(asking.env, { FILES: new Proxy(asking.env.FILES, { get }) });
  return { asking, began: begins.promise, ended: ends.resolve };
}

describe("a served skill", () => {
  it("names as many of its files in a header as HTTP clients accept, and all of them in JSON", async () => {
    const tool_calls = Array.from({ length: 60 }, (_, i) => {
      return { name: "Write", arguments: { file_path: `ä b/${i}.txt`, content: "x" } };
    });
    await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
    const headers = { accept: "application/json" };
    const response = await client.fetch("/skills/writes", { method: "POST", body: "go", headers });
    await client.fetch("/llm/mocks", { method: "DELETE" });
    const { files } = await response.json<{ files: object[] }>();
    const [, listed = "", more = ""] =
      /^(.*), more;count=(\d+)$/.exec(response.headers.get("x-hull-files") ?? "") ?? [];
    expect([files.length, listed.split(", ").length + Number(more)]).toEqual([60, 60]);
    expect(listed.length).toBeLessThanOrEqual(6000);
  });

  it.each(["writes", "writes?session_id=many"])(
    "warns of the files beyond the first hundred: %s",
    async (path) => {
      await client.post("/sessions", { id: "many" });
      const ask = async (key: string, accept: string, query = "") => {
        const tool_calls = Array.from({ length: 103 }, (_, i) => {
          return { name: "Write", arguments: { file_path: `${i + 100}.txt`, content: key } };
        });
        await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
        const headers = { accept, "idempotency-key": key };
        const separator = path.includes("?") ? "&" : "?";
        const address = `/skills/${path}${query === "" ? "" : separator}${query}`;
        const answer = await client.fetch(address, { method: "POST", body: "go", headers });
        await client.fetch("/llm/mocks", { method: "DELETE" });
        return answer;
      };
      for (const answer of [await ask("a", "application/json"), await ask("a", "application/json")]) {
        expect(answer.headers.get("x-hull-warnings")).toBe("files_not_stored");
        expect((await answer.json<{ files: object[] }>()).files).toHaveLength(100);
      }
      const done = (await readEvents(await ask("b", "text/event-stream"))).at(-1);
      const warnings = [{ code: "files_not_stored", message: expect.stringContaining("lacks 3 others") }];
      expect(done).toMatchObject({ event: "done", data: { warnings, files: { length: 100 } } });
      const missing = await ask("c", "*/*", "file=202.txt");
      expect([missing.status, await missing.json()]).toMatchObject([404, { code: "file_not_found" }]);
    },
  );

  it.each([
    ["reads one of its files again if R2 does not answer once", "writes", 1, [200, "end", null]],
    [
      "answers without a file that R2 does not have ready, and warns",
      "writes",
      2,
      [200, "end", "files_not_stored"],
    ],
    [
      "answers without the file in a session too, and warns",
      "writes?session_id=kept",
      2,
      [200, "end", "files_not_stored"],
    ],
    ["fails if the call asks for that file", "writes?file=a.txt", 2, [503, "storage_unavailable", null]],
    [
      "fails if R2 does not have the file that is the answer ready",
      "makes",
      2,
      [503, "storage_unavailable", null],
    ],
  ])("%s", async (_, slug, most, expected) => {
    await client.post("/sessions", { id: "kept" });
    const tool_calls = [{ name: "Write", arguments: { file_path: "a.txt", content: "x" } }];
    await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
    const fault = { binding: "FILES", method: "get" } as const;
    const { answer: response, faults } = await withFaults(client.env, fault, most, () =>
      client.fetch(`/skills/${slug}`, { method: "POST", body: "go" }),
    );
    await client.fetch("/llm/mocks", { method: "DELETE" });
    const text = await response.text();
    const said = response.ok ? text : JSON.parse(text).code;
    expect([response.status, said, response.headers.get("x-hull-warnings")]).toEqual(expected);
    const hasFile = response.headers.get("x-hull-files")?.includes('path="a.txt"') ?? false;
    expect([faults, hasFile]).toEqual([most, most === 1]);
  });

  it("ends its events without a file that R2 does not have ready, and warns, in a session too", async () => {
    await client.post("/sessions", { id: "told" });
    for (const query of ["", "?session_id=told"]) {
      const tool_calls = [{ name: "Write", arguments: { file_path: "a.txt", content: "x" } }];
      await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
      const headers = { accept: "text/event-stream" };
      const { answer } = await withFaults(client.env, { binding: "FILES", method: "get" }, 2, async () =>
        readEvents(await client.fetch(`/skills/writes${query}`, { method: "POST", body: "go", headers })),
      );
      await client.fetch("/llm/mocks", { method: "DELETE" });
      expect(answer.map(({ event }) => event)).not.toContain("error");
      const warnings = [expect.objectContaining({ code: "files_not_stored" })];
      expect(answer.at(-1)).toMatchObject({ event: "done", data: { ok: true, files: [], warnings } });
    }
  });

  it.each([
    ["its files cannot be kept for a repeated call", "DB", "prepare", "kept_answers", 100, true],
    ["they cannot be stored, which a repeated call does", "FILES", "get", "", 2, false],
  ] as const)("answers a call with a key in a session although %s", async (...row) => {
    const [, binding, method, of, most, named] = row;
    const session = `faults-${binding}`;
    await client.post("/sessions", { id: session });
    const tool_calls = [{ name: "Write", arguments: { file_path: "a.txt", content: "x" } }];
    await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
    const headers = { "idempotency-key": session };
    const ask = async () => {
      const path = `/skills/writes?session_id=${session}`;
      const answer = await client.fetch(path, { method: "POST", body: "go", headers });
      return [answer.status, await answer.text(), answer.headers.has("x-hull-files")];
    };
    const { answer } = await withFaults(client.env, { binding, method, of }, most, ask);
    await client.fetch("/llm/mocks", { method: "DELETE" });
    expect([answer, await ask()]).toEqual([
      [200, "end", named],
      [200, "end", true],
    ]);
  });

  it("names the run's files to a call that is repeated since the first one died before its answer", async () => {
    await client.post("/sessions", { id: "died" });
    await client.fetch("/sessions/died/files/old.txt", { method: "PUT", body: "x" });
    const tool_calls = [{ name: "Write", arguments: { file_path: "new.txt", content: "x" } }];
    await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
    const headers = { "idempotency-key": "died" };
    const path = "/skills/writes?session_id=died";
    const ask = () => client.fetch(path, { method: "POST", body: "go", headers });
    await ask();
    await client.env.DB.prepare("DELETE FROM kept_answers").run();
    const [again, last] = [await ask(), await ask()];
    await client.fetch("/llm/mocks", { method: "DELETE" });
    const files = again.headers.get("x-hull-files");
    expect([again.headers.get("x-hull-replayed"), await again.text()]).toEqual(["1", "end"]);
    expect(files).toMatch(/^file_\w+;path="new.txt";[^,]*$/);
    expect(last.headers.get("x-hull-files")).toBe(files);
  });

  it("names them all to a repetition that began before that run, and does not change its files", async () => {
    await client.post("/sessions", { id: "twins" });
    const tool_calls = ["in.txt", "new.txt"].map((file_path) => {
      return { name: "Write", arguments: { file_path, content: "made" } };
    });
    await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
    const headers = { "idempotency-key": "twins" };
    const ask = (asking: Client) => {
      const body = new FormData();
      body.set("prompt", "go");
      body.set("file", new File(["given"], "in.txt"));
      return asking.fetch("/skills/writes?session_id=twins", { method: "POST", body, headers });
    };
    const { asking: twin, began, ended } = waitsForStorage();
    const waiting = ask(twin);
    await began;
    const first = await ask(client);
    await client.env.DB.prepare("DELETE FROM kept_answers").run();
    ended();
    const second = await waiting;
    await client.fetch("/llm/mocks", { method: "DELETE" });
    const named = (answer: Response) => [
      answer.status,
      ...(answer.headers.get("x-hull-files") ?? "").matchAll(/path="([^"]*)"/g).map(([, path]) => path),
    ];
    expect([named(first), named(second)]).toEqual(Array(2).fill([200, "in.txt", "new.txt"]));
    expect(second.headers.get("x-hull-replayed")).toBe("1");
    expect(await (await client.fetch("/sessions/twins/files/in.txt")).text()).toBe("made");
  });

  it("replaces a file of the session that another request changed meanwhile", async () => {
    await client.post("/sessions", { id: "strangers" });
    await client.post("/llm/mocks", [{ text: "end" }]);
    const { asking, began, ended } = waitsForStorage();
    const body = new FormData();
    body.set("prompt", "go");
    body.set("file", new File(["given"], "in.txt"));
    const headers = { "idempotency-key": "strangers" };
    const waiting = asking.fetch("/skills/writes?session_id=strangers", { method: "POST", body, headers });
    await began;
    const file = "/sessions/strangers/files/in.txt";
    await client.fetch(file, { method: "PUT", body: "theirs" });
    ended();
    expect([(await waiting).status, await (await client.fetch(file)).text()]).toEqual([200, "given"]);
    await client.fetch("/llm/mocks", { method: "DELETE" });
  });

  it("finds one of its files by either form of a name in Unicode", async () => {
    const tool_calls = [{ name: "Write", arguments: { file_path: "\u00e4.txt", content: "x" } }];
    for (const name of ["\u00e4.txt", "a\u0308.txt"]) {
      await client.post("/llm/mocks", [{ tool_calls }, { text: "end" }]);
      const path = `/skills/writes?file=${encodeURIComponent(name)}`;
      const response = await client.fetch(path, { method: "POST", body: "go" });
      expect([response.status, await response.text()]).toEqual([200, "x"]);
    }
    await client.fetch("/llm/mocks", { method: "DELETE" });
  });
});
