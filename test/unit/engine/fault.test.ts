/** What is said of a value that does not have its shape. */
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
  });
  const { error } = shape.safeParse({ task: "", list: [{}, { n: "1" }], more: 1 });
  expect(error && shapeErrors(error).map(({ path, message }) => `${path}: ${message}`)).toEqual([
    "task: must not be empty",
    "name: is required",
    "list.0.n: is required",
    "list.1.n: Invalid input: expected number, received string",
    "more: there is no such field",
  ]);
});
