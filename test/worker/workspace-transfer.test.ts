/** A session's files on their way to the runner and back, with a real object and a real bucket. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { Deployment } from "../../src/deployment.ts";
import { detachedContext } from "../../src/run/context.ts";
import { allContents, BYTES_AT_ONCE, SMALL_BYTES } from "../../src/run/workspace/access.ts";
import { readContent } from "../../src/run/workspace/store.ts";
import { TemporaryWorkspace } from "../../src/run/workspace/temporary.ts";
import { IncomingChanges, workspaceSource } from "../../src/run/workspace/transfer.ts";
import { Workspace } from "../../src/session/workspace/workspace.ts";
import { FRAME, FrameDecoder, workspaceManifest } from "../../src/tool/protocol.ts";
import { bindings } from "./file-bindings.ts";
import { accessTo } from "./workspace-access.ts";

const { FILES, SESSIONS } = bindings;
const LIMITS = { bytes: 20 * 1024 * 1024, files: 4 };

let id = "";
beforeEach(() => {
  id = crypto.randomUUID();
});

const prefix = () => `sessions/test/${id}/files/`;
const within = <T>(work: (workspace: Workspace) => T | Promise<T>): Promise<T> =>
  runInDurableObject(SESSIONS.get(SESSIONS.idFromName(id)), (_, { storage }) =>
    work(new Workspace({ storage, bucket: FILES, prefix: prefix(), limits: LIMITS })),
  );
const access = accessTo(within);

/** Hands in what one execution did: texts are written, null is deleted. */
async function take(changes: Record<string, string | null>, executable = false, workspace = access) {
  const incoming = new IncomingChanges(FILES, workspace);
  for (const [path, text] of Object.entries(changes)) {
    if (text === null) {
      await incoming.change({ kind: "delete", path });
      continue;
    }
    const bytes = new TextEncoder().encode(text);
    await incoming.change({
      kind: "write",
      path,
      size: bytes.length,
      sha256: await sha256(bytes),
      executable,
    });
    for (let at = 0; at < bytes.length; at += 65_536) await incoming.bytes(bytes.subarray(at, at + 65_536));
  }
  return incoming.finish();
}
const paths = async () => (await access.listFiles(null, 100)).map(({ path }) => path);
const objects = async () => (await FILES.list({ prefix: prefix() })).objects.length;
const sql = (query: string) =>
  runInDurableObject(SESSIONS.get(SESSIONS.idFromName(id)), (_, { storage }) =>
    storage.sql.exec(query).toArray(),
  );
const contents = async () => (await sql("SELECT key FROM workspace_object")).length;
const text = async (path: string) => {
  const file = await access.findFile(path);
  const bytes = file === null ? null : await readContent(FILES, file);
  return bytes === null ? undefined : new TextDecoder().decode(bytes);
};

it("changes reach the session all at once; applied again they change nothing", async () => {
  const large = "x".repeat(9 * 1024 * 1024);
  const changes = { a: "one", "d/b": "one", large, empty: "" };
  expect(await take(changes, true)).toEqual([]);
  expect(await access.workspaceVersion()).toMatchObject({ version: 4 });
  expect(await text("d/b")).toBe("one");
  expect((await text("large"))?.length).toBe(large.length);
  expect((await access.findFile("a"))?.executable).toBe(true);
  expect(await take(changes, true)).toEqual([]);
  expect(await access.workspaceVersion()).toMatchObject({ version: 4 });
  await within((w) => w.collect(Date.now() + 1));
  expect([await objects(), await contents()]).toEqual([1, 3]);
});

it("small contents go to the session together, and none of them to R2", async () => {
  const calls: number[] = [];
  const counting = {
    ...access,
    storeSmall: (contents: Parameters<typeof access.storeSmall>[0]) => {
      calls.push(contents.length);
      return access.storeSmall(contents);
    },
  };
  expect(await take({ a: "1", b: "2", "c/d": "1", empty: "" }, false, counting)).toEqual([]);
  expect([await paths(), await text("b"), await text("c/d"), await text("empty")]).toEqual([
    ["a", "b", "c/d", "empty"],
    "2",
    "1",
    "",
  ]);
  expect([calls, await objects()]).toEqual([[4], 0]);
});

it("a call takes about as many bytes as one answer has", async () => {
  const parts = BYTES_AT_ONCE / SMALL_BYTES;
  const texts = Array.from({ length: parts + 2 }, (_, n) => `${n}`.padEnd(SMALL_BYTES, "x"));
  let calls = 0;
  const counting = {
    ...access,
    storeSmall: (contents: Parameters<typeof access.storeSmall>[0]) => {
      calls += 1;
      return access.storeSmall(contents);
    },
  };
  // More files than the session may have: their contents are stored, and dropped again.
  const named = Object.fromEntries(texts.map((content, n) => [`f${n}`, content]));
  expect(await take(named, false, counting)).toHaveLength(texts.length - LIMITS.files);
  expect([calls, await objects()]).toEqual([2, 0]);
  await within((w) => w.collect(Date.now() + 1));
  expect(await contents()).toBe(LIMITS.files);
  const digests = await Promise.all(["f0", "f1", "f2", "f3"].map(async (p) => sha256((await text(p)) ?? "")));
  const asked = [...digests, ...digests, ...digests, await sha256("unknown")];
  expect((await access.contents(asked)).length).toBeLessThan(asked.length);
  const found = await Array.fromAsync(allContents(access, asked));
  expect(found.map(({ sha256 }) => sha256)).toEqual(asked);
  expect(found.at(-1)?.content).toBeNull();
});

it("the tables of an earlier version get their column with the first small content", async () => {
  const early = await access.beginFile({ path: "early", expected: null, size: 4 });
  if ("refused" in early) return expect.fail();
  await FILES.put(early.key, "text");
  const write = { kind: "write", path: "early", key: early.key, executable: false, expected: null } as const;
  await access.changeFiles([{ ...write, sha256: await sha256("text"), size: 4 }]);
  const columns = async () => (await sql("SELECT * FROM pragma_table_info('workspace_object')")).length;
  expect([await text("early"), await columns()]).toEqual(["text", 5]);
  await take({ late: "more" });
  expect([await text("early"), await text("late"), await columns()]).toEqual(["text", "more", 6]);
});

it("a small content goes with its last file, after a while", async () => {
  await take({ a: "1", b: "2" });
  await take({ a: null, b: "3" });
  expect(await contents()).toBe(3);
  await within((w) => w.collect(Date.now() + 2 * 3_600_000));
  expect([await contents(), await text("b")]).toEqual([1, "3"]);
});

it("a file replaces a folder, and a folder a file; deletions make room first", async () => {
  await take({ a: "file", "b/c": "in a folder", d: "1", e: "2" });
  expect(await take({ a: null, "b/c": null, "a/x": "in a folder", b: "file" })).toEqual([]);
  expect(await paths()).toEqual(["a/x", "b", "d", "e"]);
  expect(await take({ d: null, f: "3", g: "4" })).toEqual([{ path: "g", why: "full" }]);
  expect(await take({ gone: null, "f/inside": "x" })).toEqual([{ path: "f/inside", why: "path" }]);
});

it("changes reach the files of a run without a session too", async () => {
  const origin = { requestId: "r", tenant: "transfer", startedAt: 0 };
  const workspace = new TemporaryWorkspace(
    detachedContext(new Deployment(bindings), origin, () => {}),
    id,
  );
  onTestFinished(() => workspace.destroy());
  await take({ a: "file", "b/c/d": "1", "b/c/e": "2" }, false, workspace);
  expect(await take({ "b/c/d": null, b: "file", "b/c": "file" }, false, workspace)).toEqual([
    { path: "b", why: "path" },
    { path: "b/c", why: "path" },
  ]);
  expect(await take({ a: null, "b/c/e": null, "a/x": "in a folder", b: "file" }, false, workspace)).toEqual(
    [],
  );
  expect((await workspace.listFiles(null, 100)).map(({ path }) => path)).toEqual(["a/x", "b"]);
});

it("content that differs from its declaration changes nothing, nor does an abandoned run", async () => {
  const wrong = new IncomingChanges(FILES, access);
  await wrong.change({ kind: "write", path: "a", size: 2, sha256: await sha256("ok"), executable: false });
  await wrong.bytes(new TextEncoder().encode("no"));
  await expect(wrong.finish()).rejects.toMatchObject({ code: "runner_protocol_error" });
  const left = new IncomingChanges(FILES, access);
  await left.change({ kind: "write", path: "b", size: 2, sha256: await sha256("ok"), executable: false });
  await left.abandon();
  const told = new IncomingChanges(FILES, access);
  await told.change({ kind: "refused", path: "link", reason: "symlink" });
  expect(await told.finish()).toEqual([{ path: "link", why: "symlink" }]);
  expect(await paths()).toEqual([]);
});

it("what a run without a session stored is gone with it, in memory and in R2", async () => {
  const context = detachedContext(
    new Deployment(bindings),
    { requestId: "r", tenant: "test", startedAt: 0 },
    () => {},
  );
  const workspace = new TemporaryWorkspace(context, id);
  const stored = async () => (await FILES.list({ prefix: "temporary/test/" })).objects.length;
  // Base64 of so many does not fit into memory.
  const parts = Array.from({ length: 28 }, (_, n) => `${n}`.padEnd(SMALL_BYTES, "x"));
  expect(await take(Object.fromEntries(parts.map((part, n) => [`f${n}`, part])), false, workspace)).toEqual(
    [],
  );
  for (const n of [0, 27]) {
    const file = await workspace.findFile(`f${n}`);
    const bytes = file === null ? null : await readContent(FILES, file);
    expect(new TextDecoder().decode(bytes ?? undefined)).toBe(parts[n]);
  }
  expect(await stored()).toBeGreaterThan(0);
  expect(await stored()).toBeLessThan(10);
  const incoming = new IncomingChanges(FILES, workspace);
  const large = new Uint8Array(9 * 1024 * 1024);
  const content = { size: large.length, sha256: await sha256(large), executable: false };
  await incoming.change({ kind: "write", path: "large", ...content });
  await incoming.bytes(large);
  await incoming.abandon();
  await workspace.destroy();
  expect(await stored()).toBe(0);
});

it("if one small content of a run cannot be stored, the others are not on their way when the run ends", async () => {
  const origin = { requestId: "r", tenant: "late", startedAt: 0 };
  const workspace = new TemporaryWorkspace(
    detachedContext(new Deployment(bindings), origin, () => {}),
    id,
  );
  const store = FILES.put.bind(FILES);
  const keys = new Set<string>();
  const put = vi.spyOn(FILES, "put").mockImplementation(async (...args: Parameters<typeof store>) => {
    // The first key is alone in its call, since the contents before it are in memory.
    if ([...keys.add(args[0])].indexOf(args[0]) === 1) throw new TypeError("Network connection lost.");
    await new Promise((resolve) => setTimeout(resolve, 600));
    return store(...args);
  });
  onTestFinished(() => put.mockRestore());
  const parts = Array.from({ length: 28 }, (_, n) => `${n}`.padEnd(SMALL_BYTES, "x"));
  const files = Object.fromEntries(parts.map((part, n) => [`f${n}`, part]));
  await expect(take(files, false, workspace)).rejects.toThrow("Network connection lost.");
  expect(keys.size).toBeGreaterThan(2);
  expect(put.mock.settledResults.filter(({ type }) => type === "incomplete")).toEqual([]);
  await workspace.destroy();
  expect((await FILES.list({ prefix: "temporary/late/" })).objects).toEqual([]);
});

it("a content that is longer than it was said to be is not taken", async () => {
  const incoming = new IncomingChanges(FILES, access);
  await incoming.change({ kind: "write", path: "a", size: 2, sha256: await sha256("ok"), executable: false });
  await expect(incoming.bytes(new TextEncoder().encode("okay"))).rejects.toMatchObject({
    code: "runner_protocol_error",
  });
});

it("the runner is given a manifest that it accepts, and the contents that it asks for, though R2 fails once", async () => {
  const large = "y".repeat(200_000);
  await take({ a: "one", b: "one", large });
  const source = workspaceSource(FILES, access);
  const manifest = workspaceManifest.parse(JSON.parse(await source.manifest()));
  expect(manifest).toMatchObject({
    ...(await access.workspaceVersion()),
    files: [{ path: "a" }, { path: "b" }, {}],
  });
  const digests = [await sha256("one"), await sha256(large)];
  const decoder = new FrameDecoder();
  const got: string[] = [];
  const get = vi.spyOn(FILES, "get").mockRejectedValueOnce(new TypeError("Network connection lost."));
  onTestFinished(() => get.mockRestore());
  for await (const chunk of source.contents(digests)) {
    for (const { type, payload } of decoder.push(chunk)) {
      const part = new TextDecoder().decode(payload);
      if (type === FRAME.file) got.push("");
      else got[got.length - 1] += part;
      if (type === FRAME.file) expect(JSON.parse(part).sha256).toBe(digests[got.length - 1]);
    }
  }
  expect(got).toEqual(["one", large]);
  await expect(new Response(source.contents([await sha256("unknown")])).text()).rejects.toThrow();
});
