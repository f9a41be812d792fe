/** `/v1/responses/input_tokens` and `/v1/responses/compact`, by OpenAI's own SDK. */
import OpenAI from "openai";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { client, MODEL, open } from "./openai-sdk.ts";
import { mockSkill } from "./served.ts";

/** Its answer is stored, where no mocks are queued. */
const SKILL = "skill/cat";

beforeAll(async () => {
  await open.publish({ cat: mockSkill("cat") });
});
beforeEach(async () => {
  await open.fetch("/llm/mocks", { method: "DELETE" });
});
const mock = async (text: string): Promise<void> => {
  expect((await open.post("/llm/mocks", { text })).ok).toBe(true);
};
const message = (role: "user" | "assistant" | "developer", content: string) => ({ role, content });

it("input is counted: texts, tools, history; a request may name nothing", async () => {
  const count = async (body: OpenAI.Responses.InputTokenCountParams) =>
    (await client.responses.inputTokens.count(body)).input_tokens;
  expect(await client.responses.inputTokens.count()).toEqual({
    object: "response.input_tokens",
    input_tokens: 0,
  });
  const short = await count({ model: MODEL, input: "x".repeat(400) });
  expect(short).toBe(100);
  expect(await count({ model: MODEL, input: "x".repeat(400), instructions: "y".repeat(40) })).toBe(110);
  const tool = { type: "function" as const, name: "f", parameters: {}, strict: false };
  expect(await count({ model: MODEL, input: "x".repeat(400), tools: [tool] })).toBeGreaterThan(short);
  const first = await client.responses.create({ model: SKILL, input: "x".repeat(400) });
  const said = first.output_text.length;
  expect(await count({ model: MODEL, previous_response_id: first.id, input: "x".repeat(40) })).toBe(
    Math.ceil((440 + said) / 4),
  );
  await expect(count({ model: MODEL, previous_response_id: "resp_none" })).rejects.toBeInstanceOf(
    OpenAI.NotFoundError,
  );
});

it("a conversation becomes its user's messages and a summary, and continues with them", async () => {
  const input = [
    message("developer", "Be brief."),
    message("user", "The cat is Tom."),
    message("assistant", "I see. ".repeat(200)),
    message("user", "He is 7."),
  ];
  await mock("Tom, a cat, is 7.");
  const shorter = await client.responses.compact({ model: MODEL, input, instructions: "Be exact." });
  expect(shorter).toMatchObject({
    id: expect.stringMatching(/^resp_/),
    object: "response.compaction",
    output: [
      { role: "developer" },
      { role: "user", content: [{ text: "The cat is Tom." }] },
      { role: "user", content: [{ text: "He is 7." }] },
      { type: "compaction", id: expect.stringMatching(/^cmp_/), encrypted_content: expect.any(String) },
    ],
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
  });
  const told = (await open.fetch("/llm/mocks/calls")).json<{ data: unknown[] }>();
  expect(JSON.stringify(await told)).toContain("I see.");
  const further = [
    ...(shorter.output as OpenAI.Responses.ResponseInputItem[]),
    message("user", "How old is he?"),
  ];
  await mock("Seven.");
  const answer = await client.responses.create({ model: MODEL, input: further, store: false });
  expect(answer.output_text).toBe("Seven.");
  const asked = JSON.stringify(
    (await (await open.fetch("/llm/mocks/calls")).json<{ data: unknown[] }>()).data.at(-1),
  );
  expect(asked).toContain("Tom, a cat, is 7.");
  expect(asked).not.toContain("I see.");
  // The next one stands for both.
  const stored = await client.responses.create({ model: SKILL, input: further });
  await mock("Tom again.");
  const again = await client.responses.compact({ model: MODEL, previous_response_id: stored.id });
  expect(again.output.map(({ type }) => type).filter((type) => type === "compaction")).toHaveLength(1);
  const foreign = { type: "compaction" as const, encrypted_content: "gAAAA" };
  const refused = client.responses.create({ model: MODEL, input: [foreign, message("user", "Hi.")] });
  await expect(refused).rejects.toThrow(/input\.0\.encrypted_content/);
  await expect(client.responses.compact({ model: MODEL })).rejects.toThrow(/input/);
});
