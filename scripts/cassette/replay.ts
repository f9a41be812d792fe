/** Answers calls from a cassette, byte for byte and piece by piece. No network, no keys. */
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import {
  bodyOf,
  bytesOf,
  type Cassette,
  type CassetteCall,
  callKey,
  readCassette,
  requestOf,
} from "../../src/model/cassette.ts";
import { REPLAY_HEADER } from "../../src/model/proxy.ts";
import type { Redactor } from "../../src/redact.ts";
import { canonicalJson } from "../../src/skill/canonical.ts";
import { objectOf } from "../../src/skill/json.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { CommandError, EXIT, usageError } from "../command.ts";
import { readIfThere } from "../read-if-there.ts";
import { shellWord } from "../shell-word.ts";
import { nearestCall } from "./nearest.ts";
import { type ProviderCall, type ProviderServer, startProviderServer } from "./server.ts";

interface ReplayOptions {
  cassette: Cassette;
  /** For messages. */
  file: string;
  host: string;
  port: number;
  /** Keeps the time between pieces. */
  realtime: boolean;
  redactor: Redactor;
  /** Called for each call that was not recorded. */
  onLine: (line: string) => void;
}

/** @throws CommandError (exit 3, 2) for a file that is missing or not a cassette */
export async function loadCassette(file: string): Promise<Cassette> {
  const bytes = await readIfThere(file);
  if (bytes === null) {
    const hint = `Record one with: hull dev --record ${shellWord(file)}`;
    throw new CommandError(EXIT.missing, "cassette_missing", `There is no cassette ${file}.`, hint);
  }
  const cassette = readCassette(bytes.toString("utf8"));
  if (!("faults" in cassette)) return cassette;
  const faults = cassette.faults.slice(0, 5).join("\n  ");
  throw usageError(
    "cassette_invalid",
    `${file} cannot be replayed:\n  ${faults}`,
    "hull dev --record makes a cassette; a file of mocks is for --mocks.",
  );
}

export async function startReplay(options: ReplayOptions): Promise<ProviderServer> {
  const { cassette, file, realtime, redactor, onLine } = options;
  const calls = await Promise.all(
    cassette.calls.map(async (call) => ({ ...call, key: await callKey(call.request.body) })),
  );
  const shelf = new Shelf(calls);
  const answer = async (call: ProviderCall, response: ServerResponse): Promise<void> => {
    const { provider, method, path } = call;
    const { body } = requestOf(method, path, bodyOf(call.body.toString("utf8")), redactor);
    const asked: Asked = { provider, method, path, body, key: await callKey(body) };
    const found = shelf.take(asked);
    if (found !== null) return play(found.response, response, realtime);
    const message = explanation(asked, calls, file);
    onLine(message);
    const document = { type: "error", error: { type: "replay_missing", message } };
    const headers = {
      "content-type": "application/json",
      [REPLAY_HEADER]: "missing",
      "x-should-retry": "false",
    };
    response.writeHead(404, headers).end(JSON.stringify(document));
  };
  return startProviderServer(options, answer, onLine);
}

interface Asked {
  provider: string;
  method: string;
  path: string;
  body: Json;
  key: string;
}

/** Recorded calls by their request, and how many of each have been replayed. */
class Shelf {
  readonly #groups = new Map<string, { call: CassetteCall; body: string; played: boolean }[]>();

  constructor(calls: readonly CassetteCall[]) {
    for (const call of calls) {
      const { provider, key, request } = call;
      const name = groupOf({ ...request, provider, key }, isStreamed(request.body));
      const group = this.#groups.get(name) ?? [];
      group.push({ call, body: canonicalJson(request.body), played: false });
      this.#groups.set(name, group);
    }
  }

  /**
   * The next recording for a request; after the last one, that one again. Among several with the same conversation,
   * those with exactly this body come first. A recorded stream answers a request without streaming only if there is no
   * other.
   */
  take(asked: Asked): CassetteCall | null {
    const streamed = isStreamed(asked.body);
    const group =
      this.#groups.get(groupOf(asked, streamed)) ?? this.#groups.get(groupOf(asked, !streamed)) ?? [];
    const body = canonicalJson(asked.body);
    const exact = group.filter((entry) => entry.body === body);
    const list = exact.length > 0 ? exact : group;
    const next = list.find(({ played }) => !played) ?? list.at(-1);
    if (next === undefined) return null;
    next.played = true;
    return next.call;
  }
}

const groupOf = ({ provider, method, path, key }: Omit<Asked, "body">, streamed: boolean): string =>
  JSON.stringify([provider, method, path, key, streamed]);

const isStreamed = (body: Json): boolean => objectOf(body).stream === true;

/** Sends an answer as it was recorded; if it broke off then, it breaks off again. */
async function play(
  recorded: CassetteCall["response"],
  response: ServerResponse,
  realtime: boolean,
): Promise<void> {
  if (recorded === null) return void response.destroy();
  const { status, headers, chunks, cut } = recorded;
  response.writeHead(status, headers);
  response.flushHeaders();
  let passed = 0;
  for (const chunk of chunks) {
    if (response.destroyed) return;
    if (realtime && chunk.at_ms > passed) await sleep(chunk.at_ms - passed);
    passed = Math.max(passed, chunk.at_ms);
    response.write(bytesOf(chunk));
    await nextTurn();
  }
  if (cut) response.destroy();
  else response.end();
}

function explanation(
  { provider, method, path, body, key }: Asked,
  calls: readonly CassetteCall[],
  file: string,
) {
  const head = `${file} has no recording of this call: ${provider} ${method} ${path}, hash ${key} of model, messages and system text.`;
  const how = "To record it, make the call with a key: hull dev --record FILE.";
  const nearest = nearestCall(body, { provider, path }, calls);
  if (nearest === null) return `${head} Nothing is recorded there. ${how}`;
  const { call, difference } = nearest;
  const where =
    call.provider === provider && call.request.path === path
      ? ""
      : ` (${call.provider} ${call.request.method} ${call.request.path})`;
  return `${head} ${how}\nThe nearest recorded request, hash ${call.key.slice(0, 12)}…${where}, ${difference}`;
}
