/** What a completion asks of a provider, with and without a text after the gap. */
import { expect, test } from "vitest";
import { completionCall } from "../../../src/llm/completion.ts";

test.each([
  [null, {}, "<before_gap>\na\n</before_gap>"],
  ["", {}, "<before_gap>\na\n</before_gap>"],
  ["b", { suffix: "b" }, "<before_gap>\na\n</before_gap>\n\n<after_gap>\nb\n</after_gap>"],
])("the suffix %j", (suffix, further, prompt) => {
  const call = completionCall({ prefix: "a", suffix, system: null, options: {} });
  expect([call.completion, call.prompt]).toEqual([{ prefix: "a", ...further }, prompt]);
});
