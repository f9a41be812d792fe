/**
 * The loopback provider of the benchmarks, a process of its own: asks for the first tool once where tools are offered,
 * answers with a fixed text otherwise. Prints its URL.
 */
import { startFakeProvider } from "../support/fake-provider.ts";

const fake = await startFakeProvider();
fake.script((request) => {
  fake.requests.length = 0;
  const { tools = [], messages } = request.body;
  const asks = tools.length > 0 && !JSON.stringify(messages.at(-1)).includes("tool_result");
  return asks
    ? { tool_calls: [{ name: "greet", arguments: { name: "world" } }] }
    : { text: "Hello from the provider." };
});
process.stdout.write(`${fake.url}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
