/** The request and response shapes of session routes. */

import { SESSION_STATES } from "../engine/agent/records.ts";
import { callBody } from "../run/request-bodies.ts";
import {
  acceptedRun,
  ancestryShape,
  approvalView,
  artifactEntry,
  artifactView,
  cassetteShape,
  compactedSession,
  deliveredShape,
  resumedSession,
  runAnswerShape,
  runShape,
  runSteps,
  sessionShape,
} from "../session/conversation/answers.ts";
import { figuresShape, RUN_KINDS, RUN_STATES, runEntryShape } from "../session/run-entry.ts";
import { sessionRowShape } from "../session/session-entry.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { compactBody, decisionBody } from "./bodies/sessions.ts";
import { COUNT, MAYBE_COUNT, MAYBE_TIME, object, pageOf, ref, TIME } from "./openapi-parts.ts";
import { bodySchema, schemaOf, schemasOf } from "./shape-schema.ts";

/** All of `components/schemas` that these routes use. */
export function sessionSchemas(): JsonObject {
  return {
    ...schemasOf({
      Session: sessionShape,
      SessionAncestry: ancestryShape,
      SessionCassette: cassetteShape,
      Delivered: deliveredShape,
      CompactedSession: compactedSession,
      ResumedSession: resumedSession,
      Artifact: artifactView,
      Approval: approvalView,
      RunAccepted: acceptedRun,
      Run: runShape,
      SessionRunResult: runAnswerShape,
      Trace: runSteps,
    }),
    Sessions: pageOf(
      bodySchema(sessionRowShape, {
        state: { enum: [...SESSION_STATES] },
        created_at: TIME,
        metadata: { type: "object" },
      }),
    ),
    SessionMessages: pageOf(ref("schemas", "Message")),
    Artifacts: pageOf(schemaOf(artifactEntry)),
    Approvals: pageOf(ref("schemas", "Approval")),
    CompactRequest: bodySchema(compactBody, {
      summary: { description: "Replaces the summary that Hull would make." },
      options: ref("schemas", "CallOptions"),
    }),
    ApprovalDecision: bodySchema(decisionBody, {
      arguments_digest: {
        description: "Required to approve: the digest of the arguments that the person saw.",
      },
    }),
    RunRequest: bodySchema(callBody, { options: ref("schemas", "RunOptions") }),
    Runs: pageOf(ref("schemas", "Run")),
    IndexedRun: bodySchema(runEntryShape, {
      kind: {
        enum: [...RUN_KINDS],
        description:
          "`run`: in a session; `daemon`: of a daemon; `call`: of a skill, or without a session; `workflow`: of a graph, its stages are runs too.",
      },
      name: { description: "The skill that it is, the operation, or the workflow." },
      state: { enum: [...RUN_STATES] },
      created_at: TIME,
      settled_at: MAYBE_TIME,
      duration_ms: MAYBE_COUNT,
      input_tokens: COUNT,
      output_tokens: COUNT,
      code: { description: "Of the error that it ended with." },
    }),
    SessionEvents: pageOf(ref("schemas", "Event")),
    IndexedRuns: pageOf(ref("schemas", "IndexedRun")),
    RunFigures: object({
      since: TIME,
      awaiting_approval: { ...COUNT, description: "Runs that wait for an approval, whenever they began." },
      data: {
        type: "array",
        items: bodySchema(figuresShape, {
          name: { description: "The skill, or the operation." },
          calls: COUNT,
          failures: COUNT,
          p50_ms: { ...MAYBE_COUNT, description: "Median duration of those that ended." },
        }),
      },
    }),
  };
}
