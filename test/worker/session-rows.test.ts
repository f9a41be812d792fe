/** Values of a session's log that are read all at once. */
import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { Rows } from "../../src/session/conversation/rows.ts";
import { ConversationStore } from "../../src/session/conversation/store.ts";
import { bindings } from "./file-bindings.ts";

const BROKEN = ['{"n":1', '{"a":"x', "", "1,2", "nothing", '{"a":"\u0001"}'];

it("all values are read, short and long, each once and in order, with null for an unreadable one", async () => {
  const { SESSIONS } = bindings;
  const stub = SESSIONS.get(SESSIONS.idFromName("t/rows"));
  await runInDurableObject(stub, (_, { storage }) => {
    new ConversationStore(storage).tables.need("journal");
    const rows = new Rows<unknown>(storage.sql, "journal");
    const written: unknown[] = [];
    const write = (value: unknown): void => {
      rows.insert(rows.last() + 1, value);
      written.push(value);
    };
    const spoil = (data: Uint8Array): void => {
      const seq = rows.last() + 1;
      storage.sql.exec("INSERT INTO journal (seq, part, data) VALUES (?, 0, ?)", seq, data);
      rows.forget();
      written.push(null);
    };
    for (let n = 0; n < 400; n += 1) {
      write({ n, text: 'é\n"\u2028😀' });
      // Cut within a character, at 256 KiB, and as long as a short value is no more.
      if (n % 50 === 0) write({ n, text: "é€".repeat(n % 100 === 0 ? 120_000 : 5_000) });
      if (n % 70 === 0) write(`${"x".repeat(16 * 1024 - 3 + (n % 3))}`);
      if (n % 90 === 0) spoil(new TextEncoder().encode(BROKEN[n / 90] ?? "{"));
    }
    spoil(new Uint8Array([0x22, 0xff, 0xc3]));
    const values = [...rows.batches()].flat();
    expect(values).toHaveLength(written.length);
    for (const [n, value] of written.entries()) if (values[n] !== value) expect(values[n]).toEqual(value);
    expect([...rows.after(0)].map((row) => (row.ok ? row.value : null))).toEqual(values);
  });
});

it.each([false, true])(
  "values of a new session are found once there are some; a transaction failed: %s",
  async (failed) => {
    const { SESSIONS } = bindings;
    const stub = SESSIONS.get(SESSIONS.idFromName(`t/new-${failed}`));
    await runInDurableObject(stub, (_, { storage }) => {
      const store = new ConversationStore(storage);
      store.prepare();
      const stored = (of: ConversationStore) => ({
        runs: of.runs.list(5, Number.MAX_SAFE_INTEGER).map(({ id }) => id),
        live: of.runs.live()?.id ?? null,
        records: [...of.recordRows(0)].length,
        due: of.due.list().map(({ kind }) => kind),
      });
      const write = (id: string): void => {
        store.runs.add({
          id,
          request_id: "r",
          mock_scope: "",
          created_at: 1,
          first_event: 1,
          first_record: 1,
          listed: null,
        });
        store.appendRecords([{ v: 1, at: 1, type: "session_reset" }]);
        store.due.set({ watch: Date.now() + 60_000 });
      };
      const failing = (): void =>
        store.transaction(() => {
          write("lost");
          throw new RangeError("no");
        });
      if (failed) expect(failing).toThrow("no");
      expect(stored(store)).toEqual({ runs: [], live: null, records: 0, due: [] });
      write("kept");
      const kept = { runs: ["kept"], live: "kept", records: 1, due: ["watch"] };
      expect(stored(store)).toEqual(kept);
      expect(stored(new ConversationStore(storage))).toEqual(kept);
    });
  },
);
