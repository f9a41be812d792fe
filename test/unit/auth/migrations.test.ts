import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { expect, test } from "vitest";
import { API_KEYS_SCHEMA } from "../../../src/auth/schema.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

test("the migration and what the Worker applies by itself are the same", () => {
  const statements = read("migrations/0001_api_keys.sql")
    .replace(/^--.*\n/gm, "")
    .split(";\n")
    .filter((statement) => statement !== "");
  expect(statements).toEqual(API_KEYS_SCHEMA);
  expect(parse(read("wrangler.toml"))).toMatchObject({ d1_databases: [{ migrations_dir: "migrations" }] });
});
