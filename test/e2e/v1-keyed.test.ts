/** `Idempotency-Key` on the routes of `/v1`: one request is carried out, every repetition gets its answer (docs/http.md). */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { commonHull, keyOf } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";

const GPT = "gpt-4o";
const { hull, fake } = await commonHull(
  {
    "marker/SKILL.md":
      "---\nname: marker\ndescription: Test.\nmode: llm\nprovider: openai\nmodel: gpt-4o\ntools: [{name: mark, description: Marks, command: [bash, mark.sh]}]\n---\nMark.\n",
    "marker/mark.sh": "echo marked\n",
  },
  "keyed",
);
const mine = await keyOf(hull, "keyed");
const theirs = await keyOf(hull, "keyed");

const messages = (key: string, body: object, api = mine): Promise<Response> =>
  hull.call("/v1/messages", JSON.stringify(body), {
    headers: { authorization: `Bearer ${api}`, "content-type": "application/json", "idempotency-key": key },
  });
const ask = (content: string, more: object = {}): object => ({
  model: GPT,
  max_tokens: 50,
  messages: [{ role: "user", content }],
  ...more,
});
const openai = new OpenAI({ apiKey: mine, baseURL: `${hull.url}/v1`, maxRetries: 0 });
const anthropic = new Anthropic({ authToken: mine, apiKey: null, baseURL: hull.url, maxRetries: 0 });
const withKey = (key: string) => ({ headers: { "idempotency-key": key } });

describe("a model call", () => {
  test("is made once; a repetition gets its answer, another key another one", async () => {
    fake.script([{ text: "one" }, { text: "two" }]);
    const first = await messages("whole", ask("Hi"));
    const text = await first.text();
    expect([first.status, first.headers.get("x-hull-replayed")]).toEqual([200, null]);
    const again = await messages("whole", ask("Hi"));
    expect([again.status, again.headers.get("x-hull-replayed"), await again.text()]).toEqual([
      200,
      "1",
      text,
    ]);
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(fake.requests).toHaveLength(1);
    expect(await (await messages("another", ask("Hi"))).text()).toContain("two");
  });

  test("with the key of another request is refused in the dialect's shape", async () => {
    await (await messages("taken", ask("Hi"))).text();
    const refused = await messages("taken", ask("Something else"));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: expect.stringContaining("Idempotency-Key") },
    });
    await expect(
      openai.chat.completions.create(
        { model: GPT, messages: [{ role: "user", content: "Hi" }] },
        withKey("k".repeat(256)),
      ),
    ).rejects.toMatchObject({ status: 400 });
    expect(fake.requests).toHaveLength(1);
  });

  test("attack: with the key of another caller is another call", async () => {
    fake.script([{ text: "for me" }, { text: "for them" }]);
    expect(await (await messages("shared", ask("Hi"))).text()).toContain("for me");
    expect(await (await messages("shared", ask("Hi"), theirs)).text()).toContain("for them");
  });

  test("requested many times at once, it is made once", async () => {
    fake.script([{ text: "once", delay_ms: 200 }]);
    const all = await Promise.all(
      Array.from({ length: 8 }, () =>
        openai.chat.completions.create(
          { model: GPT, messages: [{ role: "user", content: "Hi" }] },
          withKey("at-once"),
        ),
      ),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(fake.requests).toHaveLength(1);
  });

  test("as a stream: the same events, also after the first client left", async () => {
    const gate = Promise.withResolvers<void>();
    fake.script([{ text: ["a", "b", "c"], paced: (n) => (n === 0 ? Promise.resolve() : gate.promise) }]);
    const first = await messages("stream", ask("Hi", { stream: true }));
    const reader = first.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    gate.resolve();
    const body = { max_tokens: 50, model: GPT, messages: [{ role: "user" as const, content: "Hi" }] };
    const stream = anthropic.messages.stream({ ...body }, withKey("stream-2"));
    expect((await stream.finalMessage()).content).toMatchObject([{ type: "text" }]);
    const again = await messages("stream", ask("Hi", { stream: true }));
    expect(again.headers.get("x-hull-replayed")).toBe("1");
    expect(again.headers.get("content-type")).toContain("text/event-stream");
    const events = await again.text();
    expect([...events.matchAll(/"text":"([^"]+)"/g)].map(([, text]) => text).join("")).toBe("abc");
    expect(events).toContain("event: message_stop");
    expect(fake.requests).toHaveLength(2);
  });

  test("is made again if it failed", async () => {
    fake.script([{ status: 400, body: { error: { message: "no" } } }, { text: "now" }]);
    expect((await messages("failed", ask("Hi"))).status).toBe(400);
    const again = await messages("failed", ask("Hi"));
    expect([again.status, await again.text()]).toEqual([200, expect.stringContaining("now")]);
  });
});

test("a response is made once, whether it is stored or not", async () => {
  for (const store of [true, false]) {
    fake.requests.length = 0;
    const make = () =>
      openai.responses.create({ model: GPT, input: "Hi", store }, withKey(`response-${store}`));
    const [one, two] = await Promise.all([make(), make()]);
    expect(two.id).toBe(one.id);
    expect((await make()).output).toEqual(one.output);
    expect(fake.requests).toHaveLength(1);
    const stream = await openai.responses.create(
      { model: GPT, input: "Hi", store, stream: true },
      withKey(`events-${store}`),
    );
    const events = [];
    for await (const event of stream) events.push(event.type);
    expect(events.at(-1)).toBe("response.completed");
  }
});

const called = { tool_calls: [{ name: "mark", arguments: {} }] };
const run = (key: string) => messages(key, ask("Go", { model: "skill/marker" }));

describe("a run of a skill", () => {
  test("uses its tools once", async () => {
    fake.script([called, { text: "Marked." }]);
    const text = await (await run("skill")).text();
    expect(text).toContain("Marked.");
    const again = await run("skill");
    expect([again.headers.get("x-hull-replayed"), await again.text()]).toEqual(["1", text]);
    expect(fake.requests).toHaveLength(2);
  });
});

test("with a dead process a message is made again; a run of a skill is not, and reports it", async () => {
  fake.script([{ hang: true }, called, { hang: true }, { text: "after all" }]);
  const asked = (count: number) =>
    until(
      async () => fake.requests.length,
      (found) => found === count,
    );
  const message = messages("killed", ask("Hi")).catch(() => null);
  await asked(1);
  const first = run("skill-killed").catch(() => null);
  await asked(3);
  await killWorker(hull);
  await Promise.all([message, first]);
  const [again, reported] = await Promise.all([messages("killed", ask("Hi")), run("skill-killed")]);
  expect([again.status, await again.text()]).toEqual([200, expect.stringContaining("after all")]);
  expect(reported.status).toBe(502);
  expect(reported.headers.get("x-should-retry")).toBe("false");
  expect(await reported.json()).toMatchObject({
    error: { message: expect.stringContaining("does not know whether the request took effect") },
  });
  expect(fake.requests).toHaveLength(4);
});

describe("creates once", () => {
  test("a conversation, and its items", async () => {
    const make = () => openai.conversations.create({ metadata: { a: "b" } }, withKey("conversation"));
    const [one, two] = [await make(), await make()];
    expect(two).toEqual(one);
    const items = [{ type: "message" as const, role: "user" as const, content: "Hi" }];
    const add = () => openai.conversations.items.create(one.id, { items }, withKey("items"));
    expect(await add()).toEqual(await add());
    expect((await openai.conversations.items.list(one.id)).data).toHaveLength(1);
  });

  test("a container, and a file in it", async () => {
    const make = () => openai.containers.create({ name: "c" }, withKey("container"));
    const [one, two] = await Promise.all([make(), make()]);
    expect(two.id).toBe(one.id);
    const put = async () =>
      openai.containers.files.create(
        one.id,
        { file: await toFile(Buffer.from("x,y"), "a.csv") },
        withKey("put"),
      );
    expect((await put()).id).toBe((await put()).id);
  });

  test("a file, however its form is split", async () => {
    const send = async (content: string) =>
      openai.files.create(
        { file: await toFile(Buffer.from(content), "a.txt"), purpose: "user_data" },
        withKey("file"),
      );
    const one = await send("hello");
    expect(await send("hello")).toEqual(one);
    await expect(send("other")).rejects.toMatchObject({ status: 400, code: "idempotency_key_reused" });
    const { data } = await openai.files.list();
    expect(data.map(({ id }) => id)).toEqual([one.id]);
  });

  test("a skill and its version", async () => {
    const text = "---\nname: kept-once\ndescription: Test.\n---\nHi.\n";
    const send = async (path: string, key: string) => {
      const form = new FormData();
      form.append("files[]", new Blob([text]), "kept-once/SKILL.md");
      const answer = await fetch(`${hull.url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${mine}`, "idempotency-key": key },
        body: form,
      });
      return json(answer);
    };
    const one = await send("/v1/skills", "skill-once");
    expect(await send("/v1/skills", "skill-once")).toEqual(one);
    const version = await send(`/v1/skills/${one.id}/versions`, "version-once");
    expect(await send(`/v1/skills/${one.id}/versions`, "version-once")).toEqual(version);
  });
});
