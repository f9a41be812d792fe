/** Forks of sessions with files and artifacts: copies of their own, seen once they are whole. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { deploymentOf } from "../../src/deployment.ts";
import { detachedContext } from "../../src/run/context.ts";
import { readText, sendText } from "../../src/run/long-text.ts";
import { clientWorkspace, sessionClient, sessionObject } from "../../src/run/session-client.ts";
import type { Adopted, ForkStep, LongText } from "../../src/session/conversation/rpc.ts";
import { bindings } from "./file-bindings.ts";
import { mockSkill } from "./served.ts";
import { type Body, client, codeOf, get, post, run, send, session, texts } from "./session-client.ts";
import { inWorld } from "./session-world.ts";

const { env } = client;
const HOOKS = "export const draw = (given) => ({ __artifact__: true, ...given });";
const draw = {
  name: "draw",
  description: "draw",
  handler: "draw",
  parameters: { type: "object", properties: {}, additionalProperties: true },
};
/** One more version of an artifact. */
const drawn = (path: string, content: string, id = "page") =>
  run(path, `draw ${content}`, {
    skills: ["forker"],
    tools: [draw],
    mock: [{ tool_calls: [{ name: "draw", arguments: { id, type: "html", content } }] }, { text: "ok" }],
  });

beforeAll(() =>
  client.publish({ forker: mockSkill("forker") }, { "hooks.js": new TextEncoder().encode(HOOKS) }),
);

const put = (path: string, file: string, body: string) =>
  client.fetch(`${path}/files/${file}`, { method: "PUT", body });
const files = async (path: string): Promise<Record<string, string>> => {
  const { data } = await get<{ data: { path: string }[] }>(`${path}/files?limit=1000`);
  const all = data.map(async (file) => {
    const response = await client.fetch(`${path}/files/${file.path}`);
    return [file.path, `${response.status} ${await response.text()}`];
  });
  return Object.fromEntries(await Promise.all(all));
};
/** What the list of files contains for each. */
const listed = async (path: string): Promise<Map<unknown, Body>> => {
  const { data } = await get<{ data: Body[] }>(`${path}/files?limit=1000`);
  return new Map(data.map((file) => [file.path, file]));
};
const page = async (path: string, version = ""): Promise<Body> => get(`${path}/artifacts/page${version}`);
const objects = async (path: string): Promise<number> =>
  (await env.FILES.list({ prefix: `sessions/default/${path.replace("/sessions/", "")}/` })).objects.length;
const fork = async (path: string, body: Body = {}): Promise<string> => {
  const response = await post(`${path}/fork`, body);
  expect(response.status).toBe(201);
  return `/sessions/${(await response.json<{ id: string }>()).id}`;
};

/** Holds the next step of a fork on its way to the child until `goOn`. */
function holdNextStep(): { underWay: () => Promise<void>; goOn: () => void } {
  const { SESSIONS } = env;
  // No promise of one object may be settled in another.
  const state = { begun: false, released: false };
  const until = async (fact: "begun" | "released"): Promise<void> => {
    while (!state[fact]) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const children = (stub: ReturnType<typeof SESSIONS.get>) =>
    new Proxy(stub, {
      get(object, name) {
        if (name !== "adopt") return Reflect.get(object, name);
        return async (...[step, part]: Parameters<typeof object.adopt>) => {
          env.SESSIONS = SESSIONS;
          state.begun = true;
          await until("released");
          return object.adopt(step, part);
        };
      },
    });
  env.SESSIONS = new Proxy(SESSIONS, {
    get(namespace, name) {
      if (name === "get") return (id: DurableObjectId) => children(namespace.get(id));
      const value: unknown = Reflect.get(namespace, name);
      return typeof value === "function" ? value.bind(namespace) : value;
    },
  });
  onTestFinished(() => {
    env.SESSIONS = SESSIONS;
    state.released = true;
  });
  return {
    underWay: () => until("begun"),
    goOn: () => {
      state.released = true;
    },
  };
}

describe("a fork", () => {
  it("begins with its parent's files and artifacts, and changes independently", async () => {
    const parent = await session();
    await drawn(parent, "<1>");
    // It comes after "page", whose last version is later.
    await drawn(parent, "<later>", "another");
    await drawn(parent, "<2>");
    await Promise.all(
      Array.from({ length: 210 }, (_, n) => put(parent, `many/${n % 7}-${n}`, `content ${n % 50}`)),
    );
    const before = await listed(parent);
    const child = await fork(parent);
    expect(before.size).toBe(210);
    expect(await listed(child)).toEqual(before);
    expect(await objects(child)).toBe(50);
    expect(await (await client.fetch(`${child}/files/many/1-8`)).text()).toBe("content 8");
    expect(await page(child)).toEqual(await page(parent));
    expect(await page(child)).toMatchObject({ content: "<2>", version: 2, versions: { length: 2 } });
    expect(await page(child, "?version=1")).toEqual(await page(parent, "?version=1"));
    const made = await get(`${parent}/artifacts`);
    expect(made).toMatchObject({ data: [{ id: "page" }, { id: "another" }] });
    expect(await get(`${child}/artifacts`)).toEqual(made);

    await put(child, "many/0-0", "the child's");
    await send("DELETE", `${parent}/files/many/1-1`);
    await drawn(child, "<3>");
    const [ofParent, ofChild] = [await listed(parent), await listed(child)];
    expect([ofParent.size, ofChild.size]).toEqual([209, 210]);
    expect(ofParent.get("many/0-0")).toEqual(before.get("many/0-0"));
    expect(ofChild.get("many/0-0")).toMatchObject({ size: "the child's".length });
    expect(ofChild.get("many/1-1")).toEqual(before.get("many/1-1"));
    expect([(await page(parent)).version, (await page(child)).version]).toEqual([2, 3]);
    expect(await texts(child)).toContain("draw <3>");
    expect(await texts(parent)).not.toContain("draw <3>");
  });

  it("needs no parent: removing one leaves the others complete, and removing all leaves nothing", async () => {
    const first = await session();
    await put(first, "a", "kept by each");
    await drawn(first, "<1>");
    const second = await fork(first);
    const third = await fork(second);
    const at = await post(`${first}/fork-at`, { keep_first: 0 });
    const fourth = `/sessions/${(await at.json<{ id: string }>()).id}`;
    expect(await get(`${third}/ancestry`)).toMatchObject({ parent_id: second.replace("/sessions/", "") });
    for (const [gone, left] of [
      [second, [first, third, fourth]],
      [first, [third, fourth]],
      [third, [fourth]],
      [fourth, []],
    ] as const) {
      expect((await send("DELETE", gone)).status).toBe(204);
      expect(await objects(gone)).toBe(0);
      for (const path of left) {
        expect(await files(path)).toEqual({ a: "200 kept by each" });
        expect(await page(path)).toMatchObject({ content: "<1>", version: 1 });
      }
    }
  });

  it("is one if two requests with the same key ask for it at the same time", async () => {
    const parent = await session();
    await put(parent, "a", "one");
    const made = await Promise.all(
      [1, 2, 3].map(() => post(`${parent}/fork`, {}, { "idempotency-key": "fork-twice" })),
    );
    const answers = await Promise.all(made.map((response) => response.json<{ id: string }>()));
    const [first] = answers;
    expect(answers).toEqual([first, first, first]);
    expect(await files(`/sessions/${first?.id}`)).toEqual({ a: "200 one" });
    expect(await get(parent)).toMatchObject({ child_ids: [first?.id] });
    await run(`/sessions/${first?.id}`, "x", { mock: [{ text: "y" }] });
    const again = await post(`${parent}/fork`, {}, { "idempotency-key": "fork-twice" });
    expect([again.status, again.headers.get("x-hull-replayed"), await again.json()]).toEqual([
      201,
      "1",
      first,
    ]);
  });

  it("has a key for one body and one route", async () => {
    const parent = await session();
    await put(parent, "a", "one");
    const key = { "idempotency-key": "one-body" };
    const { underWay, goOn } = holdNextStep();
    const first = post(`${parent}/fork-at`, { keep_first: 0 }, key);
    // The others come while the first one is carried out.
    await underWay();
    const others = [1, 0].map((keep_first) => post(`${parent}/fork-at`, { keep_first }, key));
    const route = post(`${parent}/fork`, {}, key);
    expect((await others[0])?.status).toBe(422);
    goOn();
    const made = await Promise.all([first, ...others, route]);
    expect(made.map(({ status }) => status)).toEqual([201, 422, 201, 201]);
    const [at, other, again, fork] = await Promise.all(made.map((response) => response.json<Body>()));
    expect(other).toMatchObject({ code: "idempotency_key_reused" });
    expect(again?.id).toBe(at?.id);
    expect(fork?.id).not.toBe(at?.id);
    for (const id of [at?.id, fork?.id]) expect(await files(`/sessions/${id}`)).toEqual({ a: "200 one" });
  });

  it("is made by one of two requests that give it the same name", async () => {
    const parent = await session();
    await put(parent, "a", "one");
    const dst = `${parent.replace("/sessions/", "")}-copy`;
    const made = await Promise.all([1, 2].map(() => post(`${parent}/fork`, { dst })));
    expect(made.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await files(`/sessions/${dst}`)).toEqual({ a: "200 one" });
  });

  it("has the small contents that a command wrote, each once and not in R2", async () => {
    const parent = await session();
    const asked = { requestId: "r", mockScope: "", tenant: "default", startedAt: 0 };
    const context = detachedContext(deploymentOf(env), asked, () => {});
    const workspace = clientWorkspace(sessionClient(context, parent.replace("/sessions/", "")));
    const small = await Promise.all(
      ["one", "two"].map(async (text) => ({ sha256: await sha256(text), base64: btoa(text) })),
    );
    const keys = await workspace.storeSmall(small);
    // More than one step of a fork takes.
    await workspace.changeFiles(
      Array.from({ length: 210 }, (_, n) => ({
        kind: "write" as const,
        path: `f${n}`,
        key: keys[n] ?? null,
        sha256: small[n % 2]?.sha256 ?? "",
        size: 3,
        executable: false,
        expected: null,
      })),
    );
    const child = await fork(parent);
    const copied = await files(child);
    expect([Object.keys(copied).length, copied.f0, copied.f209]).toEqual([210, "200 one", "200 two"]);
    expect(await objects(child)).toBe(0);
    const rows = await runInDurableObject(
      sessionObject({ env, tenant: "default" }, child.replace("/sessions/", "")),
      (_, { storage }) => storage.sql.exec("SELECT count(*) AS n FROM workspace_object").one().n,
    );
    expect(rows).toBe(2);
  });
});

describe("a fork that is not whole yet", () => {
  let names = 0;
  /** A child whose steps the test sends itself. */
  const begun = async () => {
    const parent = await session();
    await put(parent, "a", "one");
    const [object] = (await env.FILES.list({ prefix: `sessions/default${parent.replace("/sessions", "")}/` }))
      .objects;
    const id = `half-${++names}`;
    const stub = sessionObject({ env, tenant: "default" }, id);
    const call: ForkStep["call"] = {
      caller: { tenant: "default", id, request_id: "r", mock_scope: "" },
      parent_id: parent.replace("/sessions/", ""),
      branched_at: 0,
      request: "q",
      metadata: {},
      summary: null,
      skills: [],
    };
    const file = {
      path: "a",
      sha256: await sha256("one"),
      size: 3,
      executable: false,
      modified_at: 1,
      version: 1,
      from: object?.key ?? "",
    };
    const step = (part: object, how: Partial<ForkStep> = {}): Promise<Adopted> =>
      stub.adopt({ call, first: false, end: null, ...how }, JSON.stringify(part));
    expect(await step({ messages: [] }, { first: true })).toBe("more");
    return { path: `/sessions/${id}`, id, stub, step, file };
  };

  it("is not visible as a session, and its id is taken", async () => {
    const { path, id, step, file } = await begun();
    expect(await step({ files: [file] })).toBe("more");
    for (const route of ["", "/files", "/files/a", "/messages"]) {
      expect(await codeOf(await client.fetch(path + route))).toEqual([404, "not_found"]);
    }
    expect(await get(`${path}/exists`)).toEqual({ exists: false });
    expect(JSON.stringify(await get("/sessions?limit=1000"))).not.toContain(`"${id}"`);
    const other = await session();
    for (const response of [await post(`${other}/fork`, { dst: id }), await post("/sessions", { id })])
      expect(await codeOf(response)).toEqual([409, "session_exists"]);
    expect(await step({}, { end: { files: 1, artifacts: 0 } })).toBe("done");
    expect(await files(path)).toEqual({ a: "200 one" });
    expect(JSON.stringify(await get("/sessions?limit=1000"))).toContain(`"${id}"`);
    // A parent that did not get the answer sends it again.
    expect(await step({ messages: [] }, { first: true })).toBe("done");
  });

  it("begins again when its parent does", async () => {
    const { path, step, file } = await begun();
    await step({ files: [{ ...file, path: "b" }] });
    expect(await step({ messages: [] }, { first: true })).toBe("more");
    expect(await step({ files: [file] })).toBe("more");
    expect(await step({}, { end: { files: 1, artifacts: 0 } })).toBe("done");
    expect([await files(path), await objects(path)]).toEqual([{ a: "200 one" }, 1]);
  });

  it("is never shown if something is missing", async () => {
    const { path, step, file } = await begun();
    expect(await step({ files: [{ ...file, from: "sessions/default/gone" }] })).toBe("lost");
    expect(await step({}, { end: { files: 1, artifacts: 0 } })).toBe("lost");
    expect(await step({}, { end: { files: 0, artifacts: 1 } })).toBe("lost");
    expect((await client.fetch(path)).status).toBe(404);
  });

  it("is removed when nobody continues it", async () => {
    const { path, stub, step, file } = await begun();
    await step({ files: [file] });
    expect(await objects(path)).toBe(1);
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("UPDATE due SET at = 1");
    });
    // What it knew of its due times goes with its process.
    await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
    // Waits for what the alarm began.
    expect(await step({}, { end: { files: 1, artifacts: 0 } })).toBe("lost");
    expect(await objects(path)).toBe(0);
    expect((await post("/sessions", { id: path.replace("/sessions/", "") })).status).toBe(201);
    expect(await files(path)).toEqual({});
  });
});

/** The sessions, and the names of the files in each step of a fork. */
function steps() {
  const seen: string[][] = [];
  const SESSIONS = new Proxy(bindings.SESSIONS, {
    get(namespace, member) {
      if (member !== "get") return Reflect.get(namespace, member).bind(namespace);
      return (id: DurableObjectId) => {
        const stub = namespace.get(id);
        return {
          async adopt(step: ForkStep, part: LongText) {
            const text = await readText(part);
            const { files: sent }: { files?: { path: string }[] } = JSON.parse(text);
            if (sent !== undefined) seen.push(sent.map(({ path }) => path));
            return stub.adopt(step, sendText(text));
          },
        };
      };
    },
  });
  return { SESSIONS, seen };
}

it("a step of a fork has files of at most 8 MiB, and one that is larger has a step of its own", async () => {
  const { SESSIONS, seen } = steps();
  const MIB = 1024 * 1024;
  const sizes = { a: 3, b: 5, c: 5, d: 4, e: 1, f: 20, g: 1 };
  await inWorld({ replies: [], env: { SESSIONS } }, async (world) => {
    await world.open();
    const { byRun } = world.conversation.files;
    for (const [path, size] of Object.entries(sizes)) {
      const begun = await byRun.beginFile(null);
      if ("refused" in begun) throw new TypeError(begun.refused);
      // The manifest says how much a step copies, so the contents may be short.
      await bindings.FILES.put(begun.key, path);
      const content = { key: begun.key, sha256: await sha256(path), size: size * MIB, executable: false };
      await byRun.changeFiles([{ kind: "write", path, ...content, expected: null }]);
    }
    const request = { name: "fork", hash: "h" };
    await world.ask("fork", { dst: `${world.id}-fork`, keep_first: null, request });
    expect(seen).toEqual([["a", "b"], ["c"], ["d", "e"], ["f"], ["g"]]);
  });
});

it("metadata stays unchanged, in forks too, whatever its keys are", async () => {
  const metadata = '{"__proto__":{"a":[{"__proto__":1}]},"constructor":"b"}';
  const body = `{"id":"odd","metadata":${metadata}}`;
  expect((await client.fetch("/sessions", { method: "POST", body })).status).toBe(201);
  await post("/sessions/odd/fork", { dst: "odd2" });
  for (const path of ["/odd", "/odd2", "/odd/transcript?view=raw", "?limit=1000"])
    expect(await (await client.fetch(`/sessions${path}`)).text()).toContain(`"metadata":${metadata}`);
});
