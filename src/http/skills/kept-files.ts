/** The files that a call of a skill in a session names: a repeated call with its `Idempotency-Key` names those of the first. */

import * as z from "zod/mini";
import { utf8, utf8OrNull } from "../../bytes.ts";
import type { Warning } from "../../engine/messages.ts";
import { logFault } from "../../log.ts";
import { claimAnswer, keepAnswer, releaseClaim } from "../../registry/kept-answers/rows.ts";
import type { producedFiles } from "../../run/served-files.ts";
import type { RequestContext } from "../context.ts";
import { callName, idempotencyKey } from "../idempotency.ts";

type Produced = Awaited<ReturnType<typeof producedFiles>>;
type NamedFiles = Pick<Produced, "headers" | "warnings">;

const warningsShape = z.lazy(() => z.array(z.object({ code: z.string(), message: z.string() })));

/**
 * The header that names a run's files, and the warnings about those that it lacks. Since other runs may have made files
 * since, a repeated call gets what the first one got.
 * @param knows whether this call knows the files from before the run
 */
export async function keptFiles(
  context: RequestContext,
  session: string,
  knows: boolean,
  produced: () => Promise<Produced>,
): Promise<NamedFiles> {
  const key = idempotencyKey(context.request);
  if (key === null) return produced();
  const name = await callName(context, key, `files of ${session}`);
  const claimed = await claimAnswer(context.env, { name, request_hash: "", effects: false }).catch(unkept);
  if (claimed?.state === "answered") {
    const { head, body } = claimed;
    return { headers: Object.fromEntries(head.headers), warnings: warningsIn(body) };
  }
  const made = await produced();
  if (claimed?.state !== "claimed") return made;
  const head = { status: 200, headers: Object.entries(made.headers) };
  // A repeated call may find the storage well again.
  const settled =
    knows && made.whole
      ? keepAnswer(context.env, claimed.claim, head, utf8(JSON.stringify(made.warnings)))
      : releaseClaim(context.env, claimed.claim, true);
  await settled.catch(unkept);
  return made;

  /** The run's answer is finished, so a fault here must not cost it. */
  function unkept(error: unknown): null {
    logFault(context, { event: "answer_not_kept" }, error);
    return null;
  }
}

/** An earlier version of Hull kept no warnings. */
const warningsIn = (body: Uint8Array): Warning[] =>
  body.length === 0 ? [] : warningsShape.parse(JSON.parse(utf8OrNull(body) ?? ""));
