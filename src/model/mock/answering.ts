/** Mocks in the way of calls: each attempt asks where they are queued (agent-runtime.md §16.1). */
import type { ModelRequest } from "../../engine/messages.ts";
import { MockUnmatched } from "../../errors/provider.ts";
import { utf8, webCryptoHash } from "../../skill/bundle.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import type { Attempt } from "../attempts.ts";
import type { Outcome } from "../exchange.ts";
import type { Intercept } from "../intercept.ts";
import type { ResolvedTarget } from "../providers.ts";
import { answerOf } from "./answer.ts";
import { type Asker, defaultCompletion, defaultTurn } from "./default.ts";
import type { MockCall } from "./mock.ts";
import type { MockSource } from "./source.ts";

/** @param asker how calls are answered by default */
export function answering(source: MockSource, asker: Asker): Intercept {
  const ask = async (
    request: ModelRequest,
    target: ResolvedTarget,
    { sink }: Attempt,
    otherwise: (seen: boolean) => Outcome,
  ): Promise<Outcome | null> => {
    const taken = await source.take(callOf(request), request.cache === true ? await promptOf(request) : null);
    if (taken.mock !== null) return answerOf(taken.mock, request, target, sink);
    if (typeof taken.otherwise === "object") return unmatched(request, target, taken.otherwise.error);
    if (taken.otherwise === "provider" && target.protocol !== "mock") return null;
    return otherwise(taken.seen);
  };
  return {
    call: (request, target, attempt) =>
      ask(request, target, attempt, (seen) => ({
        ok: true,
        turn: defaultTurn(request, named(target), { asker, seen }, attempt.sink),
      })),
    complete: ({ prefix, suffix }, target, attempt) =>
      ask(promptRequest(prefix, suffix), target, attempt, () => ({
        ok: true,
        turn: defaultCompletion({ prefix, suffix }, named(target), attempt.sink),
      })),
  };
}

const named = ({ provider, model }: ResolvedTarget) => ({ provider, model });

function callOf({ messages, system, tools, tools_in_text, thinking }: ModelRequest): MockCall {
  const offered = tools.length > 0 ? tools : (tools_in_text ?? []);
  return { messages, system, tools: offered, ...(thinking === undefined ? {} : { thinking }) };
}

const promptOf = async ({ system, messages }: ModelRequest): Promise<string> =>
  webCryptoHash(utf8(canonicalJson([system, messages])));

/** A completion as patterns and logs see it. */
function promptRequest(prefix: string, suffix: string | undefined): ModelRequest {
  const texts = suffix === undefined ? [prefix] : [prefix, suffix];
  const content = texts.map((text) => ({ type: "text" as const, text }));
  const nothing = { system: "", tools: [], tool_choice: "auto" as const, max_tokens: 0, json: false };
  return { ...nothing, messages: [{ role: "user", content }] };
}

/** Characters of the prompt that an error shows. */
const MAX_SHOWN = 200;

function unmatched({ messages }: ModelRequest, target: ResolvedTarget, source: string): Outcome {
  const asked = JSON.stringify(messages.at(-1) ?? null);
  const shown = asked.length > MAX_SHOWN ? `${asked.slice(0, MAX_SHOWN)}…` : asked;
  return { ok: false, retry: false, error: new MockUnmatched({ ...named(target), source, asked: shown }) };
}
