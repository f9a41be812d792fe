/**
 * The protocol between Worker and runner: shapes, frames and tickets, which both sides use and validate. It needs only
 * Web Crypto and typed arrays, so that the Worker and Node can share it.
 */

import * as z from "zod/mini";
import { concat, fromBase64Url, sha256, toBase64Url, utf8 } from "../bytes.ts";
import { pathFault, WORKSPACE_LIMITS } from "./workspace-path.ts";

/** Version of this protocol; both sides refuse another. */
export const PROTOCOL_VERSION = 1;

const digest = () => z.string().check(z.regex(/^[0-9a-f]{64}$/));
/** Execution and request ids, in a form for file names and headers. */
const id = () => z.string().check(z.regex(/^[A-Za-z0-9._-]{1,128}$/));

/** Names a session's workspace without revealing anything about it. */
const workspaceId = () => z.string().check(z.regex(/^[0-9a-f]{32}$/));
/**
 * How a handler runs: by the shims of Python and Node, by bash, or as an executable file. `program`: not a handler, but
 * `argv` itself, in the same place. `bash`: not a handler either, but a text of commands, the part `stdin`; its stderr
 * comes with stdout, in the order written, unless the specification says `own_stderr`.
 */
const HANDLER_LANGUAGES = ["python", "node", "shell", "file", "program", "bash"] as const;

/** The name of a skill's or a plugin's folder among others. */
const SKILL_FOLDER = /^(?:\.plugins\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,255}$/;

/** The most bytes of a text in a process's argument or variable: the system limit is near 128 KiB. */
export const HANDLER_TEXT_LIMIT = 100_000;

/** The `spec` part of `POST /v1/executions`. Durations in ms, sizes in bytes. */
export const executionSpec = z.lazy(() =>
  z.strictObject({
    version: z.literal(PROTOCOL_VERSION),
    /** Idempotent: the same id with the same spec attaches to the same execution. */
    id: id(),
    request_id: id(),
    /** Slug of the skill, for `HULL_SKILL` and the per-skill limit. */
    skill: z.string().check(z.minLength(1), z.maxLength(256)),
    /** Pack digest of the skill's files. */
    digest: digest(),
    argv: z.array(z.string()).check(z.minLength(1), z.maxLength(4096)),
    /** Values of requested `tool_env` names. Never written to journal or log. */
    env: z.record(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), z.string()),
    /**
     * Names that `env` may not contain, in addition to those that both sides know: keys of the deployment's own
     * providers.
     */
    withheld: z.optional(z.array(z.string())),
    timeout_ms: z.int().check(z.minimum(1), z.maximum(2147483647)),
    grace_ms: z.int().check(z.minimum(0), z.maximum(600000)),
    limits: z.strictObject({
      /** Limit of stdout, and of all output files together. */
      max_output_bytes: z.int().check(z.minimum(1)),
      /** The most simultaneous runs of this skill. */
      concurrency: z.optional(z.int().check(z.minimum(1))),
      /**
       * For `bash`: the most memory; of all processes together if the runner has cgroups for it, else of each process.
       */
      memory_bytes: z.optional(z.int().check(z.minimum(1))),
    }),
    /**
     * `stdin`: the part `stdin` is piped in. `file`: the `file` parts are written to the input folder; the first one is
     * HULL_INPUT_FILE. `none`: empty stdin. Files may accompany `stdin` too.
     */
    input: z.strictObject({
      mode: z.enum(["stdin", "file", "none"]),
      /** Media type and client file name of the first file. */
      mime: z.optional(z.string().check(z.maxLength(256))),
      filename: z.optional(z.string().check(z.maxLength(1024))),
    }),
    /** `file`: output files are sent as type 4 and 5 frames after the process ends. */
    output: z.enum(["text", "json", "file"]),
    /** Keep running when the connection is lost (idempotent and asynchronous calls). */
    detach: z.boolean(),
    /** The session's files at a version of its manifest: the folder is HULL_WORKSPACE. */
    workspace: z.optional(
      z.strictObject({
        id: workspaceId(),
        version: z.int().check(z.nonnegative()),
        /** The process begins in it, not in the skill's folder, which is HULL_SKILL_DIR. */
        cwd: z.boolean(),
      }),
    ),
    /**
     * The process is the handler of a tool: `argv` contains only its script in the skill's folder, which is
     * HULL_SKILL_DIR. Its arguments are a JSON object, the part `stdin`. It begins in the session's files, or in a new
     * folder.
     */
    handler: z.optional(
      z.strictObject({
        language: z.enum(HANDLER_LANGUAGES),
        /** JSON, for HULL_TOOL_CONFIG. Never written to journal or log. */
        config: z.string().check(z.maxLength(HANDLER_TEXT_LIMIT)),
        /** JSON: the rest of a JavaScript handler's second argument, and HULL_TOOL_CONTEXT. */
        context: z.string().check(z.maxLength(HANDLER_TEXT_LIMIT)),
        /** The declaration of its tool: `null` for none, hosts or any of them. */
        network: z.nullable(z.strictObject({ hosts: z.nullable(z.array(z.string())) })),
        /**
         * For `bash`: the folder where it begins, relative to the session's files, or absolute. If the folder is gone:
         * the session's files.
         */
        cwd: z.optional(z.string().check(z.maxLength(4096))),
        /** For `bash`: the name in `skills` of the skill whose folder HULL_SKILL_DIR is. */
        skill: z.optional(z.string()),
        /** That folder, relative to the folder of `skills`. Absent: it has the skill's name. */
        skill_path: z.optional(z.string()),
        /**
         * For `bash`: Python finds the packages of each skill's requirements.txt, and HULL_PYTHON_SESSION names a
         * program that runs Python with the names that earlier code left. The output reports what cannot be installed.
         */
        packages: z.optional(z.literal(true)),
        /** For `bash`: stderr comes by itself. */
        own_stderr: z.optional(z.literal(true)),
        /** For `bash`: the folder of the skills also appears at /skills, if the runner's system permits it. */
        skills_path: z.optional(z.literal(true)),
      }),
    ),
    /**
     * Skills whose folders are in the folder `skills/<key>` of the runner's state folder, each under its name. A name
     * that begins with `.plugins/` is a plugin's folder.
     */
    skills: z.optional(
      z.strictObject({
        key: z.string().check(z.regex(/^[0-9a-f]{16,64}$/)),
        list: z
          .array(z.strictObject({ name: z.string().check(z.regex(SKILL_FOLDER)), digest: digest() }))
          .check(z.maxLength(10_000)),
      }),
    ),
    /** The skill was uploaded: its program is one of its files or on `PATH`, never an absolute path. */
    untrusted: z.optional(z.literal(true)),
    /**
     * The process is an MCP server: its messages come by `POST /v1/executions/{id}/messages`, and its stdout is no part of
     * the frames. It ends when it has rested for `timeout_ms`.
     */
    server: z.optional(z.literal(true)),
  }),
);
export type ExecutionSpec = z.infer<typeof executionSpec>;

/** The header of an execution's request that names whose it is: tenants share a runner's slots. Earlier runners ignore it. */
export const TENANT_HEADER = "x-hull-tenant";

/** What the runner did with an execution, not the signal that it saw. */
const CAUSES = [
  "exit",
  "timed_out",
  "cancelled",
  "out_of_memory",
  "signal",
  "output_too_large",
  "command_not_found",
  "spawn_failed",
  "lost",
] as const;

/** Reason of `spawn_failed` if a handler's packages could not be installed; stderr is the installer's output. */
export const DEPENDENCIES_FAULT = "dependencies";

/** The most output files of an execution. */
export const MAX_OUTPUT_FILES = 1000;
/** Reason of `output_too_large` if an execution leaves more files. */
export const TOO_MANY_FILES = "files";

const startedStatus = () =>
  z.object({
    kind: z.literal("started"),
    /** Time spent in the queue. */
    queue_ms: z.number(),
  });
const endedStatus = () =>
  z.object({
    kind: z.literal("ended"),
    cause: z.enum(CAUSES),
    exit_code: z.nullable(z.int()),
    /** Name of the signal that ended the process, e.g. `SIGKILL`. */
    signal: z.nullable(z.string()),
    /**
     * For `spawn_failed`: the system's code, e.g. `EACCES`, or `DEPENDENCIES_FAULT`. For `output_too_large`:
     * `TOO_MANY_FILES`; absent: too many bytes.
     */
    reason: z.optional(z.string()),
    duration_ms: z.number(),
    stdout_bytes: z.int(),
    stderr_bytes: z.int(),
    stderr_truncated: z.boolean(),
    /** For `bash`: the folder in which it ended, relative to the session's files, or absolute; absent: unknown. */
    cwd: z.optional(z.string()),
  });
/** Payload of a type 3 frame; `ended` is the last frame of a body. */
export const statusFrame = z.lazy(() => z.discriminatedUnion("kind", [startedStatus(), endedStatus()]));
export type StatusFrame = z.infer<typeof statusFrame>;
export type EndedStatus = z.infer<ReturnType<typeof endedStatus>>;

/** Payload of a type 4 frame: the file whose bytes follow as type 5 frames. */
export const fileFrame = z.lazy(() => z.object({ filename: z.string(), size: z.int(), sha256: digest() }));
export type FileFrame = z.infer<typeof fileFrame>;

const workspacePath = () => z.string().check(z.refine((path) => pathFault(path) === null));
const fileSize = () => z.int().check(z.minimum(0), z.maximum(WORKSPACE_LIMITS.bytes));

/** Body of `PUT /v1/workspaces/{id}`: the required content of the folder. The answer says what the runner lacks. */
export const workspaceManifest = z.lazy(() =>
  z.strictObject({
    id: workspaceId(),
    version: z.int().check(z.nonnegative()),
    files: z
      .array(
        z.strictObject({
          path: workspacePath(),
          sha256: digest(),
          size: fileSize(),
          executable: z.boolean(),
          /** Unix ms. */
          modified_at: z.optional(z.number()),
        }),
      )
      .check(z.maxLength(WORKSPACE_LIMITS.files)),
  }),
);
export type WorkspaceManifest = z.infer<typeof workspaceManifest>;
/**
 * Digests whose contents must follow by `PUT /v1/workspaces/{id}/contents`, as frames: `file` (the digest is its name),
 * bytes.
 */
export const workspaceLacks = z.lazy(() => z.object({ missing: z.array(digest()) }));

/** Why something in the folder does not become a file of the session. */
const WORKSPACE_REFUSALS = ["symlink", "special", "hard_link", "bad_path", "too_large", "too_many"] as const;

/**
 * Payload of a type 7 frame: a change that an execution made to the session's files; the bytes of a write follow as
 * type 8.
 */
export const workspaceChange = z.lazy(() =>
  z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("write"),
      path: workspacePath(),
      size: fileSize(),
      sha256: digest(),
      executable: z.boolean(),
      /** Unix ms. */
      modified_at: z.optional(z.int()),
    }),
    z.object({ kind: z.literal("delete"), path: workspacePath() }),
    z.object({ kind: z.literal("refused"), path: z.string(), reason: z.enum(WORKSPACE_REFUSALS) }),
  ]),
);
export type WorkspaceChange = z.infer<typeof workspaceChange>;

/** JSON body of every refusal of the runner. */
export const refusal = z.lazy(() =>
  z.object({
    code: z.enum([
      "bad_request",
      "unauthenticated",
      "not_found",
      "execution_not_found",
      "execution_conflict",
      "execution_lost",
      "bundle_missing",
      "bundle_invalid",
      "workspace_missing",
      "workspace_invalid",
      "runner_busy",
      "runner_draining",
      "concurrency_limited",
      "client_closed_request",
      "internal",
    ]),
    detail: z.string(),
    retry_after_s: z.optional(z.number()),
    /** Digest of the missing bundle; absent: that of the spec. */
    digest: z.optional(digest()),
  }),
);
export type Refusal = z.infer<typeof refusal>;

export const FRAME = {
  stdout: 1,
  stderr: 2,
  status: 3,
  file: 4,
  fileBytes: 5,
  heartbeat: 6,
  change: 7,
  changeBytes: 8,
} as const;
export type FrameType = (typeof FRAME)[keyof typeof FRAME];
/** Longest payload of one frame; writers split longer ones. */
export const MAX_FRAME_BYTES = 64 * 1024;
/** The runner sends a heartbeat after this silence; after the multiple the Worker gives up on it. */
export const HEARTBEAT_MS = 5000;
/** The most bytes that an MCP server writes between two answers: its answer, notifications, and what is no message. */
export const MAX_UNANSWERED_BYTES = 16 * 1024 * 1024;

export interface Frame {
  type: FrameType;
  payload: Uint8Array;
}

/** One frame on the wire: `u8 type, u32 length (big endian), payload`. */
export function encodeFrame(type: FrameType, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(5 + payload.length);
  bytes[0] = type;
  new DataView(bytes.buffer).setUint32(1, payload.length);
  bytes.set(payload, 5);
  return bytes;
}

export function encodeJsonFrame(
  type: FrameType,
  value: StatusFrame | FileFrame | WorkspaceChange,
): Uint8Array {
  return encodeFrame(type, new TextEncoder().encode(JSON.stringify(value)));
}

const EMPTY = new Uint8Array(0);

/**
 * Splits a byte stream into frames, whatever the chunk boundaries. `push` returns the frames that a chunk completed;
 * `pending` says whether a frame is incomplete (a body that ends so was cut). An unknown type or an over-long frame is
 * a `RangeError`.
 */
export class FrameDecoder {
  #buffer: Uint8Array = EMPTY;

  push(chunk: Uint8Array): Frame[] {
    const data = this.#buffer.length === 0 ? chunk : concat([this.#buffer, chunk]);
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const frames: Frame[] = [];
    let at = 0;
    while (data.length - at >= 5) {
      const type = frameType(view.getUint8(at));
      const length = view.getUint32(at + 1);
      if (length > MAX_FRAME_BYTES) throw new RangeError(`frame of ${length} bytes`);
      if (data.length - at - 5 < length) break;
      frames.push({ type, payload: data.subarray(at + 5, at + 5 + length) });
      at += 5 + length;
    }
    this.#buffer = at === data.length ? EMPTY : data.slice(at);
    return frames;
  }

  get pending(): boolean {
    return this.#buffer.length > 0;
  }
}

function frameType(value: number): FrameType {
  for (const type of Object.values(FRAME)) if (type === value) return type;
  throw new RangeError(`frame type ${value}`);
}

/**
 * What a ticket permits: one execution with exactly this spec, one bundle, one workspace, or cancelling one request.
 */
export type TicketSubject =
  | `execution:${string}`
  | `bundle:${string}`
  | `workspace:${string}`
  | `request:${string}`;

const ticketPayload = z.lazy(() =>
  z.object({
    sub: z.string(),
    /** SHA-256 (hex) of the spec JSON for `POST /v1/executions`, else "". */
    spec: z.string(),
    /** Unix time in seconds. */
    exp: z.number(),
  }),
);

/** How long a ticket is valid after it is signed. */
const TICKET_TTL_S = 60;

/** A Web Crypto key, in a type that the declarations of Workers and of Node share. */
export type TicketKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Imports the runner secret (any string of 32 or more characters) as an HMAC key. */
export function importTicketKey(secret: string): Promise<TicketKey> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
}

/** Signs a short-lived ticket: `base64url(payload).base64url(HMAC-SHA256(payload))`. */
export async function signTicket(
  key: TicketKey,
  subject: TicketSubject,
  spec: string,
  nowMs: number,
): Promise<string> {
  const payload = JSON.stringify({
    sub: subject,
    spec: spec === "" ? "" : await sha256(spec),
    exp: Math.floor(nowMs / 1000) + TICKET_TTL_S,
  });
  const bytes = utf8(payload);
  const mac = await crypto.subtle.sign("HMAC", key, bytes);
  return `${toBase64Url(bytes)}.${toBase64Url(new Uint8Array(mac))}`;
}

/** A parsed ticket whose MAC is not checked yet. */
export interface ReadTicket {
  /** The bytes that the MAC covers. */
  signed: Uint8Array<ArrayBuffer>;
  mac: Uint8Array<ArrayBuffer>;
  /** For a genuine ticket: whether it is unexpired and for this subject and spec digest (hex, or ""). */
  permits(subject: TicketSubject, specDigest: string, nowMs: number): boolean;
}

/** Parses a ticket; null if it is malformed. */
export function readTicket(ticket: string): ReadTicket | null {
  const [payloadText, macText, ...more] = ticket.split(".");
  if (payloadText === undefined || macText === undefined || more.length > 0) return null;
  const signed = ticketPart(payloadText);
  const mac = ticketPart(macText);
  if (signed === null || mac === null) return null;
  const permits = (subject: TicketSubject, specDigest: string, nowMs: number): boolean => {
    const { success, data } = ticketPayload.safeParse(JSON.parse(new TextDecoder().decode(signed)));
    return success && data.sub === subject && data.spec === specDigest && data.exp * 1000 >= nowMs;
  };
  return { signed, mac, permits };
}

/** Accepts only what `toBase64Url` writes: bytes have one text, so that no part of a ticket can be altered unnoticed. */
function ticketPart(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = fromBase64Url(text);
    return toBase64Url(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}
