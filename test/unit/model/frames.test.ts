/** What becomes of a stream's connection once the last event that counts has come. */
import { createServer, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
import type { Clock } from "../../../src/model/clock.ts";
import { readFrames } from "../../../src/model/frames.ts";

const LAST = "data: last\n\n";

/** A server that writes one event, then does this with the answer. */
async function served(then: (answer: ServerResponse) => void) {
  const sockets = new Set<Socket>();
  const closed = Promise.withResolvers<void>();
  const server = createServer((_, answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" }).write(LAST);
    answer.on("close", () => closed.resolve());
    then(answer);
  });
  server.keepAliveTimeout = 120_000;
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return { url: `http://127.0.0.1:${address.port}/`, sockets, closed: closed.promise };
}

const wholeBody = async (url: string): Promise<ReadableStream<Uint8Array>> =>
  (await fetch(url)).body ?? expect.fail("no body");

async function readLast(body: ReadableStream<Uint8Array>, clock?: Pick<Clock, "after">): Promise<void> {
  const made = (reason: string) => new ProviderBadResponse({ provider: "p", reason });
  const { signal } = new AbortController();
  const limits = { framing: "sse", max_event: 1000, max_bytes: 1000, signal, clock } as const;
  await readFrames(body, { ...limits, unusable: made, cutOff: made }, ({ data }) => data === "last");
}

test("a body that ends soon leaves its connection to the next request", async () => {
  const { url, sockets } = await served((answer) => setTimeout(() => answer.end(": bye\n\n"), 5));
  for (let n = 0; n < 3; n++) {
    const ended = Promise.withResolvers<void>();
    const body = (await wholeBody(url)).pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({ flush: () => ended.resolve() }),
    );
    // However slow the machine is, its end comes soon.
    await readLast(body, { after: () => () => {} });
    await ended.promise;
    // The client takes the connection back in the next turn.
    await nextTurn();
  }
  expect(sockets.size).toBe(1);
});

test("a body that does not end is cancelled, and the call does not wait for it", async () => {
  const { url, closed } = await served(() => {});
  await readLast(await wholeBody(url));
  await closed;
});

test("a body that keeps sending is cancelled too", async () => {
  const { url, closed } = await served((answer) => {
    const timer = setInterval(() => answer.write(": more\n\n"), 5);
    answer.on("close", () => clearInterval(timer));
  });
  await readLast(await wholeBody(url));
  await closed;
});
