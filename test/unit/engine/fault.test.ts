/** The messages for a value that does not have its shape. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import en from "zod/v4/locales/en.js";
import { shapeErrors } from "../../../src/engine/fault.ts";

// As the Worker does, and zod in other test files of this process.
z.config(en());

test("the commonest faults have plain messages, with their places", () => {
  const shape = z.strictObject({
    task: z.string().check(z.minLength(1)),
    name: z.string(),
    list: z.array(z.object({ n: z.number() })),
    nodes: z.record(z.string().check(z.regex(/^\w+$/, "must be an id")), z.number()),
    content: z.union([z.string(), z.array(z.object({ type: z.literal("text") }))]),
    either: z.union([z.string(), z.array(z.string())]),
    own: z.union([z.string(), z.array(z.string())], "must be one id or several"),
  });
  const given = { nodes: { "a b": 1 }, content: [{ type: "text" }, { type: "x" }], either: 5, own: [5] };
  const { error } = shape.safeParse({ task: "", list: [{}, { n: "1" }], more: 1, ...given });
  expect(error && shapeErrors(error).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    "task: must not be empty",
    "name: is required",
    "list.0.n: is required",
    "list.1.n: Invalid input: expected number, received string",
    "nodes.a b: must be an id",
    'content.1.type: Invalid input: expected "text"',
    "either: Invalid input",
    "own: must be one id or several",
    "more: there is no such field",
  ]);
});
