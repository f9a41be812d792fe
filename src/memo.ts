/**
 * Values that follow from other values, and so can be forgotten at any time: the only state that a module may keep. What
 * an isolate learns while it serves belongs to its `Deployment`.
 */

/**
 * A function that computes its value once for each argument object, which must never change, and keeps it as long as
 * that object lives.
 */
export function memo<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (key) => {
    let entry = known.get(key);
    if (entry === undefined) {
      entry = { value: compute(key) };
      known.set(key, entry);
    }
    return entry.value;
  };
}

/** The names come from callers, so when this many are known, all are forgotten. */
const MAX_NAMES = 1000;

/** The same for an object together with names. */
export function memoNamed<K extends object, N extends string[], V>(
  compute: (key: K, ...names: N) => V,
): (key: K, ...names: N) => V {
  const tables = memo((_: K) => new Map<string, { value: V }>());
  return (key, ...names) => {
    const known = tables(key);
    const name = names.join("\0");
    let entry = known.get(name);
    if (entry === undefined) {
      entry = { value: compute(key, ...names) };
      if (known.size >= MAX_NAMES) known.clear();
      known.set(name, entry);
    }
    return entry.value;
  };
}

/** A function that computes a constant on first use, so that starting the Worker does not pay for it. */
export function once<V>(compute: () => V): () => V {
  let entry: { value: V } | null = null;
  return () => {
    entry ??= { value: compute() };
    return entry.value;
  };
}

/** A function that keeps its last value for arguments that `same` considers equal; arguments must never change. */
export function memoLast<K, V>(compute: (key: K) => V, same: (a: K, b: K) => boolean): (key: K) => V {
  let last: { key: K; value: V } | null = null;
  return (key) => {
    if (last === null || !same(last.key, key)) last = { key, value: compute(key) };
    return last.value;
  };
}
