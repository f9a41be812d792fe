/** What each surface says of why a model's turn ended. */
import { expect, it } from "vitest";
import { finishReason } from "../../../src/engine/agent/served-answer.ts";
import type { Block } from "../../../src/engine/messages.ts";
import type { StopReason } from "../../../src/engine/stop-reason.ts";
import { shownReason } from "../../../src/llm/result.ts";
import { anthropicStop, openAiStop } from "../../../src/llm/stop-words.ts";

const SAID = {
  end_turn: ["end_turn", "stop", "end_turn", "stop"],
  max_tokens: ["max_tokens", "length", "max_tokens", "length"],
  tool_use: ["tool_use", "stop", "end_turn", "stop"],
  stop_sequence: ["stop_sequence", "stop", "stop_sequence", "stop"],
  refusal: ["refusal", "refusal", "refusal", "content_filter"],
  content_filter: ["refusal", "content_filter", "refusal", "content_filter"],
  pause: ["pause", "other", "pause_turn", "length"],
  other: ["odd", "other", "end_turn", "stop"],
} as const satisfies Record<StopReason, unknown>;

it.each(Object.entries(SAID))(
  "%s: as a result, a skill's header, a message and a chat completion say it",
  (name, said) => {
    const turn = { stop_reason: name as StopReason, raw_stop_reason: "odd", blocks: [] };
    expect([shownReason(turn), finishReason(turn), anthropicStop(turn), openAiStop(turn)]).toEqual(said);
  },
);

it("a turn with calls ends for them, and a refusal with a text is a complete chat completion", () => {
  const turn = (stop_reason: StopReason, block: Block) => ({ stop_reason, blocks: [block] });
  const called = turn("end_turn", { type: "tool_call", id: "c", name: "t", arguments: {}, raw: "{}" });
  expect([anthropicStop(called), openAiStop(called)]).toEqual(["tool_use", "tool_calls"]);
  const refusal = { type: "output_text", text: "No.", refusal: "No." };
  const refused = turn("refusal", { type: "opaque", provider: "openai", value: refusal });
  expect(openAiStop(refused)).toBe("stop");
});
