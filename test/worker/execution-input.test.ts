/** Inputs of calls in R2, and who removes them. */
import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { ExecutionCall } from "../../src/session/unlisted/rpc.ts";
import { client, life, newCall, textOf, withSettings, withStorage } from "./execution-world.ts";

it("a run takes its input over from the file index, once the index answers", async () => {
  const call = newCall("script");
  const { FILES, FILE_INDEX } = client.env;
  const index = () => FILE_INDEX.get(FILE_INDEX.idFromName("me"));
  const kept = () =>
    runInDurableObject(index(), (_, { storage }) =>
      Array.from(storage.sql.exec("SELECT key FROM kept"), ({ key }) => key),
    );
  const inputs = async () => {
    const { objects } = await FILES.list({ prefix: `executions/${call.id}/` });
    return objects.map(({ key }) => key);
  };
  const withInput = async (name: string): Promise<ExecutionCall> => {
    const key = `executions/${call.id}/${name}`;
    await index().keep(key, Date.now() + 3_600_000, null);
    await FILES.put(key, "two");
    return { ...call, files: [{ filename: "b", mime: "a/b", content: { key, size: 3 } }] };
  };
  const env = withSettings({});
  const release = () => Promise.reject(new TypeError("Network connection lost."));
  env.FILE_INDEX = Object.create(FILE_INDEX, {
    idFromName: { value: FILE_INDEX.idFromName.bind(FILE_INDEX) },
    get: { value: () => ({ release }) },
  });
  const key = `executions/${call.id}/one`;
  await withStorage(call.id, async (storage) => {
    const first = life(env, storage);
    expect(first.session.begin(await withInput("one"))).toBe("started");
    await first.over();
    expect(await kept()).toEqual([key]);
    expect(first.store.due.at("input")).toBeGreaterThan(Date.now());
    first.store.due.set({ input: 1 });
    const second = life(client.env, storage);
    second.alarm();
    await second.over();
    expect([await kept(), second.store.due.at("input")]).toEqual([[], null]);
    // A repeated request stores another copy, which is not needed.
    expect(second.session.begin(await withInput("two"))).toBe("finished");
    await second.over();
    expect([await kept(), await inputs()]).toEqual([[], [key]]);
  });
});

it("a run that failed before it took effect begins again with the same input", async () => {
  const call = { ...newCall("script"), digest: "0".repeat(64) };
  const key = `executions/${call.id}/input`;
  await client.env.FILES.put(key, "two");
  const files = [{ filename: "b", mime: "a/b", content: { key, size: 3 } }];
  await withStorage(call.id, async (storage) => {
    const one = life(client.env, storage);
    for (const _ of ["begun", "begun again, since no answer came"]) {
      expect(one.session.begin({ ...call, files })).toBe("started");
      expect(await textOf(one)).toContain("error");
      await one.over();
      expect(await client.env.FILES.head(key)).not.toBeNull();
    }
  });
});

it("a run keeps its input due while only that of an earlier run has been taken over", async () => {
  const call = { ...newCall("script"), digest: "0".repeat(64) };
  const { FILES, FILE_INDEX } = client.env;
  const withInput = async (name: string): Promise<ExecutionCall> => {
    const key = `executions/${call.id}/${name}`;
    await FILES.put(key, "two");
    return { ...call, files: [{ filename: "b", mime: "a/b", content: { key, size: 3 } }] };
  };
  const [one, two] = [await withInput("one"), await withInput("two")];
  const answered = Promise.withResolvers<void>();
  let asked = 0;
  const release = () => {
    asked += 1;
    return asked === 1 ? answered.promise : Promise.reject(new TypeError("Network connection lost."));
  };
  const env = withSettings({});
  env.FILE_INDEX = Object.create(FILE_INDEX, {
    idFromName: { value: FILE_INDEX.idFromName.bind(FILE_INDEX) },
    get: { value: () => ({ release }) },
  });
  await withStorage(call.id, async (storage) => {
    const only = life(env, storage);
    expect(only.session.begin(one)).toBe("started");
    expect(await textOf(only)).toContain("error");
    expect(only.session.begin(two)).toBe("started");
    answered.resolve();
    await only.over();
    expect([asked, only.store.due.at("input")]).toEqual([2, expect.any(Number)]);
  });
});
