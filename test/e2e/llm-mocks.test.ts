/** Mocks over HTTP: those that come with a call, and mocks that wait in a scope. */
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ERROR_CATEGORIES } from "../../src/errors/failure-class.ts";
import { commonHull, UNSET } from "../support/common-hull.ts";

const { hull } = await commonHull();
const clear = async (): Promise<void> => {
  await hull.call("/llm/mocks", undefined, { method: "DELETE" });
};
beforeEach(clear);
afterAll(clear);

interface Answer extends Record<string, unknown> {
  text: string;
  mock_calls: { messages: unknown[]; system: string; tools: { name: string }[]; thinking?: object }[];
}
const post = async (path: string, body: object): Promise<{ status: number; answer: Answer }> => {
  const response = await hull.post(path, body);
  return { status: response.status, answer: JSON.parse(await response.text()) };
};
const call = async (prompt: string, options: object = {}) => {
  const { status, answer } = await post("/llm/call", { prompt, options });
  return status === 200 ? answer : expect.fail(JSON.stringify(answer));
};
const logged = async (): Promise<unknown[]> =>
  JSON.parse(await (await hull.call("/llm/mocks/calls?limit=1000")).text()).data;

describe("queued over HTTP", () => {
  test("two texts in order, then the default echo; clear empties the log", async () => {
    await post("/llm/mocks", [{ text: "one" }, { text: "two" }]);
    const unset = { provider: UNSET.provider };
    expect((await call("a", unset)).text).toBe("one");
    expect((await call("b", unset)).text).toBe("two");
    expect((await call("some words", unset)).text).toMatch(/2 words: some words$/);
    expect(await logged()).toHaveLength(3);
    await hull.call("/llm/mocks", undefined, { method: "DELETE" });
    expect(await logged()).toEqual([]);
    const { status, answer } = await post("/llm/call", { prompt: "a", options: unset });
    expect([status, answer.code]).toEqual([503, "provider_not_configured"]);
  });

  test("patterns: consumed in order, reusable, skipped if none matches", async () => {
    await post("/llm/mocks", [
      { text: "step 1", match: "*planner*", consume_match: true },
      { text: "step 2", match: "*planner*", consume_match: true },
      { text: "who knows", match: "*unknown" },
      { text: "first of all" },
    ]);
    const prompts = [
      "the planner",
      "the planner",
      "a planner",
      "it is unknown",
      "again unknown",
      "unknown it is",
    ];
    const texts = [];
    for (const prompt of prompts) texts.push((await call(prompt)).text);
    expect(texts.slice(0, 5)).toEqual(["first of all", "step 1", "step 2", "who knows", "who knows"]);
    expect(texts[5]).toMatch(/^The mock model/);
  });

  test("a run takes them too, tool calls included", async () => {
    await post("/llm/mocks", [{ tool_calls: [{ name: "tool_search", arguments: {} }] }, { text: "done" }]);
    const { status, answer } = await post("/runs", { prompt: "go", options: { provider: "openai" } });
    expect([status, answer.text]).toEqual([200, "done"]);
  });
});

test("every category of error keeps it", async () => {
  for (const category of ERROR_CATEGORIES) {
    const mock = [{ error: { category, message: "their words" } }];
    const options = { provider: "anthropic", llm_retries: 0, mock };
    const { status, answer } = await post("/llm/call", { prompt: "x", options });
    expect(answer).toMatchObject({ category, provider: "anthropic" });
    expect([category, status >= 400]).toEqual([category, true]);
  }
  const limit = { error: { category: "rate_limit", retry_after_ms: 5 } };
  const { text, mock_calls } = await call("x", { llm_retries: 2, mock: [limit, limit, { text: "then" }] });
  expect([text, mock_calls.length]).toEqual(["then", 3]);
});

test("the log contains the request: messages, system text, tools in either format, thinking", async () => {
  const look = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
  for (const tool_format of ["native", "text"]) {
    const options = {
      provider: "openai",
      tools: [look],
      tool_format,
      thinking: true,
      mock: [{ text: "ok" }],
    };
    const { answer } = await post("/llm/call", { prompt: "hi", system: "be brief", options });
    const [asked] = answer.mock_calls;
    expect(asked?.messages).toEqual([{ role: "user", content: "hi" }]);
    expect(asked?.system).toMatch(/^be brief/);
    expect(asked?.tools.map(({ name }) => name)).toEqual(["look"]);
    expect(asked?.thinking).toEqual({ mode: "enabled" });
  }
});

test("a stream is cut after each blank", async () => {
  // It ends with no letter: the beginning of a secret that the server knows would be sent with the next piece.
  const options = { mock: [{ text: "a b c", thinking: "hm." }] };
  const body = JSON.stringify({ prompt: "x", options });
  const response = await hull.call("/llm/stream", body, { headers: { "content-type": "application/json" } });
  const events = (await response.text()).split("\n\n").flatMap((event) => {
    const [, name, data] = /event: (\w+)\n(?:id: .*\n)?data: (.*)/.exec(event) ?? [];
    return name === undefined || data === undefined ? [] : [[name, JSON.parse(data).text]];
  });
  expect(events.filter(([name]) => name === "delta" || name === "thought")).toEqual([
    ["thought", "hm."],
    ["delta", "a "],
    ["delta", "b "],
    ["delta", "c"],
  ]);
  expect(events.at(-1)?.[0]).toBe("done");
});

test("the provider mock by itself: the first tool again and again, and a prompt that it remembers", async () => {
  const tool = {
    name: "look",
    description: "",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
  };
  const asked = await call("x", { provider: "mock", tools: [tool] });
  expect(asked).toMatchObject({ text: "", output_tokens: 20 });
  expect(asked.tool_calls).toEqual([{ id: "mock_call_1", name: "look", arguments: { q: "" } }]);
  const cached = { provider: "mock", cache: true };
  expect(await call("cache me", cached)).toMatchObject({
    cache_write_tokens: 8,
    cache_read_tokens: 0,
    stop_reason: null,
  });
  expect(await call("cache me", cached)).toMatchObject({ cache_write_tokens: 0, cache_read_tokens: 8 });
});
