/** The client, its page and the command line follow the declarations of the routes. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Hull } from "hullrun/client";
import { expect, test } from "vitest";
import {
  CLIENT_ROUTES,
  OPERATOR_ROUTES,
  WITHOUT_COMMAND,
  WITHOUT_METHOD,
} from "../../../scripts/client-routes.ts";
import { FIXED_ROUTES } from "../../../src/skill/fixed-routes.ts";

const REPO = join(import.meta.dirname, "..", "..", "..");
const read = (path: string): string => readFileSync(join(REPO, path), "utf8");
const sorted = (items: Iterable<string>): string[] => [...new Set(items)].sort();

/** The routes that sources name as `METHOD /path`; the compiler requires that each is declared. */
function routesIn(sources: string): string[] {
  const source = globSync(sources, { cwd: REPO }).map(read).join("");
  return Array.from(source.matchAll(/"((?:GET|POST|PUT|DELETE) \/[^"]*)"/g), ([, route = ""]) => route);
}

const routeNames = (routes: typeof CLIENT_ROUTES): string[] =>
  routes.map(([, method, path]) => `${method} ${path}`);

test("the client has a method for every route that has no reason to lack one", () => {
  expect(sorted(routesIn("src/client/*.ts"))).toEqual(sorted(routeNames(CLIENT_ROUTES)));
});

test("the command line calls every route of operators and publishers that has no reason to lack a command", () => {
  const known = new Set(routeNames(CLIENT_ROUTES));
  const called = routesIn("scripts/**/*.ts").filter((route) => !known.has(route));
  expect(sorted(called)).toEqual(sorted(routeNames(OPERATOR_ROUTES)));
});

test.each([
  ["method", WITHOUT_METHOD],
  ["command", WITHOUT_COMMAND],
])("each reason why a route has no %s is about a route", (_, exceptions) => {
  const idle = exceptions.filter(({ isOf }) => !FIXED_ROUTES.some(([id, , path]) => isOf(id, path)));
  expect(idle).toEqual([]);
});

/** The methods of an object, and those of its parts, by the name with which one calls them. */
function methodsOf(name: string, of: object): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(of)).filter(
    (method) => method !== "constructor",
  );
  const parts = Object.entries(of).flatMap(([part, value]) =>
    // A daemon's session is a session.
    typeof value === "object" && part !== "session" ? methodsOf(`${name}.${part}`, value) : [],
  );
  return [...own.map((method) => `${name}.${method}`), ...parts];
}

/** The calls that the tables of the page name: `.list()` has the owner of the call before it. */
function namedCalls(page: string): string[] {
  const cells = Array.from(page.matchAll(/^\| (`.*?) \|/gm), ([, cell = ""]) => cell);
  return cells.flatMap((cell) => {
    let owner = "";
    return Array.from(cell.matchAll(/`([\w.]+)\(?.*?`/g), ([, call = ""]) => {
      const name = call.startsWith(".") ? owner + call : call;
      owner = name.slice(0, name.lastIndexOf("."));
      return name;
    }).filter((name) => name.includes("."));
  });
}

test("docs/client.md names every method of the client, and no other", () => {
  const hull = new Hull();
  const methods = [
    ...methodsOf("hull", hull),
    ...methodsOf("session", hull.session("s")),
    ...methodsOf("daemon", hull.daemon("d")),
    ...methodsOf("task", hull.task("t")),
    ...methodsOf("workflowRun", hull.workflowRun("w")),
  ];
  const [, there = ""] = /\n## What there is\n([\s\S]*?)\n## /.exec(read("docs/client.md")) ?? [];
  expect(sorted(namedCalls(there))).toEqual(sorted(methods));
});
