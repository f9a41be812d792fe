/** What sessions read of their own storage: it does not grow with what they hold. */
import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { sessionObject } from "../../src/run/session-client.ts";
import { rowsRead } from "./rows-read.ts";
import { type Body, client, get, post, run, session, until } from "./session-client.ts";

const MANY = 300;
/** More than any of these questions needs, and far less than `MANY`. */
const FEW = 40;
const object = (path: string) =>
  sessionObject({ env: client.env, tenant: "default" }, path.slice("/sessions/".length));

it("everyone who follows a run gets its events from memory", async () => {
  const path = await session();
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => client.stream(`${path}/events?after=0`)),
  );
  const followers = streams.map(async ({ body }) => {
    let text = "";
    for await (const chunk of body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes("event: done")) break;
    }
    return text.match(/^event: \w+$/gm);
  });
  const read = await rowsRead(object(path), async () => {
    await run(path, "Hi.", { mock: [{ text: "one two three four five six" }] });
    const [first, ...others] = await Promise.all(followers);
    expect(first?.at(-1)).toBe("event: done");
    for (const events of others) expect(events).toEqual(first);
  });
  expect(read("FROM events")).toBeLessThan(FEW);
});

const NODE = { kind: "subagent", mode: "llm", model_policy: { provider: "mock" } };

it("another task below a session does not read the tasks that are over", async () => {
  const path = await session();
  const below = path.slice("/sessions/".length);
  const spawn = () => post("/tasks", { task: "Count.", node: NODE, parent_session_id: below, wait: true });
  await spawn();
  await runInDurableObject(object(path), (_, { storage: { sql } }) => {
    for (let n = 0; n < MANY; n++) sql.exec("INSERT INTO delegate VALUES (?, NULL, 1, 1)", `over_${n}`);
  });
  const read = await rowsRead(object(path), async () => {
    for (let n = 0; n < 3; n++) expect((await spawn()).status).toBe(201);
  });
  expect(read("FROM delegate")).toBeLessThan(FEW);
});

it("another cycle of a task does not read the earlier ones before its run begins", async () => {
  const made = await post("/tasks", {
    task: "Watch.",
    node: NODE,
    carry: { retriggerable: true },
    wait: true,
  });
  const { id } = await made.json<{ id: string }>();
  const again = async (): Promise<void> => {
    await post(`/tasks/${id}/trigger`, {});
    await until(`/tasks/${id}`, "awaiting");
  };
  await again();
  await runInDurableObject(object(`/sessions/${id}`), (_, { storage: { sql } }) => {
    for (let n = 3; n < MANY; n++)
      sql.exec("INSERT INTO task_cycle VALUES (?, 1, 'trigger', NULL, 'Watch.')", n);
  });
  const read = await rowsRead(object(`/sessions/${id}`), () => post(`/tasks/${id}/trigger`, {}));
  expect(read("max(seq)")).toBeLessThan(FEW);
  const { audit } = await get<Body & { audit: unknown[] }>(`/tasks/${id}`);
  expect(audit).toHaveLength(MANY);
});
