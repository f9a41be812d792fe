/** A runner inside the test's isolate: speaks the protocol, runs nothing, remembers what it was told to run. */
import {
  type EndedStatus,
  type ExecutionSpec,
  encodeFrame,
  encodeJsonFrame,
  executionSpec,
  FRAME,
} from "../../src/tool/protocol.ts";

export const RUNNER_URL = "http://runner.test";

export interface FakeExecution {
  spec: ExecutionSpec;
  specText: string;
  stdout: string[];
  /** Frames end with a status. */
  ended: boolean;
  /** How it ended, where that was not exit code 0. */
  end?: Partial<EndedStatus>;
}

export class FakeRunner {
  /** By id; an id is begun at most once. */
  readonly executions = new Map<string, FakeExecution>();
  /** Ids in the order in which their processes were begun. */
  readonly begun: string[] = [];
  readonly cancelled: string[] = [];
  /** What it answers to submissions instead of running them. */
  instead: (() => Response) | null = null;
  /** What a process does. */
  behave: (execution: FakeExecution) => void = (execution) => {
    execution.stdout.push("out");
    execution.ended = true;
  };

  /** Stands in for the global `fetch`. */
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
    const body = new TextDecoder().decode(await request.arrayBuffer());
    if (this.instead !== null) return this.instead();
    const specText = /name="spec"\r\n\r\n([^\r]*)\r\n/.exec(body)?.[1] ?? "";
    const spec = executionSpec.parse(JSON.parse(specText));
    const known = this.executions.get(spec.id);
    if (known !== undefined && known.specText !== specText) return refusal(409, "execution_conflict");
    if (known === undefined) {
      const execution = { spec, specText, stdout: [], ended: false };
      this.executions.set(spec.id, execution);
      this.begun.push(spec.id);
      this.behave(execution);
    }
    return this.#frames(spec.id, 0);
  };

  #frames(id: string, from: number): Response {
    const execution = this.executions.get(id);
    if (execution === undefined) return refusal(404, "execution_not_found");
    const exit = { cause: "exit", exit_code: 0, signal: null, duration_ms: 1, stdout_bytes: 3 } as const;
    const end = {
      ...exit,
      stderr_bytes: 0,
      stderr_truncated: false,
      ...execution.end,
      kind: "ended",
    } as const;
    const frames = [
      encodeJsonFrame(FRAME.status, { kind: "started", queue_ms: 0 }),
      ...execution.stdout.map((text) => encodeFrame(FRAME.stdout, new TextEncoder().encode(text))),
      ...(execution.ended ? [encodeJsonFrame(FRAME.status, end)] : []),
    ].slice(from);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const frame of frames) controller.enqueue(frame);
        if (execution.ended) controller.close();
      },
    });
    return new Response(body);
  }
}

export function refusal(status: number, code: string): Response {
  return Response.json({ code, detail: "no" }, { status });
}
