/** The places of isolates at work: who waits, and for what. */
import { expect, test } from "vitest";
import { IsolatePlaces } from "../../../src/tool/isolate/places.ts";

/** Four isolates at work, until `end`. */
function full() {
  const places = new IsolatePlaces();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const busy = ["a", "b", "c", null].map((id) => places.hold(id, undefined, () => promise));
  return { places, end, busy };
}

test("calls of an isolate at work share its place, others wait for the end of one", async () => {
  const { places, end, busy } = full();
  expect(await places.hold("a", undefined, async () => "shares")).toBe("shares");
  let begun = 0;
  const waiting = ["d", null, "e"].map((id) => places.hold(id, undefined, async () => ++begun));
  expect(await places.hold("b", undefined, async () => begun)).toBe(0);
  end();
  await Promise.all([...busy, ...waiting]);
  expect(begun).toBe(3);
});

test("a call that waits ends with its signal, and work that fails frees its place", async () => {
  const { places, end, busy } = full();
  const leaving = new AbortController();
  const waiting = places.hold("d", leaving.signal, async () => leaving.signal.aborted);
  leaving.abort();
  expect(await waiting).toBe(true);
  end();
  await Promise.all(busy);
  for (let count = 0; count < 5; count += 1)
    await expect(places.hold(null, undefined, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
});
