import { expect, test } from "vitest";
import { BlobCache, MAX_FILE_BYTES } from "../../../src/registry/blob-cache.ts";

test("keeps the most recently used entries, within its bound", () => {
  const cache = new BlobCache();
  const file = () => new Uint8Array(MAX_FILE_BYTES);
  for (let i = 0; i < 8; i++) cache.set(`f${i}`, file());
  cache.set("f0", file());
  expect(cache.get("f0")?.length).toBe(MAX_FILE_BYTES);
  cache.set("new", new Uint8Array(1));
  const kept = ["new", ...Array.from({ length: 8 }, (_, i) => `f${i}`)].filter((name) => cache.get(name));
  expect(kept).toEqual(["new", "f0", "f2", "f3", "f4", "f5", "f6", "f7"]);
});

test("reading a file keeps it, too", () => {
  const cache = new BlobCache();
  for (let i = 0; i < 8; i++) cache.set(`f${i}`, new Uint8Array(MAX_FILE_BYTES));
  cache.get("f0");
  cache.set("new", new Uint8Array(1));
  expect(cache.get("f1")).toBeUndefined();
  expect(cache.get("f0")?.length).toBe(MAX_FILE_BYTES);
});
