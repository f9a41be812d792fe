/** The tables of D1, which an isolate makes before it first uses them. */
import { expect, it } from "vitest";
import { databaseWith } from "../../src/database.ts";
import { bindings } from "./file-bindings.ts";

it("tables in D1 exist for other requests even if the request that made them has ended", async () => {
  let batches = 0;
  const db = new Proxy(bindings.DB, {
    get(target, key) {
      if (key === "batch") return () => (++batches === 1 ? new Promise(() => {}) : Promise.resolve([]));
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const schema = "SELECT 1;\n";
  void databaseWith(db, schema);
  for (let users = 0; users < 3; users += 1) await databaseWith(db, schema);
  expect(batches).toBe(2);
});
