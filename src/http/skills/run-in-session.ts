/** A call of a skill in a session: it uses the session's files and conversation. */

import * as z from "zod/mini";
import { ModelRefused } from "../../errors/provider.ts";
import { claimAnswer, keepAnswer, releaseClaim } from "../../registry/kept-answers/rows.ts";
import { endHeaders, usageHeader } from "../../run/end-headers.ts";
import type { RunInput } from "../../run/handle.ts";
import { checkedJson, withoutFence } from "../../run/json.ts";
import { typeHeaders } from "../../run/output-files.ts";
import {
  digestsOf,
  filesInHeader,
  inputPaths,
  producedFiles,
  promptText,
  writeInputs,
} from "../../run/served-files.ts";
import { clientWorkspace } from "../../run/session-client.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, Manifest } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { jsonAnswer } from "../json.ts";
import { requestName, sessionOf } from "../sessions/object.ts";
import { runIn } from "../sessions/runs.ts";
import { isEventStream } from "../sse.ts";
import { eventsWithFiles } from "./events-with-files.ts";
import { callName, idempotencyKey } from "./idempotency.ts";

/** What the answer shows of a run's result. */
const shownShape = z.lazy(() =>
  z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    iterations: z.number(),
    tools_used: z.array(z.string()),
    warnings: z._default(z.array(z.object({ code: z.string() })), []),
    transcript: z.object({ messages: z.array(z.object({ role: z.string(), content: z.unknown() })) }),
  }),
);

/**
 * The run's last text with the files that it made, or its events. An answer that is not a result, or of a waiting run, stays
 * unchanged.
 * @throws OutputInvalidJson where the skill promises JSON, ModelRefused for a refusal without text
 */
export async function runInSession(
  context: RequestContext,
  manifest: Manifest,
  id: string,
  input: RunInput,
): Promise<Response> {
  const session = sessionOf(context, id);
  const workspace = clientWorkspace(session);
  const prompt = promptText(manifest, input, inputPaths(input.files));
  const bot = context.bot === null ? {} : { bot: context.bot };
  const asked = { prompt, options: { skill: manifest.slug, ...bot } };
  // A repeated call must not overwrite what the run has made of the files since.
  const repeated =
    idempotencyKey(context.request) !== null &&
    (await session.ask("known", { request: await requestName(context, asked) }));
  if (!repeated) await writeInputs(context, workspace, input.files);
  const before = await digestsOf(workspace);
  const produced = (required: boolean) =>
    keptFiles(context, id, repeated, () => producedFiles(context, workspace, { given: before, required }));
  const answer = await runIn(context, id, asked);
  if (answer.body !== null && isEventStream(answer)) {
    const filesOf = async () => filesInHeader((await produced(true)).headers["x-hull-files"] ?? "");
    return new Response(eventsWithFiles(context, answer.body, filesOf), answer);
  }
  const type = answer.headers.get("content-type") ?? "";
  if (answer.status !== 200 || !type.startsWith("application/json")) return answer;
  const result: Json = JSON.parse(await answer.text());
  const ended = isObject(result) && result.status === "done" ? result : null;
  if (ended === null) return jsonAnswer(result, { headers: answer.headers });
  const { warnings, iterations, tools_used, transcript, ...tokens } = shownShape.parse(ended);
  const last = transcript.messages.findLast(({ role }) => role === "assistant")?.content;
  const text = typeof last === "string" ? last : "";
  if (text === "" && ended.stop_reason === "refusal") {
    throw new ModelRefused({ provider: manifest.llm?.target.provider ?? "" });
  }
  const made = await produced(manifest.output === "file");
  const all = new Headers(answer.headers);
  all.delete("content-length");
  const { output, output_mime } = manifest;
  const isJson = output === "json";
  const own = output === "file" ? undefined : output_mime;
  const typed = typeHeaders(own ?? (isJson ? "application/json" : "text/plain; charset=utf-8"));
  const usage = usageHeader({ ...tokens, rounds: iterations, tools: tools_used.length });
  const warned = endHeaders(ended, [...warnings, ...made.warnings]);
  const further = { ...typed, ...made.headers, ...warned, ...usage };
  for (const [name, value] of Object.entries(further)) all.set(name, value);
  return new Response(isJson ? checkedJson(withoutFence(text)) : text, { headers: all });
}

type NamedFiles = Pick<Awaited<ReturnType<typeof producedFiles>>, "headers" | "warnings">;

/**
 * The header that names a run's files. A repeated call with its `Idempotency-Key` gets that of the first one, since it
 * does not know the files from before the run.
 */
async function keptFiles(
  context: RequestContext,
  session: string,
  repeated: boolean,
  produced: () => Promise<NamedFiles>,
): Promise<NamedFiles> {
  const key = idempotencyKey(context.request);
  if (key === null) return produced();
  const name = await callName(context, key, `files of ${session}`);
  const claimed = await claimAnswer(context.env, { name, request_hash: "", effects: false });
  if (claimed.state === "answered") {
    return { headers: Object.fromEntries(claimed.head.headers), warnings: [] };
  }
  const made = await produced();
  if (claimed.state !== "claimed") return made;
  if (repeated) await releaseClaim(context.env, claimed.claim, true);
  else {
    const head = { status: 200, headers: Object.entries(made.headers) };
    await keepAnswer(context.env, claimed.claim, head, new Uint8Array(0));
  }
  return made;
}
