/**
 * The Worker's own variables and secrets: names, forms and defaults. `env.ts` reads them; `hull dev` and `hull deploy`
 * check with the same shapes what they pass on, before anything starts.
 */
import * as z from "zod/mini";
import { once } from "./memo.ts";

/** One of these words. Its fault quotes the value, which is not a secret. */
const choice = <const T extends string>(words: readonly T[], must: string) =>
  z.enum(words, { error: ({ input }) => `${must}, not ${JSON.stringify(input)}` });

const ADDRESS = "must be an address without a user name, path or query, such as http://127.0.0.1:8080";
const ADMIN_KEY =
  "must have 16 characters or more, all of them ASCII without blanks, so that any client can send it";
const LONG = "must have 32 characters or more";
const SWITCH = "must be 1, true, 0 or false";
/** A key that replaces the short one alone would lose the secrets that the others sealed. */
const LONG_KEYS =
  "must be keys of 32 characters or more, separated by blanks; put a longer one in place of a short one, and keep the others";

/** The keys in `HULL_SECRET_KEY`. */
export const keysIn = (text: string): string[] => text.split(/\s+/).filter(Boolean);

const shape = once(() => {
  const flag = z.pipe(
    z._default(choice(["0", "1", "false", "true"], SWITCH), "0"),
    z.transform((v) => v === "1" || v === "true"),
  );
  return z.object({
    /** `local`: `hull dev` started it on loopback. */
    HULL_ENV: z._default(choice(["local", "deployed"], "must be local or deployed"), "deployed"),
    /** The settings of hull.toml; in parts if long. */
    HULL_CONFIG: z._default(z.string(), "{}"),
    /** `[llm]` and `[capabilities]` of skill folders and then of hull.toml, a list; in parts if long. */
    HULL_LLM: z._default(z.string(), "[]"),
    HULL_ADMIN_KEY: z.optional(z.string().check(z.regex(/^[\x21-\x7e]{16,}$/, ADMIN_KEY))),
    /**
     * The key for publishing to a local Hull that other machines can reach, if it has no `HULL_ADMIN_KEY`; made at each
     * start.
     */
    HULL_DEV_KEY: z.optional(z.string().check(z.minLength(32, LONG))),
    /** Lets callers without a key run things. */
    HULL_PUBLIC: flag,
    /** Which requests get a log line. */
    HULL_LOG: z._default(choice(["requests", "failures"], "must be requests or failures"), "requests"),
    /** Whether log lines contain the spans of their run. */
    HULL_TRACE: flag,
    /** Whether spans contain the inputs and outputs of models and tools. */
    HULL_TRACE_CONTENT: flag,
    /**
     * Id of the catalog that is part of this deployment. It is served until another one is published to the deployment.
     */
    HULL_CATALOG: z.optional(
      z.string().check(z.regex(/^[0-9a-f]{64}$/, "must be the id of a catalog, 64 hexadecimal digits")),
    ),
    /** Loopback runner; absent: the container binding. */
    HULL_RUNNER_URL: z.optional(z.url(ADDRESS).check(z.regex(/^https?:\/\/[^/?#@\\]+\/?$/i, ADDRESS))),
    /** The runner's state folder, as processes see it. */
    HULL_RUNNER_ROOT: z.optional(
      z.string().check(z.regex(/^\/.*[^/]$/, "must be an absolute path without a slash at its end")),
    ),
    /** Whether processes reach the network. */
    HULL_RUNNER_EGRESS: z.optional(choice(["on", "off"], "must be on or off")),
    HULL_RUNNER_SECRET: z.optional(z.string().check(z.minLength(32, LONG))),
    /**
     * Keys that seal secrets of tool configuration, separated by blanks. The first one seals, and each of them can open.
     */
    HULL_SECRET_KEY: z._default(
      z.string().check(z.refine((text) => keysIn(text).every(({ length }) => length >= 32), LONG_KEYS)),
      "",
    ),
    /** Variables that uploaded skills may read, as JSON: `{"<slug>" or "<tenant>/<slug>": ["NAME", …]}`. */
    HULL_GRANTS: z._default(z.string(), "{}"),
  });
});

/** The variables that code reads by name when it needs them. */
const READ_LATER: readonly [name: RegExp, fits: RegExp, must: string][] = [
  [/^HULL_LLM_STREAM$/, /^(?:[01]|true|false)$/, SWITCH],
  [/^HULL_LLM_TIMEOUT$/, /^(?=.*[1-9])\d{1,9}(?:\.\d+)?$/, "must be a number of seconds above 0"],
  [/^HULL_RATE_LIMIT_.+$/, /^\d{1,9}$/, "must be a whole number of calls a minute, or 0 for no limit"],
];

/** Variables that Harn has too, there with `HARN_` for `HULL_`. Another `HARN_X` of somebody's shell has no effect. */
export const NAMES_OF_HARN =
  /^HULL_(DEFAULT_PROVIDER|LLM_MODEL|LLM_PROVIDER|LLM_STREAM|LLM_TIMEOUT|PROVIDERS_CONFIG|RATE_LIMIT_.+)$/;

/** Those that are read where they are needed. */
const FREE = [
  "HULL_LLM_MODEL",
  "HULL_LLM_PROVIDER",
  "HULL_DEFAULT_PROVIDER",
  "HULL_PROVIDERS_CONFIG",
  "HULL_LLM_MOCKS",
  "HULL_LLM_MOCKS_RUN",
  "HULL_LLM_STREAM",
  "HULL_LLM_TIMEOUT",
  "HULL_LLM_PROXY",
  "HULL_HOST_SECRET",
  "HULL_RUNNER_FLAGS",
];

/** The names of all, without the rates of providers. */
export const variableNames = once((): readonly string[] => [...Object.keys(shape().shape), ...FREE]);

interface VariableFault {
  variable: string;
  /** The rest of a sentence that begins with the variable. */
  fault: string;
}

/** The Worker's variables among all that are set, or the first one with a wrong value. An empty value counts as unset. */
export function readVariables(given: object): { values: z.infer<ReturnType<typeof shape>> } | VariableFault {
  const all = new Map<string, unknown>(Object.entries(given).filter(([, value]) => value !== ""));
  const parsed = shape().safeParse(Object.fromEntries(all));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { variable: String(issue?.path[0]), fault: issue?.message ?? "" };
  }
  for (const [variable, value] of all) {
    const name = variable.replace(/^HARN_/, "HULL_");
    const counts = name === variable || (NAMES_OF_HARN.test(name) && !all.has(name));
    if (!counts || typeof value !== "string") continue;
    const [, , must] = READ_LATER.find(([named, fits]) => named.test(name) && !fits.test(value.trim())) ?? [];
    if (must !== undefined) return { variable, fault: `${must}, not ${JSON.stringify(value)}` };
  }
  return { values: parsed.data };
}
