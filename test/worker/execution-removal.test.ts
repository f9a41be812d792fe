/** Calls that are removed, or expire, while something else happens to them. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ExecutionCall } from "../../src/session/unlisted/rpc.ts";
import {
  client,
  type Life,
  life,
  newCall,
  OPERATIONS,
  runner,
  streamedBy,
  textOf,
  withStorage,
} from "./execution-world.ts";
import { Client, LOCAL } from "./served.ts";

/** R2 whose deletions wait until the test lets them continue. */
function slowRemoval() {
  const released = Promise.withResolvers<void>();
  const removed: string[] = [];
  const begun = Promise.withResolvers<void>();
  const bucket = new Proxy(client.env.FILES, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "delete") return value.bind(target);
      return async (keys: string | string[]) => {
        begun.resolve();
        await released.promise;
        removed.push(...[keys].flat());
        return target.delete(keys);
      };
    },
  });
  return { env: { ...client.env, FILES: bucket }, release: released.resolve, begun: begun.promise, removed };
}

describe("a run that begins again while the one before is being removed", () => {
  const LARGE = 9 * 1024 * 1024;
  /** A call whose input and answer are both in R2; the input is under a key of its own. */
  async function largeCall(id: string, key: string): Promise<ExecutionCall> {
    await client.env.FILES.put(key, "input");
    const files = [{ filename: "a", mime: "a/b", content: { key, size: 5 } }];
    return { ...newCall("script"), id, files };
  }
  /** What R2 holds of a call, answers without what makes their keys their own. */
  const keysOf = async (id: string): Promise<string[]> => {
    const { objects } = await client.env.FILES.list({ prefix: `executions/${id}/` });
    return objects.map(({ key }) => plain(key)).sort();
  };
  const plain = (key: string): string => key.replace(/body-[0-9a-f-]{36}$/, "body");
  const lengthOf = async (each: Life): Promise<number> => (await textOf(each)).length;

  beforeEach(() => {
    runner.behave = (execution) => {
      const piece = "x".repeat(32 * 1024);
      for (let n = 0; n < LARGE / piece.length; n += 1) execution.stdout.push(piece);
      execution.ended = true;
    };
  });

  it("DELETE: the new run keeps its input and its answer, nothing of the old one is left", async () => {
    const { id } = newCall("script");
    const key = (n: number): string => `executions/${id}/input-${n}`;
    const { env, release, removed } = slowRemoval();
    await withStorage(id, async (storage) => {
      const one = life(env, storage);
      one.session.begin(await largeCall(id, key(1)));
      expect(await lengthOf(one)).toBe(LARGE);
      expect(await keysOf(id)).toEqual([`executions/${id}/body`, key(1)]);
      const second = await largeCall(id, key(2));
      expect(await one.session.cancel("me")).toBe("removed");
      expect(one.session.status("me")).toBeNull();
      expect(one.session.begin(second)).toBe("started");
      expect(await lengthOf(one)).toBe(LARGE);
      release();
      await one.over();
      expect(new Set(removed.map(plain))).toEqual(new Set([`executions/${id}/body`, key(1)]));
      expect(await keysOf(id)).toEqual([`executions/${id}/body`, key(2)]);
      expect(await lengthOf(life(client.env, storage))).toBe(LARGE);
      expect(runner.begun).toEqual([id, `${id}-1`]);
    });
  });

  it("expiry: what began while R2 was being cleared is not wiped", async () => {
    const { id } = newCall("script");
    const key = (n: number): string => `executions/${id}/input-${n}`;
    const { env, release, begun } = slowRemoval();
    await withStorage(id, async (storage) => {
      const one = life(client.env, storage);
      one.session.begin(await largeCall(id, key(1)));
      expect(await lengthOf(one)).toBe(LARGE);
      await one.over();
      storage.sql.exec("UPDATE call SET expires_at = 1; UPDATE due SET at = 1");
      const two = life(env, storage);
      two.alarm();
      await begun;
      expect(two.session.begin(await largeCall(id, key(2)))).toBe("started");
      release();
      await two.over();
      expect(await lengthOf(two)).toBe(LARGE);
      expect(await keysOf(id)).toEqual([`executions/${id}/body`, key(2)]);
      // It is removed in its turn, with all that R2 holds of it.
      storage.sql.exec("UPDATE call SET expires_at = 1; UPDATE due SET at = 1");
      const three = life(client.env, storage);
      three.alarm();
      await three.over();
      expect([await keysOf(id), three.session.here, await storage.getAlarm()]).toEqual([[], false, null]);
    });
  });

  it("expiry: what R2 does not remove now is removed later", async () => {
    const call = newCall("asks");
    await withStorage(call.id, async (storage) => {
      const bucket = new Proxy(client.env.FILES, {
        get: (target, name) => {
          if (name === "list") return () => Promise.reject(new TypeError("R2 is away"));
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      for (const [env, left] of [
        [{ ...client.env, FILES: bucket }, true],
        [client.env, false],
      ] as const) {
        const one = life(env, storage);
        if (left) one.session.begin(call);
        if (left) await textOf(one);
        storage.sql.exec("UPDATE call SET expires_at = 1");
        one.store.due.set({ expiry: 1 });
        one.alarm();
        await one.over();
        expect(one.session.here).toBe(left);
        if (left) expect(one.store.due.at("expiry")).toBeGreaterThan(Date.now());
      }
    });
  });

  it("expiry: a row that D1 stores after the session expired is not recorded in the session", async () => {
    const call = newCall("asks");
    const stored = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let held = false;
    runner.behave = (execution) => {
      held = true;
      execution.ended = true;
    };
    const database = new Proxy(client.env.DB, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "batch") return value.bind(target);
        return async (statements: D1PreparedStatement[]) => {
          if (held) reached.resolve();
          if (held) await stored.promise;
          return target.batch(statements);
        };
      },
    });
    const failed = vi.spyOn(console, "error");
    await withStorage(call.id, async (storage) => {
      const one = life({ ...client.env, DB: database }, storage);
      one.session.begin(call);
      await textOf(one);
      await reached.promise;
      storage.sql.exec("UPDATE call SET expires_at = 1");
      one.store.due.set({ expiry: 1 });
      one.alarm();
      await vi.waitFor(() => expect(one.session.here).toBe(false), 20_000);
      stored.resolve();
      await one.over();
      expect([failed.mock.calls, await storage.getAlarm()]).toEqual([[], null]);
    });
    failed.mockRestore();
  });

  it("a run attempt that ends late does not change the new run, and leaves nothing in R2", async () => {
    const { id } = newCall("script");
    const stored = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    let times = 0;
    const bucket = new Proxy(client.env.FILES, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "createMultipartUpload") return value.bind(target);
        return async (...args: Parameters<R2Bucket["createMultipartUpload"]>) => {
          times += 1;
          if (times === 1) {
            reached.resolve();
            await stored.promise;
          }
          return target.createMultipartUpload(...args);
        };
      },
    });
    await withStorage(id, async (storage) => {
      const one = life({ ...client.env, FILES: bucket }, storage);
      one.session.begin({ ...newCall("script"), id });
      await reached.promise;
      expect(await one.session.cancel("me")).toBe("cancelled");
      expect(await one.session.cancel("me")).toBe("removed");
      runner.behave = (execution) => {
        execution.stdout.push("new");
        execution.ended = true;
      };
      expect(one.session.begin({ ...newCall("script"), id })).toBe("started");
      expect(await textOf(one)).toBe("new");
      stored.resolve();
      await one.over();
      expect(await textOf(life(client.env, storage))).toBe("new");
      expect(await streamedBy(one)).toEqual({ names: ["start", "done"], text: "new" });
      expect(await keysOf(id)).toEqual([]);
    });
  });

  it("the new run finds none of the files of the old one", async () => {
    const turn = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] });
    const mock = [
      turn("Glob", { pattern: "**" }),
      turn("Write", { file_path: "note.txt", content: "old" }),
      { text: "done" },
    ];
    const body = { prompt: "go", options: { provider: "mock", workspace_tools: true, mock } };
    const asked = { account: "caller:-", operation: "runs", until: "terminal", body };
    const call = { ...newCall("runs"), text: new TextEncoder().encode(JSON.stringify(asked)) };
    await withStorage(call.id, async (storage) => {
      const one = life(client.env, storage);
      for (const again of [false, true]) {
        if (again) expect(await one.session.cancel("me")).toBe("removed");
        expect(one.session.begin(call)).toBe("started");
        const { transcript } = JSON.parse(await textOf(one));
        const [found] = transcript.messages.filter(({ role }: { role: string }) => role === "tool");
        expect(JSON.stringify(found)).not.toContain("note.txt");
      }
      await one.over();
    });
  });
});

it("a cancelled call is stopped at the runner to which its command went: that of its files", async () => {
  const asked: string[] = [];
  const RUNNER = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      runnerSecret: () => "s".repeat(32),
      fetch: (url: string, init: RequestInit) => {
        asked.push(`${init.method} ${name}`);
        return runner.fetch(url, init);
      },
    }),
  };
  runner.behave = () => {};
  const env = Object.assign(new Client(LOCAL).env, { RUNNER });
  for (let n = 0; n < 4; n += 1) {
    asked.length = 0;
    const body = { prompt: "go", options: { provider: "mock", skill: "commands" } };
    const text = new TextEncoder().encode(JSON.stringify({ ...JSON.parse(OPERATIONS.runs ?? ""), body }));
    const call = { ...newCall("runs"), text };
    await withStorage(call.id, async (storage) => {
      // As an earlier version of Hull makes it.
      const table =
        "CREATE TABLE handed_in (execution_id TEXT PRIMARY KEY, admitted INTEGER NOT NULL) WITHOUT ROWID";
      if (n % 2 === 0) storage.sql.exec(table);
      life(env, storage).session.begin(call);
      await vi.waitFor(() => expect(asked).toHaveLength(1), 20_000);
      // The process that began it is gone.
      const after = life(env, storage);
      expect(await after.session.cancel("me")).toBe("cancelled");
      const [submitted = "", ...stops] = asked;
      expect(new Set(stops)).toEqual(new Set([submitted.replace("POST", "DELETE")]));
    });
  }
});
