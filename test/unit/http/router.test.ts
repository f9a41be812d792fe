import fc from "fast-check";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it } from "vitest";
import { Router } from "../../../src/http/router.ts";
import { FIXED_ROUTES } from "../../../src/skill/fixed-routes.ts";

const PATHS = [...new Set(FIXED_ROUTES.map(([, , path]) => path))];

function routerOf(paths: readonly string[]): Router<string> {
  const router = new Router<string>();
  for (const path of paths) router.add(path, path);
  return router;
}

describe("Router", () => {
  it("prefers a path without parameters, then the one that was added first", () => {
    const router = routerOf(["/runs/:id", "/runs/figures", "/runs/:other", "/runs/:id/:part"]);
    expect(router.find("/runs/figures")).toEqual({ target: "/runs/figures", params: {} });
    expect(router.find("/runs/x")).toEqual({ target: "/runs/:id", params: { id: "x" } });
    expect(router.find("/runs/x/y")).toEqual({ target: "/runs/:id/:part", params: { id: "x", part: "y" } });
    expect(router.find("/runs/x/y/z")).toBeNull();
    expect(router.find("/")).toBeNull();
  });

  it("gives the last parameter all that is left, but not nothing", () => {
    const router = routerOf(["/docs/:path{.+}"]);
    expect(router.find("/docs/a/b%20c/d")).toEqual({
      target: "/docs/:path{.+}",
      params: { path: "a/b c/d" },
    });
    expect(router.find("/docs")).toBeNull();
  });

  it("decodes parameters, and keeps what encodes no text", () => {
    const router = routerOf(["/files/:id"]);
    const idOf = (path: string): string | undefined => router.find(path)?.params.id;
    expect(idOf("/files/a%2Fb")).toBe("a/b");
    expect(idOf("/files/%E2%82%AC-%FF")).toBe("€-%FF");
    expect(idOf("/files/__proto__")).toBe("__proto__");
  });

  it("finds what Hono's router finds, for each fixed route and paths like them", () => {
    const router = routerOf(PATHS);
    const hono = new TrieRouter<string>();
    for (const path of PATHS) hono.add("ALL", path, path);
    // Hono also takes a segment `:id` of a request for the parameter's own name.
    const words = [...new Set(PATHS.flatMap((path) => path.slice(1).split("/")))].filter((word) =>
      /^[^:]/.test(word),
    );
    const segment = fc.oneof(fc.constantFrom(...words), fc.stringMatching(/^[\w.~-]{1,6}$/));
    const near = fc.constantFrom(...PATHS).chain((path) =>
      fc.tuple(
        ...path
          .slice(1)
          .split("/")
          .map((word) => fc.oneof(fc.constant(word), segment)),
      ),
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.array(segment, { minLength: 1, maxLength: 7 })), (segments) => {
        const path = `/${segments.join("/")}`;
        const [first] = hono.match("ALL", path)[0];
        const found = router.find(path);
        expect(found?.target).toBe(first?.[0]);
        if (found !== null && first !== undefined) expect(found.params).toEqual({ ...first[1] });
      }),
      { numRuns: 2000 },
    );
  });
});
