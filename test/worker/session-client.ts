/** A client of sessions. */
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { expect, onTestFinished, vi } from "vitest";
import { sessionObject } from "../../src/run/session-client.ts";
import { readEvents } from "../support/sse.ts";
import { Client } from "./served.ts";

export const client = new Client();
export type Body = Record<string, unknown>;

export const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  client.fetch(path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
export const post = (path: string, body?: unknown, headers?: Record<string, string>) =>
  send("POST", path, body, headers);
export const get = async <T = Body>(path: string): Promise<T> => (await client.fetch(path)).json<T>();
export const codeOf = async (response: Response): Promise<[number, unknown]> => {
  const { code } = await response.json<Body>();
  return [response.status, code];
};

let count = 0;
/** The path of a new session. */
export async function session(): Promise<string> {
  const id = `s${++count}`;
  expect((await post("/sessions", { id })).status).toBe(201);
  return `/sessions/${id}`;
}

export const run = (path: string, prompt: string, options: Body = {}, headers: Record<string, string> = {}) =>
  post(`${path}/runs`, { prompt, options: { provider: "mock", ...options } }, headers);

/** The text of the conversation. */
export const texts = async (path: string): Promise<unknown[]> => {
  const { data } = await get<{ data: { content: unknown }[] }>(`${path}/messages`);
  return data.map(({ content }) => content);
};

/** Waits until a run has a certain status. */
export async function until<T extends Body = Body>(path: string, status: string): Promise<T> {
  for (;;) {
    const document = await get<T>(path);
    if (document.status === status) return document;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Until the end of the test, the clock is so many ms ahead; the session rested in that time, and its alarm fires. */
export async function rested(path: string, ms: number): Promise<void> {
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => void vi.restoreAllMocks());
  const object = sessionObject({ env: client.env, tenant: "default" }, path.slice("/sessions/".length));
  // An object keeps the clock that it began with.
  await evictDurableObject(object);
  expect(await runDurableObjectAlarm(object)).toBe(true);
}

/** A tool of the client, and a model that calls it and then answers. */
export const ASK = { name: "ask", description: "Asks a person.", parameters: { q: { type: "string" } } };
export const asking = [{ tool_calls: [{ name: "ask", arguments: { q: "name?" } }] }, { text: "thanks" }];

/** The first so many events of a stream that has no end. */
export async function firstOf(path: string, wanted: number) {
  const response = await client.stream(path);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (text.split("\n\n").length <= wanted) {
    const piece = await reader?.read();
    text += decoder.decode(piece?.value, { stream: true });
  }
  await reader?.cancel();
  return readEvents(new Response(text));
}
