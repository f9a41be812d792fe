/** The client, its page and the command line follow the declarations of the routes. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Hull } from "hullrun/client";
import { expect, test } from "vitest";
import { CLIENT_ROUTES, WITHOUT_METHOD } from "../../../scripts/client-routes.ts";
import { FIXED_ROUTES } from "../../../src/skill/fixed-routes.ts";

const REPO = join(import.meta.dirname, "..", "..", "..");
const read = (path: string): string => readFileSync(join(REPO, path), "utf8");
const sorted = (items: Iterable<string>): string[] => [...new Set(items)].sort();

test("the client has a method for every route that has no reason to lack one", () => {
  const source = globSync("src/client/*.ts", { cwd: REPO }).map(read).join("");
  const called = source.matchAll(/"((?:GET|POST|PUT|DELETE) \/[^"]*)"/g);
  expect(sorted(Array.from(called, ([, route = ""]) => route))).toEqual(
    sorted(CLIENT_ROUTES.map(([, method, path]) => `${method} ${path}`)),
  );
});

test("each reason why the client lacks a method is about a route", () => {
  const idle = WITHOUT_METHOD.filter(({ isOf }) => !FIXED_ROUTES.some(([id, , path]) => isOf(id, path)));
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
