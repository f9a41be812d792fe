/**
 * Every event of every stream and the shape of its `data`. The types of events, their schemas in the OpenAPI document
 * and docs/events.md come from here. The Worker uses only the types and never loads this module.
 */
import * as z from "zod/mini";
import { about, count, flag, maybe, ordinal, text, texts, time } from "../answer-shape.ts";
import { approvalShape, compactionShape, TOOL_STATUSES, WAKE_REASONS } from "../engine/agent/records.ts";
import { artifactShape } from "../engine/artifact.ts";
import { usageShape } from "../engine/messages.ts";
import { SEARCH_MODES } from "../engine/tool-vault/events.ts";
import { MODES } from "../skill/manifest-fields.ts";

/** Members that hold arbitrary JSON of models, tools or callers. */
const anything = () => z.unknown();
const object = () => z.record(z.string(), z.unknown());
const moment = () => about(time(), "RFC 3339.");
const round = () => about(count(), "The model call, counted from 1.");
const iteration = () => about(count(), "Model calls before this event, including itself if it is one.");
const callId = () => about(text(), "The id that the model gave the call.");

const bytes = () => about(maybe(text()), "Instead of `text`, for bytes that are not UTF-8: Base64.");
const piece = () => ({ text: maybe(text()), b64: bytes() });

/** An event that may come from a delegated run: then the session above it shows the event with the run's ids. */
const event = <Fields extends z.core.$ZodShape>(meaning: string, fields: Fields) =>
  about(z.object({ ...fields, run_id: maybe(text()), parent_run_id: maybe(z.nullable(text())) }), meaning);

/** The `data` of each event, by the event's name. */
export const EVENTS = {
  start: about(
    z.object({
      execution_id: maybe(about(text(), "For calls of skills and models, and for `POST /runs`.")),
      request_id: maybe(about(text(), "For the same: id of the request that began the run.")),
      skill: maybe(about(text(), "The slug; for calls of skills.")),
      mode: maybe(about(z.enum(MODES), "For calls of skills.")),
      operation: maybe(
        about(
          z.enum(["llm/call", "llm/structured", "llm/completion", "runs", "workflows", "responses"]),
          "For calls of models, runs and workflow runs.",
        ),
      ),
      run_id: maybe(about(text(), "Of runs.")),
      session_id: maybe(about(z.nullable(text()), "For runs; `null` without a session.")),
    }),
    "The run has begun. Hull answers an invalid request before this, without a stream.",
  ),
  delta: event("A piece of the answer: output of a script, bytes of a file, text of the model.", {
    ...piece(),
    round: maybe(round()),
  }),
  thought: event("A piece of the model's reasoning.", { ...piece(), round: round() }),
  stderr: about(z.object(piece()), "A piece of what a script prints to stderr, in order with `delta`."),
  round: event("A model call has ended, or begins again.", {
    round: round(),
    finish_reason: maybe(
      about(
        text(),
        "Why the model stopped, e.g. `end_turn`, `tool_use`, `max_tokens`; the provider's own word if Hull does not know it.",
      ),
    ),
    usage: maybe(usageShape()),
    restarted: maybe(
      about(
        z.literal(true),
        "Hull asks the model again: earlier `delta` and `thought` events of this round are void.",
      ),
    ),
  }),
  tool_call: event("The model calls a tool.", {
    round: round(),
    call_id: callId(),
    name: text(),
    arguments: about(anything(), "As the model wrote them; if they are not JSON, `{_raw}` and the reason."),
  }),
  tool_output: event("What a handler emits or prints, sent immediately; up to 1 MB for each call.", {
    call_id: callId(),
    stream: z.enum(["emit", "stdout", "stderr"]),
    ...piece(),
  }),
  tool_result: event("A tool call has ended. Its content is for the model and not part of the event.", {
    round: round(),
    call_id: callId(),
    name: text(),
    ok: flag(),
    status: z.enum(TOOL_STATUSES),
    code: maybe(about(text(), "For failures: exact for calls of skills, a category for runs.")),
    exit_code: z.nullable(z.int()),
    duration_ms: z.number(),
    bytes: about(count(), "Size of all that the tool wrote, before truncation."),
    truncated: about(flag(), "Whether the model sees less than the tool wrote."),
  }),
  artifact: event("A tool made something for people to look at, or a new version of it.", {
    call_id: maybe(callId()),
    ...artifactShape().shape,
  }),
  approval_request: event("A call waits for a person's decision.", {
    ...approvalShape().shape,
    id: about(text(), "Decide it at `POST /sessions/{id}/approvals/{approval}`."),
    requested_at: moment(),
    expires_at: moment(),
  }),
  skill_matched: event("Hull compared the run's skills with the latest message.", {
    strategy: text(),
    iteration: iteration(),
    reassess: about(flag(), "Whether skills had been matched before in this run."),
    candidates: z.array(z.object({ name: text(), score: z.number(), reason: text() })),
    working_files: texts(),
  }),
  skill_activated: event("A skill became active: its text is part of the system text.", {
    name: text(),
    description: text(),
    iteration: iteration(),
    score: z.number(),
    reason: text(),
    allowed_tools: texts(),
  }),
  skill_deactivated: event("An active skill no longer matches.", { name: text(), iteration: iteration() }),
  skill_scope_tools: event("An active skill limits the tools on offer.", {
    name: text(),
    allowed_tools: texts(),
  }),
  skill_mcp_bound: event("A skill's MCP server is connected; `tools` names its tools.", {
    name: text(),
    server: text(),
    tools: texts(),
    iteration: iteration(),
  }),
  skill_mcp_unbound: event("The skill is no longer active, so the run no longer has its MCP server.", {
    name: text(),
    server: text(),
    iteration: iteration(),
  }),
  skill_mcp_bind_failed: event("Hull could not connect a skill's MCP server; the run continues without it.", {
    name: text(),
    server: text(),
    error: text(),
    iteration: iteration(),
  }),
  tool_search_query: event("The model searches for deferred tools.", {
    type: z.literal("tool_search_query"),
    id: text(),
    name: text(),
    query: about(anything(), "The arguments as the model gave them."),
    strategy: maybe(text()),
    mode: z.enum(SEARCH_MODES),
  }),
  tool_search_result: event("What the search found.", {
    type: z.literal("tool_search_result"),
    tool_use_id: text(),
    tool_references: z.array(z.object({ tool_name: text() })),
    mode: z.enum(SEARCH_MODES),
    promoted: about(texts(), "Tools that became callable."),
    strategy: maybe(text()),
  }),
  feedback_injected: event("Hull or a host gave the model feedback.", { kind: text(), content: text() }),
  transcript_compacted: event("A summary replaced older messages.", {
    ...z.omit(compactionShape(), { summary: true }).shape,
  }),
  stage: event("An attempt of a workflow's node began, waits or ended.", {
    stage_id: about(text(), "`<run>:<node>:<visit>`, as in the run's record."),
    node_id: text(),
    attempt: about(ordinal(), "Counted from 1."),
    item: maybe(about(count(), "Of a map: which item, counted from 0.")),
    status: z.enum(["running", "waiting", "completed", "partial", "failed"]),
    outcome: maybe(about(text(), "How it ended, e.g. `success`, `verified`, `condition_true`.")),
    branch: maybe(about(text(), "Which edges the run takes next.")),
    waits_until: maybe(about(text(), "RFC 3339.")),
    compensates: maybe(about(text(), "Id of the stage that it undoes, after `cancel`.")),
  }),
  daemon_wake: event("A daemon woke.", {
    reason: z.enum(WAKE_REASONS),
    watch_paths: about(texts(), "The files that changed."),
    resumed: flag(),
  }),
  response_part: about(
    z.object({
      turn: maybe(
        about(z.array(object()), "Blocks of a finished turn; `delta` events have already sent its text."),
      ),
      call: maybe(about(object(), "A call that Hull carries out.")),
      result: maybe(about(object(), "The result of such a call.")),
      files: maybe(about(z.array(object()), "Files that the response leaves in its container.")),
    }),
    "A part of a stored response. Hull builds the response's stream from it and never sends it itself.",
  ),
  sub_agent_start: about(
    z.object({
      run_id: text(),
      parent_run_id: z.nullable(text()),
      session_id: about(text(), "The session in which it runs; also the id of its task."),
      name: text(),
      task: text(),
    }),
    "A sub-agent has begun. Its events follow among those of the session above, with `run_id` and `parent_run_id`.",
  ),
  sub_agent_result: about(
    z.object({
      run_id: text(),
      parent_run_id: z.nullable(text()),
      session_id: text(),
      name: text(),
      ok: about(flag(), "`false`: its run failed."),
      status: text(),
      cost_usd: about(z.number(), "Of its own calls and those of its sub-agents."),
    }),
    "A sub-agent has ended.",
  ),
  task_update: event("The status of a task changed.", {
    task_id: text(),
    name: text(),
    status: about(
      z.enum(["running", "progressed", "awaiting_input", "completed", "failed", "cancelled", "interrupted"]),
      "`progressed`: a trigger begins another cycle; `running` follows.",
    ),
  }),
  error: about(
    z.looseObject({
      type: text(),
      title: text(),
      status: z.int(),
      detail: text(),
      instance: text(),
      code: text(),
      request_id: text(),
    }),
    "The problem document of a run that failed; `done` follows.",
  ),
  done: about(
    z.looseObject({
      ok: about(
        flag(),
        "`false` follows one `error`, unless `done` itself says why: `status` of a workflow run, `error` of an envelope or a task.",
      ),
      duration_ms: maybe(z.number()),
      llm_ms: maybe(about(z.number(), "How much of it calls of models took.")),
      tools_ms: maybe(about(z.number(), "The same of calls of tools, added up.")),
      queue_ms: maybe(about(z.number(), "Of scripts: how much of it the script waited for the runner.")),
      run_ms: maybe(about(z.number(), "Of scripts: how much of it the script ran.")),
      exit_code: maybe(about(z.nullable(z.int()), "Of scripts.")),
      finish_reason: maybe(about(text(), "Of llm skills.")),
      usage: maybe(
        about(
          z.nullable(object()),
          "Of llm skills and model calls; `null` if no model answered `/llm/structured`.",
        ),
      ),
      files: maybe(about(z.array(object()), "Of llm skills: the files that the call made.")),
      warnings: maybe(about(z.array(object()), "Of llm skills, as of a run's result.")),
    }),
    "The run has ended, or waits; always the last event. For model calls and runs it holds the whole result; for workflow runs that is the answer of `execute`, for tasks the handle, and the stream of their session has only `run_id` and `status`.",
  ),
};
