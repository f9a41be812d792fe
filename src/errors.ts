/**
 * The error vocabulary: one class for each kind of failure. The classes are in `errors/request.ts` (the request is at
 * fault), `errors/run.ts` (a script, tool, runner or upstream failed), `errors/provider.ts` (a model provider failed),
 * `errors/budget.ts` (money), and one file for each other part. From structured data a class makes a stable `code`, an
 * HTTP status, a `detail` that the caller may see, `members` (the extension members of the problem document) and
 * `operator` (facts for the log only).
 */

/** The plain form of an error, for records, journals and streams. JSON-safe. */
export interface ErrorData {
  code: string;
  status: number;
  title: string;
  detail: string;
  /** Extension members of the problem document, e.g. `{allowed: ["GET"]}`. */
  members: Record<string, unknown>;
  /** Seconds for `Retry-After`, if waiting helps. */
  retry_after_s?: number;
}

/** An RFC 9457 problem document, as sent on the wire. */
export interface Problem extends Record<string, unknown> {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  request_id: string;
}

export class HullError extends Error {
  readonly data: ErrorData;
  /** Facts for the operator's log; never sent to a caller. */
  readonly operator: Record<string, unknown>;

  constructor(data: ErrorData, operator: Record<string, unknown> = {}) {
    super(data.detail);
    this.name = data.code;
    this.data = data;
    this.operator = operator;
  }

  get code(): string {
    return this.data.code;
  }

  get status(): number {
    return this.data.status;
  }
}

interface Description {
  /** Absent: the words of the code. */
  title?: string;
  detail: string;
  members?: Record<string, unknown>;
  retry_after_s?: number | undefined;
  operator?: Record<string, unknown>;
}

/** `file_not_found` → `File not found`. */
const wordsOf = (code: string): string => code.charAt(0).toUpperCase() + code.slice(1).replaceAll("_", " ");

/** Makes one class of the vocabulary. `describe` turns the structured data into text and members. */
export function define<D = Record<string, never>>(
  code: string,
  status: number,
  describe: (data: D) => Description,
) {
  const matches = (error: unknown): error is HullError => error instanceof HullError && error.code === code;
  return class extends HullError {
    static readonly code: string = code;
    static readonly status: number = status;
    /** Whether an error is of this class, also after it crossed a boundary as data. */
    static readonly matches = matches;

    /** For `catch`: `null` in place of an error of this class. @throws any other error */
    static orNull(error: unknown): null {
      if (matches(error)) return null;
      throw error;
    }

    constructor(data: D) {
      const d = describe(data);
      super(
        {
          code,
          status,
          title: d.title ?? wordsOf(code),
          detail: d.detail,
          members: d.members ?? {},
          ...(d.retry_after_s === undefined ? {} : { retry_after_s: d.retry_after_s }),
        },
        d.operator,
      );
    }
  };
}

export const Internal = define<{ cause: string }>("internal", 500, (d) => ({
  title: "Internal error",
  detail: "Something went wrong inside Hull. The log has the details under this request id.",
  operator: { cause: d.cause },
}));

const LATER_STORAGE =
  "A later version of Hull stored this in a form that this version cannot read. Deploy the later version again.";
export const StorageUnreadable = define("storage_unreadable", 503, () => ({
  detail: LATER_STORAGE,
}));

/** R2, D1, KV or a Durable Object is unavailable for a moment. */
export const StorageUnavailable = define<{ cause: string }>("storage_unavailable", 503, (d) => ({
  detail: "The deployment's storage did not answer. Try again in a few seconds.",
  retry_after_s: 2,
  operator: { cause: d.cause },
}));

/** A part of the deployment still runs the version before. @param asked what it does not know */
export const RolloutUnderWay = define<{ asked: string }>("rollout_under_way", 503, ({ asked }) => ({
  detail:
    "Another version of Hull is being rolled out, and a part of the deployment does not know this request yet. Try again in a few seconds.",
  retry_after_s: 5,
  operator: { asked },
}));

/** What the platform says of a method that an object of another version lacks. */
const UNKNOWN_METHOD = /does not implement the method "(\w+)"/;

/**
 * What the platform says then. Of D1: https://developers.cloudflare.com/d1/observability/debug-d1/#error-list; of R2 the codes
 * of https://developers.cloudflare.com/r2/api/error-codes/ for 500, 503 and 429.
 */
const STORAGE_AWAY =
  /Network connection lost|caused object to be reset|reset because its code was updated|due to transient issue on remote node|Replica disconnected from primary|D1 DB is overloaded|\((?:10001|10043|10058)\)$|^KV \w+ failed: (?:429|5\d\d)\b/;

/** Whether an error is the platform's, and may pass soon. Durable Objects say so in properties. */
const isStorageAway = (error: Error): boolean =>
  STORAGE_AWAY.test(error.message) ||
  Reflect.get(error, "retryable") === true ||
  Reflect.get(error, "overloaded") === true;

/**
 * The plain form of any error. An error outside the vocabulary becomes `internal`, or what the platform's words say, and
 * only the log has its cause. Of an error that an object's constructor throws, its caller gets only the text.
 */
export function toHullError(error: unknown): HullError {
  if (error instanceof HullError) return error;
  if (error instanceof Error && error.message.includes(LATER_STORAGE)) return new StorageUnreadable({});
  const cause = causeOf(error);
  const [, asked] = UNKNOWN_METHOD.exec(cause) ?? [];
  if (asked !== undefined) return new RolloutUnderWay({ asked });
  return error instanceof Error && isStorageAway(error)
    ? new StorageUnavailable({ cause })
    : new Internal({ cause });
}

/** What was thrown, for the log. */
export const causeOf = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

/** Whether Hull or its storage is at fault. */
export const isFault = (error: HullError): boolean =>
  error.code === Internal.code || error.code === StorageUnavailable.code;

/** Projects an error to RFC 9457. */
export function toProblem(data: ErrorData, requestId: string): Problem {
  const own = {
    type: `urn:hull:problem:${data.code}`,
    title: data.title,
    status: data.status,
    detail: data.detail,
    instance: `urn:hull:request:${requestId}`,
    code: data.code,
    request_id: requestId,
  };
  // The standard members come first for readers, and last so that they win.
  return { ...own, ...data.members, ...own };
}
