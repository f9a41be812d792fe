/** A body of events that stays open. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EventBody } from "../../../src/http/sse.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a heartbeat comes after each 15 s of silence, and none after the end", async () => {
  const body = new EventBody(() => {});
  const from = Date.now();
  const came: [number, string][] = [];
  const decoder = new TextDecoder();
  const read = (async () => {
    for await (const chunk of body.stream) came.push([Date.now() - from, decoder.decode(chunk)]);
  })();
  await vi.advanceTimersByTimeAsync(7_000);
  void body.write("data: 1\n\n");
  await vi.advanceTimersByTimeAsync(33_000);
  await body.close();
  await read;
  expect(came).toEqual([
    [7_000, "data: 1\n\n"],
    [22_000, ": hb\n\n"],
    [37_000, ": hb\n\n"],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});
