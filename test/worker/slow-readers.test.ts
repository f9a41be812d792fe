/** Runs whose events are not stored, and clients that read slowly. */
import { expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { client, get } from "./session-client.ts";

it("a run without storage waits for a slow reader of its events", async () => {
  const rounds = 24;
  const turn = { text: "x".repeat(40_000), tool_calls: [{ name: "load_skill", arguments: { name: "a" } }] };
  const mock = [...Array.from({ length: rounds }, () => turn), { text: "the end" }];
  const options = {
    provider: "mock",
    mock,
    skills: [{ name: "a" }],
    max_iterations: 100,
    loop_detect_warn: 0,
  };
  const calls = async (): Promise<number> => (await get<{ call_count: number }>("/llm/usage")).call_count;
  const before = await calls();
  const response = await client.stream("/runs", {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ prompt: "go", options }),
  });
  for (let made = -1, now = await calls(); made !== now; now = await calls()) {
    made = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect((await calls()) - before).toBeLessThan(rounds / 2);
  const last = (await readEvents(response)).at(-1);
  expect(last).toMatchObject({ event: "done", data: { ok: true, iterations: rounds + 1, status: "done" } });
});
