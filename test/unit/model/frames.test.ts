/** What becomes of a stream's connection once the last event that counts has come. */
import { createServer, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ProviderBadResponse } from "../../../src/errors/provider.ts";
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

async function readLast(url: string): Promise<void> {
  const { body } = await fetch(url);
  if (body === null) throw new TypeError("no body");
  const made = (reason: string) => new ProviderBadResponse({ provider: "p", reason });
  const { signal } = new AbortController();
  const limits = { framing: "sse", max_event: 1000, max_bytes: 1000, signal } as const;
  await readFrames(body, { ...limits, unusable: made, cutOff: made }, ({ data }) => data === "last");
}

test("a body that ends soon leaves its connection to the next request", async () => {
  const { url, sockets } = await served((answer) => setTimeout(() => answer.end(": bye\n\n"), 5));
  for (let n = 0; n < 3; n++) {
    await readLast(url);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sockets.size).toBe(1);
});

test("a body that does not end is cancelled, and nobody waits for it", async () => {
  const { url, closed } = await served(() => {});
  await readLast(url);
  await closed;
});

test("the same for one that keeps sending", async () => {
  const { url, closed } = await served((answer) => {
    const timer = setInterval(() => answer.write(": more\n\n"), 5);
    answer.on("close", () => clearInterval(timer));
  });
  await readLast(url);
  await closed;
});
