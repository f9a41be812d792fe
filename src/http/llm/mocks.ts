/**
 * `/llm/mocks`: queued answers that replace the providers', if `[llm] mock_routes` permits it. The scope belongs to the
 * tenant; `x-hull-mock-scope` names it.
 */
import { InputInvalid, NotFound } from "../../errors/request.ts";
import { mockCallJson } from "../../llm/mock-calls.ts";
import type { MockCall } from "../../model/mock/mock.ts";
import { readMocks } from "../../model/mock/read.ts";
import { hasMockRoutes, mockScope } from "../../run/mocks.ts";
import { parseJson, readText } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, numberedPage, numericCursor, pageLimit } from "../page.ts";

/** A queue travels to a Durable Object, where the limit is 32 MiB. */
const MAX_MOCKS_BYTES = 16 * 1024 * 1024;

/** `POST`, one mock or a list: queues them. 201 with the new length of the queue. */
export async function queueMocks(context: RequestContext): Promise<Response> {
  const scope = scopeOf(context);
  const body = parseJson(await readText(context.request, MAX_MOCKS_BYTES));
  const read = readMocks(body, "mocks");
  if ("faults" in read) {
    const reason = read.faults.map(({ message }) => message).join("; ");
    throw new InputInvalid({ reason, errors: read.faults });
  }
  const queued = await scope.add(read.mocks);
  return jsonNow({ scope: context.mockScope, added: read.mocks.length, queued }, 201);
}

/** `DELETE`: empties queue, calls and cache; the scope's calls reach their providers again. */
export async function clearMocks(context: RequestContext): Promise<Response> {
  await scopeOf(context).clear();
  return new Response(null, { status: 204 });
}

/** `GET /llm/mocks/calls`: the recorded calls, including retries, the oldest first; the last 1000 are kept. */
export async function listMockCalls(context: RequestContext): Promise<Response> {
  const scope = scopeOf(context);
  const { query } = context;
  const { calls, last, more } = await scope.calls(pageLimit(query), numericCursor(query) ?? 0);
  const data = calls.map((text) => {
    const call: MockCall = JSON.parse(text);
    return mockCallJson(call);
  });
  return jsonNow(numberedPage({ data, next: more ? last : null }));
}

/** @throws NotFound if the deployment does not serve these routes */
function scopeOf(context: RequestContext): ReturnType<typeof mockScope> {
  if (!hasMockRoutes(context.settings))
    throw new NotFound({ path: new URL(context.request.url).pathname, because: SWITCHED_OFF });
  return mockScope(context);
}

const SWITCHED_OFF =
  "Set mock_routes = true below [llm] of hull.toml; the option mock of a request needs no setting.";
