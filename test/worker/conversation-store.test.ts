/** The storage of a session, asked directly. */
import { expect, it } from "vitest";
import { inWorld } from "./session-world.ts";

it("finds short rows of records up to a number, that one included", async () => {
  await inWorld({ replies: ["one", "two"] }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    await world.run("r2", "go on");
    const { store } = world;
    const starts = ["r1", "r2"].map((id) => store.runs.find(id)?.first_record ?? 0);
    const found = (until: number): number[] => store.shortRows(until, '"type":"run_started"');
    expect(found(starts[1] ?? 0)).toEqual(starts.toReversed());
    expect(found((starts[1] ?? 0) - 1)).toEqual(starts.slice(0, 1));
  });
});

it("keeps the long memos of several runs apart, and removes a run's own", async () => {
  await inWorld({ replies: ["one", "two"] }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    await world.run("r2", "go on");
    const long = (text: string): string => text.repeat(300_000);
    const { store } = world;
    store.transaction(() => {
      store.runs.update("r1", { memo: long("a") });
      store.runs.update("r2", { memo: long("b") });
    });
    const memos = () => ["r1", "r2"].map((id) => world.store.runs.find(id)?.memo?.slice(0, 2));
    expect(memos()).toEqual(["aa", "bb"]);
    store.transaction(() => store.runs.update("r2", { memo: null }));
    expect(memos()).toEqual(["aa", undefined]);
    const names = world.storage.sql.exec<{ name: string }>("SELECT DISTINCT name FROM content").toArray();
    expect(names).toEqual([{ name: "memo r1" }]);
  });
});

it("has nothing before its first row and after its removal, and reads no table then", async () => {
  await inWorld({ replies: ["one"] }, async (world) => {
    const { store } = world;
    const asked = (): unknown[] => [
      store.lastRecord(),
      [...store.records(0)],
      store.lastRowsWith(9, "x", 1),
      store.shortRows(9, "x"),
      store.lastRecords(0, 10).whole,
      store.lastEvent(),
      store.events(0),
      store.event(1),
      store.runs.live(),
      store.runs.find("r1"),
      store.runs.list(2, 9),
      store.due.list(),
      store.due.at("watch"),
      store.checkpoint(),
      store.children(),
    ];
    const nothing = [0, [], [], [], true, 0, [], null, null, null, [], [], null, null, []];
    expect(asked()).toEqual(nothing);
    expect(() =>
      store.transaction(() => {
        throw new Error("the writes fail");
      }),
    ).toThrow("the writes fail");
    expect(asked()).toEqual(nothing);
    await world.open();
    await world.run("r1", "go");
    await store.clear();
    expect(asked()).toEqual(nothing);
  });
});

it("to find the last records that fit reads no others", async () => {
  await inWorld({ replies: ["one"] }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    const { store, storage } = world;
    const first = store.lastRecord() + 1;
    const at = { v: 1, at: 1 } as const;
    for (let n = 0; n < 300; n++)
      store.appendRecords([
        { ...at, type: "feedback_received", feedback: { kind: "note", content: `${n}`.padEnd(100, ".") } },
      ]);
    const { size } = storage.sql
      .exec<{ size: number }>("SELECT length(data) AS size FROM records ORDER BY id DESC LIMIT 1")
      .one();
    const exec = storage.sql.exec.bind(storage.sql);
    const cursors: { rowsRead: number }[] = [];
    const value = (query: string, ...values: unknown[]) => {
      const cursor = exec(query, ...values);
      cursors.push(cursor);
      return cursor;
    };
    Object.defineProperty(storage.sql, "exec", { value, configurable: true });
    const last = (bytes: number): [records: number, whole: boolean] => {
      const { records, whole } = store.lastRecords(first - 1, bytes);
      return [[...records].length, whole];
    };
    expect([last(0), last(5 * size), last(5 * size + 1)]).toEqual([
      [1, false],
      [5, false],
      [5, false],
    ]);
    expect(cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThan(50);
    expect(last(300 * size)).toEqual([300, true]);
  });
});
