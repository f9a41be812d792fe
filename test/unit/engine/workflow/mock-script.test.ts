/** Which mocks of a run's options its attempts take. */
import { expect, it } from "vitest";
import { mocksOf, placesUsed } from "../../../../src/engine/workflow/mock-script.ts";
import { openAttempts } from "../../../../src/engine/workflow/next.ts";
import { completed } from "../../../../src/engine/workflow/outcomes.ts";
import { Play } from "./play.ts";

const graph = {
  entry: "fork",
  nodes: { fork: { kind: "fork" }, a: { retry_policy: { max_attempts: 2 } }, b: {}, c: {} },
  edges: ["a", "b", "c"].map((to) => ({ from: "fork", to })),
};
const keyOf = ({ state }: Play, node: string) =>
  openAttempts(state).find((key) => key.node === node) ?? expect.fail();
const used = (...places: number[]) => completed("success", "success", { mocks_used: places });

it("an attempt that a later process begins has the mocks that it had when it was stored", () => {
  const mock = ["one", "two", "three", "four"].map((text) => ({ text }));
  const play = new Play(graph, { options: { mock } });
  const before = mocksOf(play.state, keyOf(play, "a"));
  expect(before).toEqual(mock);
  play.end("b", used(1));
  expect(mocksOf(play.state, keyOf(play, "a"))).toEqual(before);
  expect(placesUsed(play.state, keyOf(play, "a"), mock.slice(1))).toEqual([0]);
});

it("an attempt used up what it saw and did not leave, also among equal mocks", () => {
  const mock = Array.from({ length: 3 }, () => ({ text: "one" }));
  const play = new Play(graph, { options: { mock } });
  play.end("c", used(2)).fail("a");
  expect(mocksOf(play.state, keyOf(play, "a"))).toHaveLength(1);
  const places = [mock.slice(0, 1), []].map((left) => placesUsed(play.state, keyOf(play, "a"), left));
  expect(places).toEqual([[], [0]]);
});
