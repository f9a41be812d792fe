/** `POST /transcripts/:operation`: reads, changes and shortens transcripts; nothing is stored. */
import { OperationNotFound } from "../errors/request.ts";
import { newId } from "../llm/transcript.ts";
import type { Operation } from "../llm/transcript-operations/operation.ts";
import { TRANSCRIPT_OPERATIONS } from "../llm/transcript-operations/operations.ts";
import { runLlmCall } from "../run/agent/call.ts";
import { llmHost } from "../run/llm-host.ts";
import { llmError } from "../run/llm-problem.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import type { RequestContext } from "./context.ts";
import { accountOf } from "./llm/account.ts";
import { objectBody } from "./operations.ts";
import { jsonNow } from "./page.ts";
import type { Params } from "./routes.ts";

/** Sends the operation's result without an envelope. @throws OperationNotFound, and what the operation throws */
export async function operateOnTranscript(
  context: RequestContext,
  { operation: name = "" }: Params,
): Promise<Response> {
  // The names of typed functions have a prefix that the path already states.
  const short = name.replace(/^transcript_/, "");
  const operation = TRANSCRIPT_OPERATIONS.get(short);
  if (operation === undefined) {
    const known = Array.from(TRANSCRIPT_OPERATIONS.keys());
    throw new OperationNotFound({ on: "transcripts", name, near: nearest(short, known, 3), known });
  }
  const body = await objectBody(context);
  return jsonNow(context.settings.redactor.json(await transcriptAnswer(context, operation, body)));
}

/** The result of an operation; its model calls count as the request's own. @throws what the operation throws */
export async function transcriptAnswer(
  context: RequestContext,
  operation: Operation,
  body: JsonObject,
): Promise<unknown> {
  const { signal } = context.request;
  const of = { signal, session: null, skill: null, account: accountOf(context, null) };
  const host = () => llmHost(context, of, body.mock);
  try {
    return await operation.perform(body, {
      ids: newId,
      host,
      async call(input) {
        const { result } = await runLlmCall(context, input, { host: await host(), signal });
        context.log.usage = result.usage;
        return result;
      },
    });
  } catch (error) {
    throw llmError(error, context);
  }
}
