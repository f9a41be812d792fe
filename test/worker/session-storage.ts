/** Storage of a session's object that is looked at, or that refuses. */

/** The same storage, each of its queries passed through. */
function through(
  storage: DurableObjectStorage,
  exec: (
    query: string,
    run: () => SqlStorageCursor<Record<string, SqlStorageValue>>,
  ) => SqlStorageCursor<Record<string, SqlStorageValue>>,
): DurableObjectStorage {
  const sql = new Proxy(storage.sql, {
    get: (target, name) => {
      if (name !== "exec") return Reflect.get(target, name, target);
      return (query: string, ...bindings: unknown[]) => exec(query, () => target.exec(query, ...bindings));
    },
  });
  return new Proxy(storage, {
    get: (target, name) => {
      if (name === "sql") return sql;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Counts rows that pass through a storage. */
export function counting() {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  return {
    wrap: (storage: DurableObjectStorage) =>
      through(storage, (_, run) => {
        const cursor = run();
        cursors.push(cursor);
        return cursor;
      }),
    read: () => cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
    written: () => cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
  };
}

/** Takes no writes while `full` is set, as a disk or a database that is full. */
export function refusing() {
  const state = { full: false, refused: 0 };
  const wrap = (storage: DurableObjectStorage) =>
    through(storage, (query, run) => {
      if (!state.full || /^\s*SELECT/i.test(query)) return run();
      state.refused += 1;
      throw new Error("database or disk is full: SQLITE_FULL");
    });
  return { wrap, state };
}
