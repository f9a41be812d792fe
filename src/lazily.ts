/**
 * A function whose module an isolate compiles only when the function is first called. `import()` does that because of
 * the compatibility flag `new_module_registry`; without it, the isolate compiles all modules when it starts.
 *
 * Until the module is loaded, each caller imports it for itself, since no request may wait for another request's
 * promise.
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
