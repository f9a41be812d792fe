/** `hull replay`: replaces the providers by a cassette, for any client. */

import { resolve } from "node:path";
import type { Cassette } from "../../src/model/cassette.ts";
import { counted } from "../../src/plural.ts";
import { Redactor } from "../../src/redact.ts";
import { asMock } from "../cassette/as-mocks.ts";
import { loadCassette, startReplay } from "../cassette/replay.ts";
import { defineCommand, EXIT, SWITCH, untilStopped, usageError } from "../command.ts";
import { freePort, portOf } from "../dev/local-addresses.ts";

export const command = defineCommand({
  name: "replay",
  summary: "Answer model calls from a cassette, offline",
  usage: `
Usage: hull replay <cassette> [options]

  -p, --port N     port (default: any free one)
  --realtime       at the speed of the recorded answers
  --as-mocks       print the recorded answers as mocks instead, for hull dev --mocks

A client's base URL is http://localhost:<port>/<provider>, e.g. of OpenAI's SDK http://localhost:4000/openai/v1. Any key
will do. Record a cassette with: hull dev --record FILE
`,
  flags: { port: { type: "string", short: "p" }, realtime: SWITCH, "as-mocks": SWITCH },
  words: 1,
  exclude: [
    ["as-mocks", "port"],
    ["as-mocks", "realtime"],
  ],
  async run({ values, positionals }) {
    const [file] = positionals;
    if (file === undefined) {
      throw usageError("cassette_not_named", "Name a cassette: hull replay <cassette>.");
    }
    const cassette = await loadCassette(resolve(file));
    if (values["as-mocks"] === true) return printMocks(cassette);
    const host = "127.0.0.1";
    const server = await startReplay({
      cassette,
      file,
      host,
      port: await freePort(host, portOf(values.port, undefined, 0)),
      realtime: values.realtime === true,
      redactor: new Redactor([]),
      onLine: (line) => process.stderr.write(`${line}\n`),
    });
    const url = server.url.replace(host, "localhost");
    const providers = [...new Set(cassette.calls.map(({ provider }) => provider))];
    const bases = providers.map((provider) => `  ${url}/${provider}\n`).join("");
    process.stdout.write(`Replays ${counted(cassette.calls.length, "call")} of ${file} on ${url}\n${bases}`);
    return untilStopped(server);
  },
});

async function printMocks({ calls }: Cassette): Promise<number> {
  for (const call of calls) {
    const mock = await asMock(call);
    if (mock !== null) process.stdout.write(`${JSON.stringify(mock)}\n`);
  }
  return EXIT.ok;
}
