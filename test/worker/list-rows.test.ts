/** How the rows of sessions and runs come into the lists in D1. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { utf8 } from "../../src/bytes.ts";
import { Deployment } from "../../src/deployment.ts";
import { BudgetExceeded } from "../../src/errors/budget.ts";
import type { RowNote } from "../../src/row-collector.ts";
import { flushRows, queueRows } from "../../src/session/index-rows.ts";
import { beginningCall, type RunEntry } from "../../src/session/run-entry.ts";
import { forgetRuns, indexedRun, noteRuns } from "../../src/session/run-index.ts";
import { listSessions } from "../../src/session/session-index.ts";
import { bindings } from "./file-bindings.ts";
import { listedRuns } from "./listed-runs.ts";
import { inWorld, type Reply, tool } from "./session-world.ts";

const REFUSAL = new BudgetExceeded({
  budget: "hard",
  scope: "tenant",
  window: "total",
  limit: "max_output_tokens",
  limit_value: 1,
  spent: 1,
  reserved: 0,
  requested: 1,
  resets_at: null,
});

/** A database whose transactions are counted, and wait for `before`. */
function watched(before: (batch: number) => Promise<void> | void): { DB: D1Database; batches: () => number } {
  let count = 0;
  const DB = new Proxy(bindings.DB, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== "batch") return typeof value === "function" ? value.bind(target) : value;
      return async (statements: D1PreparedStatement[]) => {
        count += 1;
        await before(count);
        return target.batch(statements);
      };
    },
  });
  return { DB, batches: () => count };
}

const ended = (id: string): { tenant: string; run: RunEntry } => {
  const at = new Date().toISOString();
  const none = { input_tokens: 0, output_tokens: 0, cost_usd: 0, price_known: true, model: null, code: null };
  const run = { id, kind: "run", name: null, session: "noted", state: "done", created_at: at } as const;
  return { tenant: "noted", run: { ...run, settled_at: at, duration_ms: 0, ...none } };
};

async function listedOf(tenant: string, session: string): Promise<string[]> {
  const data = await listedRuns({ env: bindings, tenant }, session);
  return data.map(({ id }) => id).sort();
}

/** Stops the clock, so that no time passes between two rows however busy the machine is; returns what sets it forward. */
function stoppedClock(): (ms: number) => void {
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  return (ms) => {
    now += ms;
  };
}

it("rows of sessions with long metadata are stored in several statements, each within what D1 takes", async () => {
  const values: string[] = [];
  const DB = new Proxy(bindings.DB, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== "prepare") return typeof value === "function" ? value.bind(target) : value;
      return (text: string) => {
        const statement = target.prepare(text);
        const bind = statement.bind.bind(statement);
        const noted = (...given: unknown[]) => {
          values.push(...given.map(String));
          return bind(...given);
        };
        return Object.assign(statement, { bind: noted });
      };
    },
  });
  const deployment = new Deployment({ ...bindings, DB });
  const metadata = { text: "字".repeat(16_000) };
  const of = { state: "active", created_at: new Date().toISOString(), parent_id: null, metadata } as const;
  const rows = Array.from({ length: 90 }, (_, i) => ({ tenant: "long", session: { id: `s${i}`, ...of } }));
  queueRows(deployment, rows, () => {});
  await flushRows(deployment);
  const page = { limit: 100, cursor: null, stages: false };
  expect((await listSessions({ env: bindings, tenant: "long" }, page)).data).toHaveLength(90);
  expect(Math.max(...values.map((value) => utf8(value).length))).toBeLessThan(2_000_000);
});

describe("the ends of runs", () => {
  it("are stored together, and a reader need not wait until they have been collected", async () => {
    const forward = stoppedClock();
    const { DB, batches } = watched(() => {});
    const deployment = new Deployment({ ...bindings, DB });
    const sent: Promise<unknown>[] = [];
    const background = (work: Promise<unknown>): void => void sent.push(work);
    const note = (id: string): RowNote[] => queueRows(deployment, [ended(id)], background);
    // No other row waits, so the first one is sent at once. It makes the table.
    await deployment.indexRows.settled(note("n1"), 10_000);
    expect(batches()).toBe(2);
    const all = ["n2", "n3", "n4"].flatMap(note);
    expect(sent).toHaveLength(2);
    await flushRows(deployment);
    expect(await listedOf("noted", "noted")).toEqual(["n1", "n2", "n3", "n4"]);
    expect(all.map(({ state }) => state)).toEqual(["stored", "stored", "stored"]);
    await Promise.all(sent);
    expect(batches()).toBe(3);
    // After a while without rows the next one goes at once again, after its caller's answer, and what follows it together.
    forward(100);
    const next = note("n5");
    expect(next).toEqual([{ state: "waiting" }]);
    await deployment.indexRows.settled(next, 10_000);
    expect(batches()).toBe(4);
    const later = ["n6", "n7"].flatMap(note);
    await deployment.indexRows.settled(later, 10_000);
    expect(later.map(({ state }) => state)).toEqual(["stored", "stored"]);
    expect(batches()).toBe(5);
  });

  it("go before their time is over if there are many", async () => {
    stoppedClock();
    const { DB, batches } = watched(() => {});
    const deployment = new Deployment({ ...bindings, DB });
    const sent: Promise<unknown>[] = [];
    const background = (work: Promise<unknown>): void => void sent.push(work);
    await deployment.indexRows.settled(queueRows(deployment, [ended("m0")], background), 10_000);
    const before = batches();
    const notes = Array.from({ length: 501 }, (_, i) => queueRows(deployment, [ended(`m${i}`)], background));
    // The first of them collects; the one that fills the batch sends it.
    expect(sent).toHaveLength(3);
    await sent[2];
    expect(batches()).toBe(before + 1);
    expect(notes.flat().filter(({ state }) => state === "stored")).toHaveLength(500);
    await Promise.all(sent);
    expect(notes.flat().every(({ state }) => state === "stored")).toBe(true);
  });

  it("are sent by another one if their collector has ended", async () => {
    const forward = stoppedClock();
    const deployment = new Deployment(bindings);
    await deployment.indexRows.settled(
      queueRows(deployment, [ended("before")], () => {}),
      10_000,
    );
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementationOnce((_work, ms) => real(() => {}, ms));
    queueRows(deployment, [ended("left")], () => {});
    forward(2000);
    const sent: Promise<unknown>[] = [];
    queueRows(deployment, [ended("later")], (work) => void sent.push(work));
    await Promise.all(sent);
    expect(await listedOf("noted", "noted")).toEqual(expect.arrayContaining(["later", "left"]));
  });

  it("are not stored after a session took them back", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { DB } = watched((batch) => (batch === 2 ? gate : undefined));
    const deployment = new Deployment({ ...bindings, DB });
    const [first] = queueRows(deployment, [ended("sending")], () => {});
    const flushed = flushRows(deployment);
    const [second] = queueRows(deployment, [ended("withdrawn")], () => {});
    if (first === undefined || second === undefined) throw new Error("there are no notes");
    let over = false;
    const withdrawn = deployment.indexRows.withdraw([first, second]).then(() => {
      over = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(over).toBe(false);
    open();
    await withdrawn;
    await flushed;
    await flushRows(deployment);
    expect(first.state).toBe("stored");
    const listed = await listedOf("noted", "noted");
    expect(listed).toContain("sending");
    expect(listed).not.toContain("withdrawn");
  });

  it("are not stored after a session took them back, however long the database takes", async () => {
    const forward = stoppedClock();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { DB } = watched((batch) => (batch === 2 ? gate : undefined));
    const deployment = new Deployment({ ...bindings, DB });
    const notes = queueRows(deployment, [ended("slow")], () => {});
    await expect.poll(() => notes.map(({ state }) => state)).toEqual(["sending"]);
    const flushed = flushRows(deployment);
    forward(5000);
    let over = false;
    const withdrawn = deployment.indexRows.withdraw(notes).then(() => {
      over = true;
    });
    // A reader of the list waits no longer.
    await flushed;
    await flushRows(deployment);
    expect(over).toBe(false);
    open();
    await withdrawn;
    expect(notes.map(({ state }) => state)).toEqual(["stored"]);
  });

  it("are named in the log by their tenants if they are lost", async () => {
    const { DB } = watched(() => Promise.reject(new Error("D1 is away")));
    const deployment = new Deployment({ ...bindings, DB });
    const logged = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => logged.mockRestore());
    const rows = ["acme", "other", "acme"].map((tenant, n) => ({ ...ended(`lost-${n}`), tenant }));
    queueRows(deployment, rows, () => {});
    await flushRows(deployment);
    const line = {
      event: "rows_not_stored",
      rows: 3,
      tenants: ["acme", "other"],
      error: "Error: D1 is away",
    };
    expect(logged.mock.calls.map(([text]) => JSON.parse(text))).toEqual([line]);
  });

  it("of a session are written by the session if nobody stored them", async () => {
    let failing = false;
    const { promise: seen, resolve: isSeen } = Promise.withResolvers<void>();
    // What follows the failure waits until the test has seen the list.
    let then: Promise<void> | undefined;
    const { DB } = watched(() => {
      if (!failing) return then;
      failing = false;
      then = seen;
      throw new Error("D1 is away");
    });
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], env: { DB }, asked: () => answered }, async (world) => {
      await world.open();
      await world.start("r-kept", "go");
      await expect.poll(() => listedOf("t", world.id)).toEqual(["r-kept"]);
      const row = async () => (await indexedRun({ env: bindings, tenant: "t" }, "r-kept"))?.state;
      expect(await row()).toBe("running");
      failing = true;
      answer();
      await world.ask("answer", { run_id: "r-kept", wait: "terminal" });
      await expect.poll(() => failing).toBe(false);
      expect(await row()).toBe("running");
      isSeen();
      await expect.poll(row).toBe("done");
    });
  });

  it("of a session are noted again by its next instance, since the last one may have died before", async () => {
    await inWorld({ replies: ["hi"] }, async (world) => {
      await world.open();
      await world.run("r-lost", "go");
      await world.over();
      await forgetRuns({ env: bindings, tenant: "t" }, ["r-lost"]);
      await world.revive();
      expect(await listedOf("t", world.id)).toEqual([]);
      await world.ask("view", null);
      await expect.poll(() => listedOf("t", world.id)).toEqual(["r-lost"]);
    });
  });
});

it("a run is listed as it ended, whatever ran after it and whoever writes the row", async () => {
  await inWorld({ replies: ["hi", "ho"] }, async (world) => {
    const owner = { env: bindings, tenant: "t" };
    const row = (id: string) => indexedRun(owner, id);
    await world.open();
    await world.start("r-named", "go", { agent: "poet" });
    await world.ask("answer", { run_id: "r-named", wait: "terminal" });
    await world.run("r-next", "go");
    await world.over();
    await flushRows(world.conversation.deployment);
    const before = await row("r-named");
    const { runs } = world.conversation.log.store;
    const stored = JSON.parse(runs.find("r-named")?.listed ?? "");
    expect(before).toMatchObject({ ...stored, name: "poet", state: "done" });
    expect(before?.model).toMatch(/^[^/]+\/./);
    for (const as of ["ended", "ended by an earlier version of Hull"]) {
      // Such a version leaves what the list says of the run's beginning.
      if (as !== "ended")
        runs.update("r-named", {
          listed: JSON.stringify({
            ...stored,
            state: "running",
            input_tokens: 0,
            output_tokens: 0,
          }),
        });
      await forgetRuns(owner, ["r-named"]);
      expect(world.conversation.listing.relist("r-named", "running")).toBe(true);
      const now = async () => {
        await flushRows(world.conversation.deployment);
        return row("r-named");
      };
      await expect.poll(now, { message: as }).toEqual(before);
    }
  });
});

it.each<[string, Reply]>([
  ["done", "hi"],
  ["budget_exhausted", REFUSAL],
])("a %s run that an earlier version of Hull held keeps its row in a new process", async (state, reply) => {
  await inWorld({ replies: [reply] }, async (world) => {
    const owner = { env: bindings, tenant: "t" };
    const id = `r-old-${state}`;
    const row = async () => {
      await flushRows(world.conversation.deployment);
      return indexedRun(owner, id);
    };
    await world.open();
    await world.start(id, "go", { agent: "poet" });
    await world.ask("answer", { run_id: id, wait: "terminal" });
    await expect.poll(row).toMatchObject({ name: "poet", state });
    const before = await row();
    world.store.runs.update(id, { listed: null });
    await world.revive();
    await forgetRuns(owner, [id]);
    expect(world.conversation.listing.relist(id, "running")).toBe(true);
    await expect.poll(row).toEqual(before);
  });
});

it("a session's row stays due if the session changed in any way while it was written", async () => {
  let change = (): void => {};
  const { DB } = watched(() => change());
  await inWorld({ replies: [], env: { DB } }, async (world) => {
    await world.open();
    await world.over();
    const { store } = world.conversation.log;
    const session = store.session();
    if (session === null) throw new Error("there is no session");
    const due = async (changed: () => void) => {
      store.due.set({ index: Date.now() + 60_000 });
      change = changed;
      await world.conversation.listing.write();
      change = () => {};
      return store.due.at("index");
    };
    expect(await due(() => {})).toBeNull();
    const metadata = { told: "meanwhile" };
    expect(
      await due(() => store.transaction(() => store.replaceSession({ ...session, metadata }))),
    ).not.toBeNull();
  });
});

describe("the beginning of a run", () => {
  it("is stored together with the work of others", async () => {
    const { DB, batches } = watched(() => {});
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], env: { DB }, asked: () => answered }, async (world) => {
      await world.open();
      await world.over();
      const { deployment, listing } = world.conversation;
      const work: Promise<unknown>[] = [];
      const background = (promise: Promise<unknown>): void => void work.push(promise);
      vi.spyOn(Date, "now").mockReturnValue(Date.now());
      queueRows(deployment, [ended("just-before")], background);
      await Promise.all(work);
      const before = batches();
      const collecting: (() => void)[] = [];
      const real = setTimeout;
      vi.spyOn(globalThis, "setTimeout").mockImplementation((then, ms, ...more) => {
        if (ms === 20) collecting.push(then);
        return real(ms === 20 ? () => {} : then, ms, ...more);
      });
      await world.start("r-begun", "go");
      await listing.inOrder("", async () => {});
      expect(await listedOf("t", world.id)).toEqual([]);
      queueRows(deployment, [ended("just-after")], background);
      await flushRows(deployment);
      vi.restoreAllMocks();
      expect(await listedOf("t", world.id)).toEqual(["r-begun"]);
      expect(batches() - before).toBe(1);
      for (const send of collecting) send();
      answer();
      await world.ask("answer", { run_id: "r-begun", wait: "terminal" });
    });
  });

  it("appears in a list that is read right after the answer", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], asked: () => answered }, async (world) => {
      await world.open();
      await world.start("r-at-once", "go");
      await flushRows(world.conversation.deployment);
      expect(await listedOf("t", world.id)).toEqual(["r-at-once"]);
      answer();
      await world.ask("answer", { run_id: "r-at-once", wait: "terminal" });
    });
  });

  it("does not undo later events, although it is stored late", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let held = 0;
    const { DB } = watched(() => {
      if (held !== 1) return;
      held += 1;
      return gate;
    });
    const tools = [{ ...tool("ask"), executor: "client" as const }];
    const script = { spec: { tools }, replies: [{ calls: [["ask", {}]] }] satisfies Reply[] };
    await inWorld({ ...script, env: { DB }, asked: () => answered }, async (world) => {
      await world.open();
      await world.over();
      held = 1;
      await world.start("r-late", "go");
      await expect.poll(() => held).toBe(2);
      answer();
      await world.ask("answer", { run_id: "r-late", wait: "idle" });
      await new Promise((resolve) => setTimeout(resolve, 50));
      open();
      await world.over();
      expect((await indexedRun({ env: bindings, tenant: "t" }, "r-late"))?.state).toBe("awaiting_tool");
    });
  });

  it("is noted again by the next instance, if the run is still in progress", async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await inWorld({ replies: ["hi"], asked: () => answered }, async (world) => {
      await world.open();
      await world.start("r-live", "go");
      await expect.poll(() => listedOf("t", world.id)).toEqual(["r-live"]);
      await forgetRuns({ env: bindings, tenant: "t" }, ["r-live"]);
      await world.revive();
      await world.ask("view", null);
      await expect.poll(() => listedOf("t", world.id)).toEqual(["r-live"]);
      expect((await indexedRun({ env: bindings, tenant: "t" }, "r-live"))?.state).toBe("running");
      answer();
      await world.ask("answer", { run_id: "r-live", wait: "terminal" });
    });
  });
});

describe("a new session", () => {
  const listed = async (id: string): Promise<string[]> => {
    const { data } = await listSessions(
      { env: bindings, tenant: "t" },
      { limit: 100, cursor: null, stages: false },
    );
    return data.filter((session) => session.id === id).map(({ state }) => state);
  };

  it("appears in a list that is read right after the answer, and no further write of it is due", async () => {
    await inWorld({ replies: ["hi"] }, async (world) => {
      await world.open();
      await flushRows(world.conversation.deployment);
      expect(await listed(world.id)).toEqual(["active"]);
      await expect.poll(() => world.store.due.list()).toEqual([]);
    });
  });

  it("does not wait for rows of others if a reader waits for its own", async () => {
    await inWorld({ replies: ["hi"] }, async (world) => {
      const { deployment, listing } = world.conversation;
      const real = setTimeout;
      // What is collected is sent later than anybody waits.
      vi.spyOn(globalThis, "setTimeout").mockImplementation((then, ms, ...more) =>
        real(then, ms === 200 ? 1500 : ms, ...more),
      );
      queueRows(deployment, [ended("shortly-before")], () => {});
      await world.open();
      await listing.written();
      vi.restoreAllMocks();
      expect(await listed(world.id)).toEqual(["active"]);
    });
  });

  it("writes its row itself if nobody stored it", async () => {
    const { promise: seen, resolve: isSeen } = Promise.withResolvers<void>();
    const { DB } = watched((batch) => {
      // The first one makes the table. What follows the failure waits until the test has seen the list.
      if (batch !== 2) return batch === 1 ? undefined : seen;
      throw new Error("D1 is away");
    });
    await inWorld({ replies: ["hi"], env: { DB } }, async (world) => {
      await world.open();
      expect(await listed(world.id)).toEqual([]);
      expect(world.store.due.list().map(({ kind }) => kind)).toEqual(["index"]);
      isSeen();
      await expect.poll(() => listed(world.id)).toEqual(["active"]);
      await expect.poll(() => world.store.due.list()).toEqual([]);
    });
  });

  it("is listed in its present state, although its first row is stored late", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { DB } = watched((batch) => (batch === 2 ? gate : undefined));
    await inWorld({ replies: ["hi"], env: { DB } }, async (world) => {
      const opened = world.open();
      await expect.poll(() => world.store.session()?.state).toBe("active");
      const closed = world.ask("set_state", { state: "closed", request: { name: "close", hash: "" } });
      await new Promise((resolve) => setTimeout(resolve, 50));
      open();
      await Promise.all([opened, closed]);
      await world.over();
      expect(await listed(world.id)).toEqual(["closed"]);
    });
  });

  it("is listed in its present state, although another one sends its first row late", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { DB, batches } = watched((batch) => (batch === 3 ? gate : undefined));
    await inWorld({ replies: ["hi"], env: { DB } }, async (world) => {
      const sending: Promise<unknown>[] = [];
      const background = (work: Promise<unknown>): void => void sending.push(work);
      const { deployment } = world.conversation;
      await deployment.indexRows.settled(queueRows(deployment, [ended("first")], background), 10_000);
      // It collects, and so sends the session's row too.
      queueRows(deployment, [ended("collects")], background);
      await world.open();
      await expect.poll(batches).toBe(3);
      await world.ask("set_state", { state: "closed", request: { name: "close", hash: "" } });
      open();
      await world.over();
      await Promise.all(sending);
      expect(await listed(world.id)).toEqual(["closed"]);
    });
  });

  it("is in no list before it is on disk", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = (storage: DurableObjectStorage): DurableObjectStorage =>
      new Proxy(storage, {
        get(target, name) {
          if (name === "sync") return () => gate;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    await inWorld(
      { replies: ["hi"] },
      async (world) => {
        const opened = world.open();
        await expect.poll(() => world.store.session()?.state).toBe("active");
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(await listed(world.id)).toEqual([]);
        open();
        await opened;
        await flushRows(world.conversation.deployment);
        expect(await listed(world.id)).toEqual(["active"]);
      },
      undefined,
      slow,
    );
  });
});

describe("a run", () => {
  it("has the code of the budget that ended it, even if its first row was lost and another run has begun", async () => {
    await inWorld({ replies: [REFUSAL] }, async (world) => {
      await world.open();
      for (const id of ["refused", "present"]) {
        await world.start(id, "go");
        await world.ask("answer", { run_id: id, wait: "terminal" });
      }
      await world.over();
      await forgetRuns({ env: bindings, tenant: "t" }, ["refused"]);
      world.conversation.listing.relist("refused", "running");
      await expect
        .poll(() => indexedRun({ env: bindings, tenant: "t" }, "refused"))
        .toMatchObject({ state: "budget_exhausted", code: "budget_exceeded" });
    });
  });

  it("has a price that is known unless noted otherwise; a late note does not undo that of its end", async () => {
    const begun = beginningCall("priced", "priced", Date.now());
    const end = { ...begun, state: "done", settled_at: begun.created_at, input_tokens: 1 };
    const note = (run: RunEntry) => noteRuns(bindings, [{ tenant: "priced", run }]);
    const price = async () => (await indexedRun({ env: bindings, tenant: "priced" }, "priced"))?.price_known;
    const prices: unknown[] = [];
    for (const run of [begun, end, { ...end, price_known: false }, { ...end, settled_at: null }]) {
      await note(run);
      prices.push(await price());
    }
    // The row of an end stays; then as earlier versions of Hull left it, with tokens and without, and with a price.
    for (const statement of [
      "UPDATE runs SET price_known = NULL WHERE id = 'priced'",
      "UPDATE runs SET input_tokens = 0 WHERE id = 'priced'",
      "INSERT INTO run_prices (tenant, id, price_known) VALUES ('priced', 'priced', 0)",
      "UPDATE run_prices SET price_known = 1 WHERE id = 'priced'",
    ]) {
      await bindings.DB.prepare(statement).run();
      prices.push(await price());
    }
    expect(prices).toEqual([true, true, false, false, false, true, false, true]);
    await note({ ...end, price_known: false });
    const later = new Date(Date.parse(begun.created_at) + 1000).toISOString();
    await note({ ...begun, created_at: later });
    // A call that runs again under its id begins without the price of the first run.
    expect(await price()).toBe(true);
    await note({ ...end, created_at: later, price_known: false });
    await forgetRuns({ env: bindings, tenant: "priced" }, ["priced"]);
    await note(begun);
    expect(await price()).toBe(true);
  });
});
