/** Items of a conversation that are too large for a row of D1; the client is OpenAI's own SDK. */
import { beforeAll, expect, it } from "vitest";
import { sweepConversations } from "../../src/registry/conversations/large-items.ts";
import { withFaults } from "./faulty-storage.ts";
import { client, MODEL, open } from "./openai-sdk.ts";
import { mockSkill } from "./served.ts";

/** Three bytes each in UTF-8. */
const LONG = "猫".repeat(900_000);
const said = (text: string) => ({ role: "user" as const, content: text });

beforeAll(async () => {
  await open.publish({ cat: mockSkill("cat") });
});

async function answers(...texts: string[]): Promise<void> {
  await open.fetch("/llm/mocks", { method: "DELETE" });
  const queued = await open.post(
    "/llm/mocks",
    texts.map((text) => ({ text })),
  );
  expect(queued.status).toBe(201);
}
async function objects(): Promise<string[]> {
  return (await open.env.FILES.list({ prefix: "conversations/" })).objects.map(({ key }) => key);
}
/** The length of each item's text, and its beginning, the oldest first. */
async function shown(conversation: string): Promise<(string | number)[][]> {
  const texts: (string | number)[][] = [];
  for await (const item of client.conversations.items.list(conversation, { order: "asc" }))
    if (item.type === "message")
      for (const part of item.content)
        if ("text" in part) texts.push([part.text.length, part.text.slice(0, 3)]);
  return texts;
}

it("the model's answer of 2.7 MB joins the conversation, is read back, and goes with it", async () => {
  const { id } = await client.conversations.create({ items: [said("one")] });
  await answers(LONG, "short");
  const first = await client.responses.create({ model: MODEL, conversation: id, input: "two" });
  expect(first.output_text).toBe(LONG);
  const whole = [
    [3, "one"],
    [3, "two"],
    [LONG.length, "猫猫猫"],
  ];
  expect(await shown(id)).toEqual(whole);
  const item = first.output[0];
  if (item?.type !== "message") throw new TypeError("no message");
  const read = await client.conversations.items.retrieve(item.id ?? "", { conversation_id: id });
  expect(read).toMatchObject({ id: item.id, content: [{ text: LONG }] });
  const next = await client.responses.create({ model: MODEL, conversation: id, input: "three" });
  expect(next.output_text).toBe("short");
  const calls = await (await open.fetch("/llm/mocks/calls")).text();
  expect(calls).toContain(LONG);
  const counted = await client.responses.inputTokens.count({ model: MODEL, conversation: id });
  expect(counted.input_tokens).toBeGreaterThan(LONG.length / 4);
  expect(await objects()).toHaveLength(1);
  await client.conversations.delete(id);
  expect(await objects()).toEqual([]);
});

it("a request adds large items, in the order that it has; removing one removes its object", async () => {
  const { id } = await client.conversations.create({ items: [said(LONG), said("one")] });
  const added = await client.conversations.items.create(id, { items: [said("two"), said(`x${LONG}`)] });
  expect(await shown(id)).toEqual([
    [LONG.length, "猫猫猫"],
    [3, "one"],
    [3, "two"],
    [LONG.length + 1, "x猫猫"],
  ]);
  expect(await objects()).toHaveLength(2);
  await client.conversations.items.delete(added.data[1]?.id ?? "", { conversation_id: id });
  expect(await objects()).toHaveLength(1);
  expect(await shown(id)).toHaveLength(3);
  await client.conversations.delete(id);
  expect(await objects()).toEqual([]);
});

const DAY_MS = 24 * 3_600_000;

it("storage fails for a moment while the model's answer is stored: the answer is there, once", async () => {
  const { id } = await client.conversations.create();
  for (const fault of [
    { binding: "FILES", method: "put", of: "conversations/" },
    { binding: "DB", method: "prepare", of: "INTO conversation_objects" },
    { binding: "DB", method: "prepare", of: "INTO conversation_items" },
  ] as const) {
    await answers(LONG);
    const before = await shown(id);
    const asked = () =>
      client.responses.create({ model: MODEL, conversation: id, input: "go", store: false });
    const { faults } = await withFaults(open.env, fault, 1, asked);
    expect([fault.of, faults]).toEqual([fault.of, 1]);
    expect(await shown(id)).toEqual([...before, [2, "go"], [LONG.length, "猫猫猫"]]);
  }
  expect(await objects()).toHaveLength(3);
  await client.conversations.delete(id);
});

it("items are stored although storage does not say whether one of their objects is left over", async () => {
  const { id } = await client.conversations.create();
  const add = () => client.conversations.items.create(id, { items: [said(LONG)] });
  const fault = { binding: "DB", method: "prepare", of: "SELECT key FROM conversation_objects" } as const;
  const { answer, faults } = await withFaults(open.env, fault, 1, add);
  expect([answer.data.length, faults]).toEqual([1, 1]);
  expect(await shown(id)).toEqual([[LONG.length, "猫猫猫"]]);
  await client.conversations.delete(id);
});

it("a sweep removes what an interrupted request left, and no object of an item", async () => {
  const { id } = await client.conversations.create({ items: [said(LONG)] });
  const add = () => client.conversations.items.create(id, { items: [said(LONG)] });
  const lost = { binding: "DB", method: "prepare", of: "INTO conversation_items" } as const;
  await withFaults(open.env, lost, 2, () => expect(add()).rejects.toThrow("500"));
  expect(await objects()).toHaveLength(2);
  await sweepConversations(open.env, Date.now());
  expect(await objects()).toHaveLength(2);
  await sweepConversations(open.env, Date.now() + DAY_MS);
  expect(await objects()).toHaveLength(1);
  expect(await shown(id)).toEqual([[LONG.length, "猫猫猫"]]);
});

it("a repeated id keeps the first item, and the second one's object goes", async () => {
  const { id } = await client.conversations.create();
  const item = { type: "message", id: "msg_1", role: "user" };
  const twice = (content: string) =>
    open.post(`/v1/conversations/${id}/items`, { items: [{ ...item, content }] });
  await twice(`1${LONG}`);
  const kept = await objects();
  await twice(`2${LONG}`);
  expect(await shown(id)).toEqual([[LONG.length + 1, "1猫猫"]]);
  expect(await objects()).toEqual(kept);
  await client.conversations.delete(id);
});

it("a list whose items are large has short pages", async () => {
  const { id } = await client.conversations.create();
  const large = "x".repeat(9 * 1024 * 1024);
  for (let n = 0; n < 6; n += 1)
    await client.conversations.items.create(id, { items: [said(`${n}${large}`)] });
  const page = await client.conversations.items.list(id, { order: "asc" });
  expect([page.data.length, page.has_more]).toEqual([4, true]);
  expect((await shown(id)).map(([, begin]) => begin)).toEqual(["0xx", "1xx", "2xx", "3xx", "4xx", "5xx"]);
  const asked = { model: MODEL, conversation: id, input: "go" };
  await expect(client.responses.create(asked)).rejects.toThrow("begin a new one");
  await client.conversations.delete(id);
});
