/** A runner inside the test's isolate. It speaks the protocol and records its requests, but runs nothing. */
import { boundaryOf, MultipartReader } from "../../src/tool/multipart-reader.ts";
import {
  type EndedStatus,
  type ExecutionSpec,
  encodeFrame,
  encodeJsonFrame,
  executionSpec,
  FRAME,
  type WorkspaceChange,
} from "../../src/tool/protocol.ts";

export const RUNNER_URL = "http://runner.test";

export interface FakeExecution {
  spec: ExecutionSpec;
  specText: string;
  /** The received input: `[file name or "stdin", content]`. */
  input: [string, string][];
  stdout: string[];
  /** The frames end with a status. */
  ended: boolean;
  /** Files in the folder that the session does not accept. */
  refused?: Extract<WorkspaceChange, { kind: "refused" }>[];
  /** How the process ended, if not with exit code 0. */
  end?: Partial<EndedStatus>;
}

export class FakeRunner {
  /** By id; no id begins more than once. */
  readonly executions = new Map<string, FakeExecution>();
  /** Ids in the order in which their processes began. */
  readonly begun: string[] = [];
  readonly cancelled: string[] = [];
  /** Answers submissions instead of running them. */
  instead: (() => Response) | null = null;
  /** The behaviour of a process once its input has arrived. */
  behave: (execution: FakeExecution) => void = (execution) => {
    execution.stdout.push("out");
    execution.ended = true;
  };

  /** Replaces the global `fetch`. */
  readonly fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    const id = pathname.split("/").at(-1) ?? "";
    if (request.method === "DELETE") {
      this.cancelled.push(id);
      return new Response(null, { status: 204 });
    }
    if (request.method === "GET")
      return this.#frames(id, Number(new URL(request.url).searchParams.get("from")));
    if (this.instead !== null) return this.instead();
    const boundary = boundaryOf(request.headers.get("content-type") ?? "") ?? "";
    const parts = new MultipartReader(piecesOf(request), boundary, (reason) => new TypeError(reason));
    const specText = await textOf((await parts.next())?.body);
    const spec = executionSpec.parse(JSON.parse(specText));
    const known = this.executions.get(spec.id);
    if (known !== undefined && known.specText !== specText) return refusal(409, "execution_conflict");
    if (known !== undefined) return this.#frames(spec.id, 0);
    const execution: FakeExecution = { spec, specText, input: [], stdout: [], ended: false };
    this.executions.set(spec.id, execution);
    this.begun.push(spec.id);
    const run = async (): Promise<void> => {
      for (let part = await parts.next(); part !== null; part = await parts.next()) {
        execution.input.push([part.filename ?? "", await textOf(part.body)]);
      }
      this.behave(execution);
    };
    // Like the real one, it accepts at once, so that a streamed input is sent at all.
    return this.#frames(spec.id, 0, run());
  };

  #frames(id: string, from: number, ready: Promise<void> = Promise.resolve()): Response {
    const execution = this.executions.get(id);
    if (execution === undefined) return refusal(404, "execution_not_found");
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        await ready;
        for (const frame of framesOf(execution).slice(from)) controller.enqueue(frame);
        if (execution.ended) controller.close();
      },
    });
    return new Response(body);
  }
}

function framesOf(execution: FakeExecution): Uint8Array[] {
  const exit = { cause: "exit", exit_code: 0, signal: null, duration_ms: 1, stdout_bytes: 3 } as const;
  const end = { ...exit, stderr_bytes: 0, stderr_truncated: false, ...execution.end, kind: "ended" } as const;
  return [
    encodeJsonFrame(FRAME.status, { kind: "started", queue_ms: 0 }),
    ...execution.stdout.map((text) => encodeFrame(FRAME.stdout, new TextEncoder().encode(text))),
    ...(execution.refused ?? []).map((change) => encodeJsonFrame(FRAME.change, change)),
    ...(execution.ended ? [encodeJsonFrame(FRAME.status, end)] : []),
  ];
}

async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* body;
}

async function textOf(pieces: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of pieces ?? []) text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

export function refusal(status: number, code: string): Response {
  return Response.json({ code, detail: "no" }, { status });
}
