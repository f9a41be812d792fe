/** What an execution survives: its life ends after any write, and the next one goes on (design.md §2.3). */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import { Execution } from "../../src/session/execution/execution.ts";
import type { ExecutionCall } from "../../src/session/execution/rpc.ts";
import { ExecutionStore } from "../../src/session/execution/store.ts";
import { HandedIn } from "../../src/session/handed-in.ts";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";

const client = new Client({ ...LOCAL, HULL_RUNNER_URL: RUNNER_URL, HULL_RUNNER_SECRET: "s".repeat(32) });
const digests = new Map<string, string>();
let runner: FakeRunner;

beforeAll(async () => {
  await client.publish({
    asks: mockSkill("asks", "tools:\n  - name: look\n    description: Looks.\n    command: [look]\n"),
    looks: mockSkill(
      "looks",
      "tools:\n  - name: look\n    description: Looks.\n    command: [look]\n    idempotent: true\n",
    ),
    script: "---\nname: script\ndescription: A script\nrun: [work]\n---\nWorks.\n",
  });
  for (const { slug, version } of await (await client.fetch("/skills")).json<
    { slug: string; version: string }[]
  >()) {
    digests.set(slug, version);
  }
});

beforeEach(() => {
  runner = new FakeRunner();
  vi.stubGlobal("fetch", runner.fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

let count = 0;
/** A call of its own id. */
function newCall(skill: string): ExecutionCall {
  count += 1;
  const id = `ex_${count.toString(16).padStart(32, "0")}`;
  const text = new TextEncoder().encode("what is it");
  const digest = digests.get(skill) ?? "";
  return { id, caller: "me", skill, digest, request_hash: "h", request_id: "request-1", text, files: [] };
}

class Died extends Error {}

/** A store that takes `writes` writes and is then out of reach, as it is for a process that is dead. */
function mortal(
  storage: DurableObjectStorage,
  writes: number,
): { store: ExecutionStore; died: () => boolean } {
  const store = new ExecutionStore(storage);
  let left = writes;
  const writing = [
    "create",
    "begin",
    "settle",
    "noteRecovery",
    "appendRecord",
    "appendEvent",
    "note",
    "writeContent",
  ];
  const dying = <T extends object>(whole: T): T =>
    new Proxy(whole, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (value instanceof HandedIn) return dying(value);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (left < 0) throw new Died();
          if (writing.includes(String(name))) {
            left -= 1;
            if (left < 0) throw new Died();
          }
          return Reflect.apply(value, target, args);
        };
      },
    });
  return { store: dying(store), died: () => left < 0 };
}

interface Life {
  execution: Execution;
  /** Resolves when nothing of this life is under way any more. */
  over: () => Promise<void>;
}

function life(env: Bindings, storage: DurableObjectStorage, store?: ExecutionStore): Life {
  const work: Promise<unknown>[] = [];
  const background = (promise: Promise<unknown>): void => void work.push(promise);
  const execution = new Execution({ storage, env, background, ...(store === undefined ? {} : { store }) });
  return { execution, over: async () => void (await Promise.allSettled(work)) };
}

/** Runs `test` with the storage of an object of its own. */
const withStorage = (id: string, test: (storage: DurableObjectStorage) => Promise<void>): Promise<void> => {
  const namespace = client.env.EXECUTIONS;
  return runInDurableObject(namespace.get(namespace.idFromName(id)), (_, state) => test(state.storage));
};

async function textOf({ execution }: Life): Promise<string> {
  const answer = await execution.answer("me");
  if (!answer?.ok) return `error: ${answer?.error}`;
  return new Response(answer.body).text();
}

interface Told {
  names: string[];
  /** Text of all deltas that no later `round {restarted}` takes back. */
  text: string;
}

async function toldBy({ execution }: Life): Promise<Told> {
  const events = await execution.events("me", 0, false);
  const lines = (events?.ok ? await new Response(events.body).text() : "").trim().split("\n\n");
  const names: string[] = [];
  let text = "";
  for (const [index, line] of lines.entries()) {
    expect(line).toMatch(new RegExp(`^id: ex_[0-9a-f]{32}:${index + 1}\n`));
    const name = /^event: (.*)$/m.exec(line)?.[1] ?? "";
    const data = JSON.parse(/^data: (.*)$/m.exec(line)?.[1] ?? "{}");
    if (data.restarted) text = "";
    else names.push(name);
    if (name === "delta") text += data.text;
  }
  return { names: names.filter((name) => name !== "delta"), text };
}

describe("a run whose process dies after any of its writes", () => {
  it.each(["asks", "script"])(
    "%s: ends once, with the same answer, and runs its process once",
    async (skill) => {
      let expected: { answer: string; names: string[] } | null = null;
      let deaths = 0;
      for (let writes = 1000; ; writes = writes === 1000 ? 1 : writes + 1) {
        const call = newCall(skill);
        runner.begun.length = 0;
        let died = false;
        await withStorage(call.id, async (storage) => {
          const first = mortal(storage, writes);
          const before = life(client.env, storage, first.store);
          before.execution.begin(call);
          await before.over();
          died = first.died();
          const after = life(client.env, storage);
          const answer = await textOf(after);
          const { names, text } = await toldBy(after);
          expected ??= { answer, names };
          expect({ writes, answer, names }).toEqual({ writes, ...expected });
          expect(text).toBe(answer);
          expect(runner.begun).toHaveLength(1);
          expect(await textOf(life(client.env, storage))).toBe(answer);
        });
        if (died) deaths += 1;
        else if (writes !== 1000) break;
      }
      expect(expected).toMatchObject({ answer: expect.stringContaining("out") });
      expect(deaths).toBeGreaterThan(5);
    },
  );

  it("a later life has the input, in the object or in R2", async () => {
    const call = newCall("script");
    await client.env.FILES.put("executions/large", "two");
    const files: ExecutionCall["files"] = [
      { filename: "a.bin", mime: "a/b", content: new TextEncoder().encode("one") },
      { filename: "b.bin", mime: "a/b", content: { key: "executions/large", size: 3 } },
    ];
    runner.begun.length = 0;
    await withStorage(call.id, async (storage) => {
      const first = life(client.env, storage, mortal(storage, 1).store);
      first.execution.begin({ ...call, files });
      await first.over();
      expect(runner.begun).toEqual([]);
      expect(await textOf(life(client.env, storage))).toBe("out");
    });
    expect(runner.executions.get(call.id)?.input).toEqual([
      ["a.bin", "one"],
      ["b.bin", "two"],
      ["stdin", "what is it"],
    ]);
  });

  it("a run that gets nothing done in three further lives is given up", async () => {
    const call = newCall("asks");
    await withStorage(call.id, async (storage) => {
      life(client.env, storage, mortal(storage, 1).store).execution.begin(call);
      for (let lives = 0; lives < 4; lives += 1) {
        const next = life(client.env, storage, mortal(storage, 1).store);
        await next.execution.wake();
        await next.over();
      }
      const last = life(client.env, storage);
      await last.execution.wake();
      await last.over();
      expect(await textOf(last)).toContain('"code":"execution_lost"');
    });
    expect(runner.begun).toEqual([]);
  });
});

describe("a process that outlives the one who called it", () => {
  /** A run whose caller dies while its process is under way, having told `told`. */
  async function orphaned(
    skill: string,
    told: string,
    then: (storage: DurableObjectStorage, id: string) => Promise<void>,
  ): Promise<void> {
    const call = newCall(skill);
    runner.behave = (execution) => execution.stdout.push(told);
    await withStorage(call.id, async (storage) => {
      const { store } = mortal(storage, 1000);
      const before = life(client.env, storage, store);
      before.execution.begin(call);
      await vi.waitFor(() => expect(runner.begun).toHaveLength(1), 20_000);
      await vi.waitFor(
        () => expect(store.handedIn.ids().map((id) => store.handedIn.known(id))).toEqual(["admitted"]),
        20_000,
      );
      await new Promise((resolve) => setTimeout(resolve, 60));
      await then(storage, runner.begun[0] ?? "");
    });
  }
  const finish = (id: string, further: string): void => {
    const execution = runner.executions.get(id);
    execution?.stdout.push(further);
    if (execution !== undefined) execution.ended = true;
  };

  it("S84: a script's output is complete, and told once", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      finish(id, "two");
      const after = life(client.env, storage);
      expect(await textOf(after)).toBe("one two");
      expect(await toldBy(after)).toEqual({ names: ["start", "done"], text: "one two" });
      expect(runner.begun).toHaveLength(1);
    });
  });

  it("S85: one that the runner knows nothing of is lost, not run again", async () => {
    await orphaned("script", "one ", async (storage) => {
      runner.executions.clear();
      const after = life(client.env, storage);
      expect(await textOf(after)).toContain('"code":"execution_lost"');
      expect((await toldBy(after)).names).toEqual(["start", "error", "done"]);
      expect(runner.begun).toHaveLength(1);
      // The answer of every later call, too.
      expect(await textOf(life(client.env, storage))).toContain('"code":"execution_lost"');
    });
  });

  it("the model is told that a lost tool may have taken effect", async () => {
    await orphaned("asks", "one ", async (storage) => {
      runner.executions.clear();
      const after = life(client.env, storage);
      expect(await textOf(after)).toMatch(
        /The tool look failed:[\s\S]*outcome_unknown[\s\S]*may or may not have taken effect/,
      );
      expect(runner.begun).toHaveLength(1);
    });
  });

  it("a lost tool that is declared idempotent is run once more, and followed from then on", async () => {
    await orphaned("looks", "one ", async (storage, id) => {
      runner.executions.clear();
      runner.behave = (execution) => {
        execution.stdout.push("seen again");
        execution.ended = true;
      };
      expect(await textOf(life(client.env, storage))).toContain("seen again");
      expect(runner.begun).toEqual([id, `${id}-again`]);
    });
  });

  it("another life follows it although its own settings differ by now", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      storage.sql.exec("UPDATE handed_in SET admitted = 0");
      finish(id, "two");
      const env = new Client({
        ...LOCAL,
        HULL_RUNNER_URL: RUNNER_URL,
        HULL_RUNNER_SECRET: "s".repeat(32),
        HULL_CONFIG: '{"grace_ms":1}',
      }).env;
      expect(await textOf(life(env, storage))).toBe("one two");
      expect(runner.begun).toHaveLength(1);
    });
  });

  it("cancelling stops it and settles the run, once", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      const after = life(client.env, storage);
      expect(await after.execution.cancel("someone else")).toBeNull();
      expect(await after.execution.cancel("me")).toBe("cancelled");
      expect(runner.cancelled).toContain(id);
      finish(id, "two");
      expect(after.execution.status("me")).toMatchObject({ status: "cancelled" });
      expect(await textOf(after)).toContain('"code":"execution_cancelled"');
      expect(await after.execution.cancel("me")).toBe("removed");
      expect(after.execution.status("me")).toBeNull();
    });
  });
});
