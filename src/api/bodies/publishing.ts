/** The bodies of requests that publish skills, configure them and make keys. */
import * as z from "zod/mini";
import { SCOPES } from "../../auth/api-key.ts";
import { anyJson } from "../../skill/json-shape.ts";
import { sha256 } from "../../skill/manifest.ts";

/** Exactly one of `id` and `rollback`; the handler checks that. */
export const catalogBody = z.lazy(() =>
  z.strictObject({
    id: z.optional(sha256()),
    rollback: z.optional(z.literal(true)),
    /** The catalog that must still be served; `null`: none may be. */
    base: z.optional(z.nullable(sha256())),
  }),
);

/** In place of an archive: a stored skill, or an earlier version of the same upload. */
export const namedSkillBody = z.lazy(() =>
  z.union(
    [
      z.strictObject({ skill_id: z.string(), version: z.optional(z.union([z.string(), z.int()])) }),
      z.strictObject({ digest: z.string() }),
    ],
    "must be either {skill_id, version?} or {digest}",
  ),
);

/** `POST /v1/skills/{id}` of OpenAI's. */
export const defaultVersionBody = z.lazy(() => {
  const words = "a version is required, as a string or a whole number";
  return z.object({ default_version: z.union([z.string(), z.int()], words) });
});

export const configBody = z.lazy(() => z.strictObject({ tools: anyJson("is required") }));

export const keyBody = z.lazy(() => {
  const tenant = z.regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "1 to 64 of A-Za-z0-9._-, the first a letter or digit",
  );
  return z.strictObject({
    tenant: z.string().check(tenant),
    scopes: z.array(z.enum(SCOPES)).check(z.minLength(1)),
    name: z.optional(z.string().check(z.minLength(1), z.maxLength(100))),
  });
});

/** The request that begins a login at an MCP server. */
export const loginBody = z.lazy(() => {
  const form = z.regex(
    /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}\/[A-Za-z0-9/_-]*$/,
    "must be an address on the person's own machine, such as http://127.0.0.1:8976/callback",
  );
  return z.strictObject({ redirect_uri: z.string().check(form) });
});

/** The request that ends it: what the first one returned, and the query with which the browser came back. */
export const loginAnswerBody = z.lazy(() =>
  z.strictObject({ login: z.string(), answer: z.string().check(z.maxLength(8192)) }),
);
