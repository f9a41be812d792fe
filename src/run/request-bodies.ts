/** The bodies of requests that call models, run agents and start daemons. Other readers check `options`. */
import * as z from "zod/mini";
import { jsonObject } from "../skill/json-shape.ts";

const maybe = z.exactOptional;
const text = () => z.string().check(z.minLength(1));
const common = () => ({ system: maybe(z.nullable(z.string())), options: maybe(jsonObject()) });

/** The body of a call or a run. */
export const callBody = z.lazy(() => z.strictObject({ prompt: maybe(z.nullable(z.string())), ...common() }));
export const structuredBody = z.lazy(() =>
  z.strictObject({ prompt: z.string(), schema: jsonObject(), ...common() }),
);
export const completionBody = z.lazy(() =>
  z.strictObject({ prefix: z.string(), suffix: maybe(z.nullable(z.string())), ...common() }),
);

/**
 * Hull recognises a repeated signed call for a day. So the call's time may differ from now by at most half a day in
 * either direction.
 */
const MAX_TOLERANCE_S = 43_200;
const HEADER = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
/** Permitted names of a webhook's secret. */
const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** A key in this header would count as a wrong signature. */
const HOLDS_KEYS = /^authorization$/i;

const webhook = () =>
  z.strictObject({
    secret_env: z.string().check(z.regex(SECRET_NAME, "the name of a variable")),
    header: z.string().check(
      z.regex(HEADER, "the name of a header"),
      z.refine((name) => !HOLDS_KEYS.test(name), "holds Hull's own keys; name another header"),
    ),
    algorithm: maybe(z.literal("hmac-sha256")),
    timestamp_header: maybe(z.string().check(z.regex(HEADER, "the name of a header"))),
    tolerance_s: maybe(z.int().check(z.positive(), z.lte(MAX_TOLERANCE_S))),
  });

/** A folder in the session's files: `a/b`, without `.` and `..`. */
const daemonPath = () =>
  z
    .string()
    .check(
      z.maxLength(512),
      z.regex(
        /^(?!\/)(?!(?:.*\/)?\.{1,2}(?:\/|$))[^\0\\]*[^\0\\/]$/,
        "a folder, relative and without . or ..",
      ),
    );

const capacity = () => z.int().check(z.gte(1), z.lte(100_000));

/** The fields of a daemon. */
export const daemonFields = () =>
  z.object({
    task: maybe(text()),
    prompt: maybe(text()),
    system: maybe(z.nullable(z.string())),
    name: maybe(text().check(z.maxLength(128))),
    persist_path: maybe(daemonPath()),
    state_dir: maybe(daemonPath()),
    event_queue_capacity: maybe(capacity()),
    queue_capacity: maybe(capacity()),
    webhook: maybe(webhook()),
  });

/** The body of a daemon: its own fields and every option of a run. */
export const daemonBody = z.lazy(() => z.catchall(daemonFields(), z.json()));
export type WebhookGiven = z.infer<ReturnType<typeof webhook>>;
