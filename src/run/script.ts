/** mode: script — one process per call; its output is the answer. */

import { streamFrom } from "../bytes.ts";
import { ClientClosedRequest, ExecutionLost, OutputTooLarge, RunnerProtocolError } from "../errors/run.ts";
import { Internal } from "../errors.ts";
import type { Redactor } from "../redact.ts";
import { defined } from "../skill/json.ts";
import { allowedVariables, executionSpec } from "../tool/execution.ts";
import { scriptError } from "../tool/process-end.ts";
import type { EndedStatus, ExecutionSpec } from "../tool/protocol.ts";
import { replayExecution, runExecution } from "../tool/runner-client.ts";
import { DeltaText } from "./delta.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { checkedJson } from "./json.ts";
import { filesAnswer, type OutputFile, typeHeaders } from "./output-files.ts";
import { runnerEndpoint, runOptions } from "./runner.ts";
import { inSpan, openSpan } from "./spans.ts";
import { SPOOL_BYTES, Spool, Tail } from "./spool.ts";
import { grantsOf } from "./variables.ts";

export async function runScript(run: RunHandle): Promise<RunOutput> {
  const { manifest } = run.record;
  const { redactor } = run.context.settings;
  const spec = scriptSpec(run);
  const { stdout, files, status } = await inSpan(
    run.context,
    `run ${manifest.slug}`,
    () => ({ "hull.skill": manifest.slug, "hull.execution_id": run.id }),
    () => {
      const queued = openSpan(run.context, "queue");
      return collect(run, spec, queued).finally(queued);
    },
  );
  const done = { exit_code: status.exit_code };
  if (manifest.output === "file") {
    const note = new TextDecoder().decode(redactor.bytes(stdout.content() ?? new Uint8Array(0)));
    const bytesOf = (index: number) => content(run, files[index]?.content ?? stdout, index);
    return { ...(await filesAnswer(run.context, files, note, manifest.output_mime, bytesOf)), done };
  }
  if (manifest.output === "json") {
    const bytes = stdout.content();
    if (bytes === null) throw new OutputTooLarge({ limit: SPOOL_BYTES });
    const body = checkedJson(new TextDecoder().decode(redactor.bytes(bytes)));
    return { body, headers: typeHeaders(manifest.output_mime ?? "application/json"), done };
  }
  const type = manifest.output_mime ?? (stdout.isText ? "text/plain; charset=utf-8" : BINARY);
  return { body: await content(run, stdout, null), headers: typeHeaders(type), done };
}

const BINARY = "application/octet-stream";

function scriptSpec(run: RunHandle): ExecutionSpec {
  const { record, context, input } = run;
  const { manifest, pack } = record;
  const { settings } = context;
  if (pack === null) throw new Internal({ cause: `the script skill ${manifest.slug} has no pack` });
  const first = input.files[0];
  const mode = manifest.input === "file" ? "file" : input.text === null ? "none" : "stdin";
  return executionSpec({
    id: run.id,
    runId: run.id,
    record,
    digest: pack,
    argv: manifest.run ?? [],
    env: allowedVariables(manifest.tool_env, settings, grantsOf(settings, record)),
    timeoutMs: manifest.timeout_ms,
    maxOutputBytes: Math.min(
      settings.max_output_bytes,
      manifest.max_output_bytes ?? Number.POSITIVE_INFINITY,
    ),
    input: { mode, ...defined({ mime: first?.mime, filename: first?.filename || undefined }) },
    output: manifest.output,
    detach: run.durable !== null,
    settings,
  });
}

/**
 * Runs the process, passes events on and keeps what the answer needs. Throws if the process failed.
 * @param queued ends the span of the wait for a slot
 */
async function collect(
  run: RunHandle,
  spec: ExecutionSpec,
  queued: ReturnType<typeof openSpan>,
): Promise<{ stdout: Spool; files: OutputFile[]; status: EndedStatus }> {
  const { context, input } = run;
  const { eventRedactor } = context.settings;
  const budget = { left: SPOOL_BYTES };
  const stdout = new Spool(budget);
  const tails = { stdout: new Tail(), stderr: new Tail() };
  const deltas = run.streaming
    ? {
        stdout: new DeltaText(eventRedactor, (data) => run.emit({ event: "delta", data })),
        stderr: new DeltaText(eventRedactor, (data) => run.emit({ event: "stderr", data })),
      }
    : null;
  const keep = run.keep || run.record.manifest.output === "json";
  const files: OutputFile[] = [];
  const body = {
    // A skill that takes a file ignores the accompanying text.
    ...(spec.input.mode !== "stdin" || input.text === null ? {} : { stdin: input.text }),
    files: input.files.map((file) => ({ ...file, filename: file.filename ?? "" })),
  };
  const runner = await runnerEndpoint(context, run.id);
  const options = {
    ...runOptions(context, run.signal, run.durable),
    accepted: () => context.beforeEffects(),
  };
  for await (const event of runExecution(runner, spec, body, options)) {
    switch (event.kind) {
      case "started":
        context.time("queue", event.queue_ms);
        queued({ "hull.queue_ms": event.queue_ms });
        run.started();
        break;
      case "stdout":
        tails.stdout.push(event.bytes);
        if (keep) stdout.push(event.bytes);
        if (deltas !== null) await deltas.stdout.push(event.bytes);
        break;
      case "stderr":
        tails.stderr.push(event.bytes);
        if (deltas !== null) await deltas.stderr.push(event.bytes);
        break;
      case "file":
        files.push({
          filename: event.filename,
          size: event.size,
          sha256: event.sha256,
          content: new Spool(budget),
        });
        break;
      case "file_bytes":
        files.at(-1)?.content.push(event.bytes);
        break;
      case "ended": {
        const { status } = event;
        context.time("run", status.duration_ms);
        if (deltas !== null) {
          await deltas.stdout.end();
          await deltas.stderr.end();
        }
        const error = scriptError(status, spec, () => ({
          stdout: tails.stdout.text(),
          stderr: tails.stderr.text(),
        }));
        // Someone other than this run's caller stopped it.
        const stopped = error instanceof ClientClosedRequest && spec.detach && !run.signal.aborted;
        if (stopped) throw new ExecutionLost({ id: run.id });
        if (error !== null) throw error;
        return { stdout, files, status };
      }
    }
  }
  throw new RunnerProtocolError({ reason: "the frames ended without a status" });
}

/** The bytes of an output: from memory, or, if they did not fit, streamed from the runner's journal. */
async function content(
  run: RunHandle,
  spool: Spool,
  fileIndex: number | null,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const { redactor } = run.context.settings;
  const kept = spool.content();
  if (kept !== null) return fileIndex === null ? redactor.bytes(kept) : kept;
  const runner = await runnerEndpoint(run.context, run.id);
  const events = replayExecution(runner, run.id, runOptions(run.context, run.signal, null));
  return streamFrom(fileIndex === null ? replayedStdout(events, redactor) : replayedFile(events, fileIndex));
}

type Events = ReturnType<typeof replayExecution>;

async function* replayedStdout(events: Events, redactor: Redactor): AsyncGenerator<Uint8Array, void> {
  const secrets = redactor.stream();
  for await (const event of events) {
    if (event.kind === "ended") break;
    if (event.kind === "stdout") yield secrets.push(event.bytes);
  }
  yield secrets.end();
}

async function* replayedFile(events: Events, index: number): AsyncGenerator<Uint8Array, void> {
  let file = -1;
  for await (const event of events) {
    if (event.kind === "ended") return;
    if (event.kind === "file") file += 1;
    if (event.kind === "file_bytes" && file === index) yield event.bytes;
  }
}
