/**
 * The loopback provider and upstream of the benchmarks, a process of its own; prints their addresses. What a call gets
 * follows from the name of its model: `bench` asks for the first tool once where tools are offered, and answers with a
 * fixed text otherwise; `bench-50` does so after 50 ms; `bench-two` asks for two calls at once; `bench-tokens` takes
 * 50 ms for each of five tokens; `bench-silent` never answers.
 */
import { createServer } from "node:http";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeRequest, FakeTurn } from "../support/fake-turn.ts";

const ANSWER: FakeTurn = { text: "Hello from the provider." };

const fake = await startFakeProvider();
fake.script((request) => {
  fake.requests.length = 0;
  switch (request.body.model) {
    case "bench-50":
      return { ...turn(request, 1), delay_ms: 50 };
    case "bench-two":
      return turn(request, 2);
    case "bench-tokens":
      return { text: ["one ", "two ", "three ", "four ", "five"], delta_ms: 50 };
    case "bench-silent":
      return { hang: true };
    default:
      return turn(request, 1);
  }
});

/** Asks for tools once, where they are offered. */
function turn({ body: { tools = [], messages } }: FakeRequest, calls: number): FakeTurn {
  const asks = tools.length > 0 && !JSON.stringify(messages.at(-1)).includes("tool_result");
  if (!asks) return ANSWER;
  return {
    tool_calls: Array.from({ length: calls }, () => ({ name: "greet", arguments: { name: "world" } })),
  };
}

const document = JSON.stringify({ weather: "fine", hours: Array.from({ length: 24 }, (_, hour) => hour) });
const upstream = createServer((_, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": document.length });
  response.end(document);
});
upstream.listen(0, "127.0.0.1", () => {
  const address = upstream.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const addresses = { provider: fake.url, upstream: `http://127.0.0.1:${port}` };
  process.stdout.write(`${JSON.stringify(addresses)}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();
