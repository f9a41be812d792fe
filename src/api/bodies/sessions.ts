/** The bodies of requests about sessions and daemons. */
import * as z from "zod/mini";
import { DELIVERIES } from "../../engine/agent/records.ts";
import { sessionId } from "../../engine/session-id.ts";
import { messageShape, partShape } from "../../llm/messages.ts";
import { transcriptShape } from "../../llm/transcript.ts";
import { anyJson, jsonObject } from "../../skill/json-shape.ts";

const maybe = z.exactOptional;
const count = () => z.int().check(z.nonnegative());
const text = () => z.string().check(z.minLength(1));

/** The body of an operation without members. */
export const nothing = z.lazy(() => z.strictObject({}));

export const openBody = z.lazy(() =>
  z.strictObject({
    id: maybe(sessionId()),
    // A record would drop the key "__proto__".
    metadata: maybe(jsonObject()),
    transcript: maybe(transcriptShape),
  }),
);
export const trimBody = z.lazy(() => z.strictObject({ keep_last: count() }));
export const forkBody = z.lazy(() => z.strictObject({ dst: maybe(sessionId()) }));
export const forkAtBody = z.lazy(() => z.strictObject({ keep_first: count(), dst: maybe(sessionId()) }));
export const injectBody = z.lazy(() => z.strictObject({ message: messageShape }));
export const compactBody = z.lazy(() =>
  z.strictObject({
    strategy: z._default(z.enum(["observation_mask", "truncate", "llm"]), "observation_mask"),
    keep_first: z._default(count(), 0),
    keep_last: z._default(count(), 12),
    summary: maybe(text()),
    options: maybe(z.record(z.string(), z.json())),
  }),
);
export const messageBody = z.lazy(() =>
  z.strictObject({
    content: z.union([text(), z.array(partShape).check(z.minLength(1))]),
    delivery: z._default(z.enum(DELIVERIES), "interrupt_immediate"),
  }),
);
export const feedbackBody = z.lazy(() =>
  z.strictObject({
    kind: z
      .string()
      .check(
        z.regex(
          /^[a-z][a-z0-9_]{0,63}$/,
          "must be up to 64 characters a-z, 0-9 and _, the first one a letter",
        ),
      ),
    content: text(),
  }),
);
export const decisionBody = z.lazy(() =>
  z.strictObject({
    decision: z.enum(["approve", "deny"]),
    scope: z._default(z.enum(["once", "session"]), "once"),
    reason: maybe(z.nullable(z.string())),
    arguments_digest: maybe(z.string()),
  }),
);
export const toolResultBody = z.lazy(() =>
  z.strictObject({
    tool_call_id: z.string(),
    content: anyJson("is required"),
    is_error: z._default(z.boolean(), false),
  }),
);

export const resumeDaemonBody = z.lazy(() => z.strictObject({ persist_path: text() }));
