/** The connections of the dev front to the Worker. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startFront } from "../../../scripts/dev/front.ts";

/** A front before a worker that answers like this. */
async function frontOf(answer: RequestListener): Promise<{ worker: Server; port: number }> {
  const worker = createServer(answer);
  worker.listen(0, "127.0.0.1");
  await once(worker, "listening");
  onTestFinished(() => void worker.close());
  const { port } = worker.address() as AddressInfo;
  const runner = { url: "http://127.0.0.1:9", secret: "x".repeat(32) };
  const front = await startFront({ host: "127.0.0.1", port: 0, worker: `http://127.0.0.1:${port}`, runner });
  onTestFinished(() => front.stop());
  return { worker, port: front.port };
}

test("the front closes an idle connection itself, and none that waits for an answer", async () => {
  const sockets = new Set<object>();
  const { worker, port } = await frontOf(async (request, response) => {
    sockets.add(request.socket);
    if (request.url === "/slow") await new Promise((resolve) => setTimeout(resolve, 4000));
    response.end("Done.");
  });
  // Never closes one itself.
  worker.keepAliveTimeout = 0;
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    // Proxies keep idle connections for up to 90 s.
    expect(answer.headers.get("keep-alive")).toBe("timeout=100");
    return answer.text();
  };
  const closed = new Promise((resolve) => worker.on("connection", (socket) => socket.on("close", resolve)));
  expect([await ask("/a"), await ask("/b")]).toEqual(["Done.", "Done."]);
  expect(sockets.size).toBe(1);
  const slow = ask("/slow");
  expect(await slow).toBe("Done.");
  await closed;
}, 15_000);

test("a client of HTTP/1.0 gets an answer of unknown length without chunks", async () => {
  const { port } = await frontOf((_, response) => {
    response.write("One, ");
    response.end("two.");
  });
  const ask = async (version: string) => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`GET / HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    return (await Array.fromAsync(socket.setEncoding("utf8"))).join("").split("\r\n\r\n");
  };
  const [head, ...body] = await ask("1.0");
  expect([head, body]).toEqual([expect.not.stringMatching(/^transfer-encoding/im), ["One, two."]]);
  const [chunked] = await ask("1.1");
  expect(chunked).toMatch(/^transfer-encoding: chunked$/im);
});
