/** A session's files on their way to the runner and back, with a real object and a real bucket. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { Deployment } from "../../src/deployment.ts";
import { detachedContext } from "../../src/run/context.ts";
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
const text = async (path: string) => {
  const object = await FILES.get((await access.findFile(path))?.key ?? "");
  return object?.text();
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
  expect(await objects()).toBe(3);
});

it("small contents are stored in parallel", async () => {
  const together = Promise.withResolvers<void>();
  const store = FILES.put.bind(FILES);
  let begun = 0;
  const put = vi.spyOn(FILES, "put").mockImplementation(async (...args: Parameters<typeof store>) => {
    begun += 1;
    if (begun === 3) together.resolve();
    await together.promise;
    return store(...args);
  });
  onTestFinished(() => put.mockRestore());
  expect(await take({ a: "1", b: "2", c: "3" })).toEqual([]);
  expect([await paths(), await text("c")]).toEqual([["a", "b", "c"], "3"]);
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

it("a content that is still being stored when its run is abandoned goes with the run's other files", async () => {
  const context = detachedContext(
    new Deployment(bindings),
    { requestId: "r", tenant: "test", startedAt: 0 },
    () => {},
  );
  const workspace = new TemporaryWorkspace(context, id);
  const [storing, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const store = FILES.put.bind(FILES);
  const put = vi.spyOn(FILES, "put").mockImplementation(async (...args: Parameters<typeof store>) => {
    storing.resolve();
    await goOn.promise;
    return store(...args);
  });
  onTestFinished(() => put.mockRestore());
  const incoming = new IncomingChanges(FILES, workspace);
  const bytes = new TextEncoder().encode("small");
  const content = { size: bytes.length, sha256: await sha256(bytes), executable: false };
  await incoming.change({ kind: "write", path: "a", ...content });
  await incoming.bytes(bytes);
  await incoming.change({ kind: "delete", path: "b" });
  await storing.promise;
  const over = incoming.abandon().then(() => workspace.destroy());
  await new Promise((resolve) => setTimeout(resolve, 20));
  goOn.resolve();
  await over;
  await expect.poll(() => put.mock.settledResults).toMatchObject([{ type: "fulfilled" }]);
  const { objects } = await FILES.list({ prefix: "temporary/test/" });
  expect(objects).toEqual([]);
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
