/** Recorded calls as mocks, in the order in which they were made. */
import { failureClassOf } from "../../src/errors/failure-class.ts";
import { WIRES } from "../../src/model/call.ts";
import { ALL_OFF } from "../../src/model/capabilities.ts";
import { bytesOf, type CassetteCall, conversationOf } from "../../src/model/cassette.ts";
import { exchange } from "../../src/model/exchange.ts";
import type { Mock } from "../../src/model/mock/mock.ts";
import { mockFromTurn } from "../../src/model/mock/mock-from-turn.ts";
import { ENDPOINTS, HTTP_PROTOCOLS } from "../../src/model/protocols.ts";
import type { HttpTarget } from "../../src/model/providers.ts";

/** The answer of the call; `null`: it is not a call of a model. */
export async function asMock(call: CassetteCall): Promise<Mock | null> {
  const protocol = HTTP_PROTOCOLS.find((name) => call.request.path.endsWith(ENDPOINTS[name].chat));
  if (protocol === undefined) return null;
  const wire = WIRES[protocol];
  const { body } = call.request;
  const { model } = conversationOf(body);
  const target: HttpTarget = {
    provider: call.provider,
    model: typeof model === "string" ? model : "unknown",
    protocol,
    url: `http://cassette${call.request.path}`,
    completion_url: null,
    headers: {},
    variable: "",
    token_field: "max_tokens",
    json_mode: false,
    reasoning_echo: false,
    capabilities: ALL_OFF,
  };
  const outcome = await exchange({}, { ...wire, headers: () => ({}), body: () => ({}) }, target, {
    stream: false,
    signal: new AbortController().signal,
    sink: {},
    fetch: () => answerOf(call),
    now: 0,
  });
  if (outcome.ok) return mockFromTurn(outcome.turn);
  const { retry_after_ms } = outcome;
  const { category } = failureClassOf(outcome.error.data);
  return { error: { category, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) } };
}

async function answerOf({ response }: CassetteCall): Promise<Response> {
  if (response === null) throw new TypeError("no answer came");
  const { status, headers, chunks, cut } = response;
  const pieces = chunks.map(bytesOf);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = pieces.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (cut) controller.error(new TypeError("it broke off"));
      else controller.close();
    },
  });
  return new Response(body, { status, headers });
}
