/** Notes the requests of `/v1` that the Worker itself executes in the index of runs. */
import type { RequestContext } from "../context.ts";
import { runId } from "../run-id.ts";
import { indexedCall } from "../skills/index-call.ts";

/**
 * Answers a request, and notes its outcome once the whole answer is there. The answer does not wait for that.
 * @param name of the operation
 * @param answer takes the id of the call, `ex_…`
 */
export function listedAnswer(
  context: RequestContext,
  name: string,
  answer: (id: string) => Promise<Response>,
): Promise<Response> {
  const id = runId(context);
  context.log.execution_id = id;
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = context.request;
  const listed = indexedCall({ id, context, signal }, name, async () => {
    resolve(await answer(id));
    await context.finished;
    if (context.streamFault !== null) throw context.streamFault;
  });
  context.background(listed.catch(reject));
  return promise;
}
