/**
 * A function whose module an isolate compiles when the function is first called. The compatibility flag `new_module_registry` is
 * what makes `import()` do so; without it all modules are compiled when the isolate starts.
 *
 * Until the module is there each caller imports it for itself: no request may wait for a promise of another one.
 */
export function lazily<A extends unknown[], R>(
  load: () => Promise<(...args: A) => R | Promise<R>>,
): (...args: A) => R | Promise<R> {
  let loaded: ((...args: A) => R | Promise<R>) | null = null;
  return (...args) => {
    if (loaded !== null) return loaded(...args);
    return load().then((code) => {
      loaded = code;
      return code(...args);
    });
  };
}
