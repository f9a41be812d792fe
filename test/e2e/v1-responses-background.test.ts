/** Responses in the background: their end, their cancellation, and the death of the Worker. */
import OpenAI from "openai";
import OpenAI7 from "openai-7";
import { expect, test } from "vitest";
import { commonHull, keyOf } from "../support/common-hull.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";

const { hull, fake } = await commonHull({}, "keyed");
const connection = { apiKey: await keyOf(hull, "red"), baseURL: `${hull.url}/v1`, maxRetries: 0 };
const client = new OpenAI(connection);
const seven = new OpenAI7(connection);
const GPT = "gpt-4o";
const ended = (id: string) =>
  until(
    () => client.responses.retrieve(id),
    ({ status }) => status !== "queued" && status !== "in_progress",
  );

test("a response in the background is answered at once, and read later", async () => {
  fake.script([{ text: "Done." }]);
  const begun = await client.responses.create({ model: GPT, input: "Work.", background: true });
  expect(begun.status).toBe("queued");
  expect((await ended(begun.id)).output_text).toBe("Done.");
  // One that has ended stays unchanged.
  expect((await client.responses.cancel(begun.id)).status).toBe("completed");
});

test("a response in the background is cancelled", async () => {
  fake.script([{ hang: true, text: "Never" }]);
  const { id } = await client.responses.create({ model: GPT, input: "Work.", background: true });
  await until(
    async () => fake.requests.length,
    (count) => count > 0,
  );
  expect((await client.responses.cancel(id)).status).toBe("cancelled");
  expect((await client.responses.retrieve(id)).status).toBe("cancelled");
  expect(await fake.requests[0]?.left).toBe(true);
});

test("a response in the background survives the death of the Worker, and its stream can be read from any event on", async () => {
  fake.script([
    {
      tool_calls: [
        { id: "c1", name: "shell", arguments: { commands: ["echo once >> log.txt; cat log.txt"] } },
      ],
    },
    { text: ["Half ", "way"], hang: true },
    { text: "All of it." },
  ]);
  const { id } = await seven.responses.create({
    model: GPT,
    input: "Work.",
    background: true,
    tools: [{ type: "shell", environment: { type: "container_auto" } }],
  });
  await until(
    async () => fake.requests.length,
    (count) => count === 2,
  );
  await killWorker(hull);
  const answer = await ended(id);
  expect(answer.status).toBe("completed");
  expect(answer.output_text).toBe("All of it.");
  // The command ran once.
  expect(answer.output[1]).toMatchObject({ output: [{ stdout: "once" }] });
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  for await (const event of await client.responses.retrieve(id, { stream: true })) events.push(event);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
  const end = events.at(-1);
  expect(end?.type === "response.completed" && end.response.output).toEqual(answer.output);
});
