/** Storage of a session's object that records its queries, or refuses them. */

/** The same storage, with each query passed through a function. */
function through(
  storage: DurableObjectStorage,
  exec: (
    query: string,
    run: () => SqlStorageCursor<Record<string, SqlStorageValue>>,
  ) => SqlStorageCursor<Record<string, SqlStorageValue>>,
  alarm = (): void => {},
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
      if (name === "setAlarm" || name === "deleteAlarm") alarm();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Counts rows that pass through a storage, those of indexes too. An alarm that is set or removed counts as a row. */
export function counting() {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  let alarms = 0;
  return {
    wrap: (storage: DurableObjectStorage) =>
      through(
        storage,
        (_, run) => {
          const cursor = run();
          cursors.push(cursor);
          return cursor;
        },
        () => {
          alarms += 1;
        },
      ),
    alarms: () => alarms,
    read: () => cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
    written: () => cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarms),
  };
}

/** Records the queries that match. */
export function noting(which: RegExp) {
  const noted: string[] = [];
  const wrap = (storage: DurableObjectStorage) =>
    through(storage, (query, run) => {
      if (which.test(query)) noted.push(query);
      return run();
    });
  return { wrap, noted };
}

/** Matches the queries that read a session's records to build its state. */
export const FOLDING = /SELECT (?:seq|\(id >> 16\) AS seq), data FROM (?:checkpoint|records)/;

/** Refuses writes while `full` is set, like a full disk or database. @param which of the writes it refuses */
export function refusing(which = /^/) {
  const state = { full: false, refused: 0 };
  const wrap = (storage: DurableObjectStorage) =>
    through(storage, (query, run) => {
      if (!state.full || /^\s*SELECT/i.test(query) || !which.test(query)) return run();
      state.refused += 1;
      throw new Error("database or disk is full: SQLITE_FULL");
    });
  return { wrap, state };
}

class Died extends Error {}

/**
 * Storage that accepts so many writes. The next one is not stored, or is the last that is stored (`after`).
 * @param outside grows with everything that happens outside the process; `quiet` then says whether nothing did between
 * the last write that was stored and the one that was not
 */
export function mortal(
  storage: DurableObjectStorage,
  writes: number,
  after: boolean,
  outside: () => number = () => 0,
): { storage: DurableObjectStorage; kill: () => void; died: () => boolean; quiet: () => boolean } {
  let left = writes;
  let dead = false;
  let depth = 0;
  let then = outside();
  let quiet = false;
  const live = (): void => {
    if (dead) throw new Died();
  };
  const write = <T>(work: () => T): T => {
    live();
    if (depth > 0) return work();
    left -= 1;
    dead = left < 0;
    quiet = dead && outside() === then;
    live();
    depth += 1;
    const done = work();
    depth -= 1;
    then = outside();
    dead = after && left === 0;
    live();
    return done;
  };
  const sql = new Proxy(storage.sql, {
    get: (target, name) => {
      if (name !== "exec") return Reflect.get(target, name, target);
      return (query: string, ...bindings: unknown[]) => {
        const exec = () => target.exec(query, ...bindings);
        live();
        return /^\s*SELECT/i.test(query) ? exec() : write(exec);
      };
    },
  });
  const writing = ["transactionSync", "setAlarm", "deleteAlarm", "deleteAll"];
  const proxy = new Proxy(storage, {
    get: (target, name) => {
      if (name === "sql") return sql;
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        live();
        const call = () => Reflect.apply(value, target, args);
        return writing.includes(String(name)) ? write(call) : call();
      };
    },
  });
  const kill = (): void => {
    dead = true;
  };
  return { storage: proxy, kill, died: () => dead, quiet: () => quiet };
}
