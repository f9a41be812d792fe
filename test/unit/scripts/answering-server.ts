/** A server that stands for a Hull: the test decides what it answers. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { onTestFinished } from "vitest";

/** Origin of a server that answers as a Hull does, as far as its headers go. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader("x-request-id", "request-1");
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}
