/** A call of a skill in a session: it uses the session's files and conversation. */

import * as z from "zod/mini";
import { answerOf } from "../../engine/agent/served-answer.ts";
import { termsOf } from "../../engine/run-status.ts";
import { toolRounds } from "../../run/agent/skill-terms.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import { endHeaders, usageHeader } from "../../run/end-headers.ts";
import type { RunInput } from "../../run/handle.ts";
import { callerText } from "../../run/llm-input.ts";
import {
  filesInHeader,
  inputPaths,
  lastWritten,
  producedFiles,
  promptText,
  writeInputsUnless,
} from "../../run/served-files.ts";
import { checkedText, textType } from "../../run/served-text.ts";
import { clientWorkspace } from "../../run/session-client.ts";
import type { WorkspaceFile } from "../../run/workspace/access.ts";
import type { Json, JsonObject, SkillRecord } from "../../skill/manifest.ts";
import type { RequestContext } from "../context.ts";
import { jsonAnswer } from "../json.ts";
import { keyedName, sessionOf } from "../sessions/object.ts";
import { runIn } from "../sessions/runs.ts";
import { isEventStream } from "../sse.ts";
import { eventsWithFiles } from "./events-with-files.ts";
import { keptFiles } from "./kept-files.ts";

/** What the answer shows of a run's result. */
const shownShape = z.lazy(() =>
  z.object({
    status: z.string(),
    stop_reason: z.unknown(),
    raw_stop_reason: z.unknown(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    iterations: z.number(),
    tools_used: z.array(z.string()),
    warnings: z._default(z.array(z.object({ code: z.string() })), []),
    transcript: z.object({ messages: z.array(z.object({ role: z.string(), content: z.unknown() })) }),
  }),
);
type Shown = z.infer<typeof shownShape>;

/**
 * The run's last text with the files that it made, or its events. An answer that is not a result, or of a waiting run, stays
 * unchanged.
 * @throws HullError that says why there is no text, as without a session
 */
export async function runInSession(
  context: RequestContext,
  record: SkillRecord,
  id: string,
  input: RunInput,
): Promise<Response> {
  const { manifest } = record;
  const session = sessionOf(context, id);
  const workspace = clientWorkspace(session);
  const prompt = promptText(manifest, input, inputPaths(input.files));
  const bot = context.bot === null ? {} : { bot: context.bot };
  const asked = { prompt, options: { skill: manifest.slug, ...bot } };
  const request = await keyedName(context, asked);
  // While a deployment rolls out, an object of the version before answers `false` instead of null.
  const begun = async () => (request === null ? null : await session.ask("known", { request })) || null;
  // A repeated call must not overwrite what the run has made of the files since.
  let known = (await begun()) ?? (await writeInputsUnless(context, workspace, input.files, begun));
  let files_before = known === null ? await lastWritten(workspace) : known.files_before;
  const called = { files_before: files_before ?? 0, said: callerText(input) };
  const answer = await runIn(context, id, asked, called);
  // The same call may have begun the run meanwhile.
  if (known === null && answer.headers.has("x-hull-replayed")) {
    known = await begun();
    files_before = known?.files_before;
  }
  const isMade = ({ version }: WorkspaceFile) => files_before !== undefined && version > files_before;
  const produced = () =>
    keptFiles(context, id, files_before !== undefined, () =>
      producedFiles(context, workspace, { isMade, required: manifest.output === "file" }),
    );
  if (answer.body !== null && isEventStream(answer)) {
    const filesOf = async (result: JsonObject) => {
      const ended = shownShape.parse(result);
      if (termsOf(ended.status).waits) return null;
      answerText(context, record, ended);
      const { headers, warnings } = await produced();
      return { files: filesInHeader(headers["x-hull-files"] ?? ""), warnings };
    };
    return new Response(eventsWithFiles(context, answer.body, filesOf), answer);
  }
  const type = answer.headers.get("content-type") ?? "";
  if (answer.status !== 200 || !type.startsWith("application/json")) return answer;
  const result: Json = JSON.parse(await answer.text());
  const ended = shownShape.parse(result);
  if (termsOf(ended.status).waits) return jsonAnswer(result, { headers: answer.headers });
  const text = answerText(context, record, ended);
  const made = await produced();
  const all = new Headers(answer.headers);
  all.delete("content-length");
  const { iterations, tools_used, warnings } = ended;
  const usage = usageHeader({ ...ended, rounds: iterations, tools: tools_used.length });
  const warned = endHeaders(ended, [...warnings, ...made.warnings]);
  const further = { ...textType(manifest), ...made.headers, ...warned, ...usage };
  for (const [name, value] of Object.entries(further)) all.set(name, value);
  return new Response(text, { headers: all });
}

/** The last text of a run that has ended. @throws HullError that says why there is none, or why it is no answer */
function answerText(context: RequestContext, record: SkillRecord, ended: Shown): string {
  const { manifest } = record;
  const { target, max_tool_rounds, max_tokens = 0 } = manifest.llm ?? {};
  const last = ended.transcript.messages.findLast(({ role }) => role === "assistant")?.content;
  const { text } = answerOf({
    text: typeof last === "string" ? last : "",
    ending: ended,
    provider: target?.provider ?? "",
    iterations: ended.iterations,
    rounds: toolRounds(max_tool_rounds, takesAnyFile(context, record)),
    max_tokens,
  });
  return checkedText(context.settings, manifest, text);
}
