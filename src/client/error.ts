/** The errors that the client throws. */
import type { Problem } from "../../typed/client/api.d.ts";

/** Hull refused the call, or it failed: the problem document of the answer, or of a stream's event `error`. */
export class HullError extends Error {
  /** Stable; the table of docs/http.md lists all. `unknown` if the answer was not a problem document of Hull. */
  readonly code: string;
  /** Status of the answer; for a stream's error the one in the document. */
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Names the request in the log of the deployment. */
  readonly requestId: string | null;
  /** How long to wait before the same call may succeed, in ms, if Hull said so. */
  readonly retryAfterMs: number | null;
  /** The document with all of its members. */
  readonly problem: Readonly<Record<string, unknown>>;

  constructor(problem: Readonly<Record<string, unknown>>, status: number, retryAfterMs: number | null) {
    const text = (name: keyof Problem): string | null => {
      const value = problem[name];
      return typeof value === "string" ? value : null;
    };
    super(text("detail") ?? text("title") ?? `The server answered ${status}.`);
    this.name = "HullError";
    this.code = text("code") ?? "unknown";
    this.status = status;
    this.title = text("title") ?? "";
    this.detail = text("detail") ?? "";
    this.requestId = text("request_id");
    this.retryAfterMs = retryAfterMs;
    this.problem = problem;
  }
}

/** Hull could not be reached, or the connection broke and did not come back. `cause` is the error of `fetch`. */
export class HullConnectionError extends Error {
  constructor(url: string, cause: unknown) {
    super(
      `${url === "" ? "The page's origin (no `url` is set)" : url} cannot be reached, or the connection broke.`,
      { cause },
    );
    this.name = "HullConnectionError";
  }
}
