/** `hull.toml`: the one configuration file of a project. */
import { join, relative } from "node:path";
import * as z from "zod";
import { capabilityTables, modelTables } from "../src/model/registry/layer.ts";
import { movedSettings, originsShape, servingSettings } from "../src/skill/serving-settings.ts";
import { usageError } from "./command.ts";
import { readIfThere } from "./read-if-there.ts";
import { readToml, tomlError } from "./toml-file.ts";

export const CONFIG_FILE = "hull.toml";

const texts = z.array(z.string().min(1));

const moved = movedSettings();

/** `"120/60s"`: this many requests in this many seconds, per key; or `"none"`, no limit: `null`. */
const rateLimit = z
  .string()
  .regex(
    /^(?:none|[1-9]\d{0,8}\/[1-9]\d{0,5}s)$/,
    'must look like "120/60s": 1 to 999999999 requests, a slash, 1 to 999999 seconds; or be "none"',
  )
  .transform((text) => {
    if (text === "none") return null;
    const [requests = "", window = ""] = text.split("/");
    return { requests: Number(requests), window_s: Number(window.slice(0, -1)) };
  });

/** The limits of its numbers are those of the runner's flags, which refuse any other (`container/options.ts`). */
const runner = z.strictObject({
  /** An existing runner; `null`: `hull dev` starts one. */
  url: z
    .url({ protocol: /^https?$/ })
    .regex(
      /^[^/]*\/\/[^/?#@\\]+\/?$/,
      "must be an address without a user name, path or query, such as http://127.0.0.1:8080",
    )
    .transform((text) => new URL(text).origin)
    .nullable()
    .default(null),
  /** Simultaneous runs; `null`: twice the cores, at least 4. */
  concurrency: z.int().min(1).max(4096).nullable().default(null),
  queue: z.int().min(0).max(65_536).default(256),
  queue_timeout_ms: z.int().min(1).max(600_000).default(10_000),
  grace_ms: moved.grace_ms,
  drain_ms: z.int().min(0).max(900_000).default(30_000),
  /** The network of handlers: what their tool declares, or that of every process. */
  network: z.enum(["declared", "open"]).default("declared"),
  /** Whether packages of Python handlers are fetched; `null`: if processes reach the network. */
  installs: z.boolean().nullable().default(null),
  install_ms: z.int().min(1).max(3_600_000).default(180_000),
});

/** The commands or agents of Claude Code that are skills too: all, none, or those that one of these globs names. */
const singles = z.union([z.boolean(), texts], "must be true, false, or a list of names").default(false);

export const hullToml = z.strictObject({
  ...servingSettings(),
  /** Roots, relative to the file; `null`: `skills`, else the folder itself. */
  skills: z
    .union(
      [
        z
          .string()
          .min(1)
          .transform((path) => [path]),
        texts.min(1),
      ],
      "must be a folder, or a list of folders",
    )
    .nullable()
    .default(null),
  commands: singles,
  agents: singles,
  name: z.string().min(1).nullable().default(null),
  /** The host name of a deployment. */
  domain: z
    .string()
    .regex(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a host name like "skills.example.com"')
    .nullable()
    .default(null),
  port: z.int().min(0).max(65535).default(3000),
  host: z.string().min(1).default("127.0.0.1"),
  /** Absent: "120/60s" when deployed, "none" locally. */
  rate_limit: rateLimit.optional(),
  runner: runner.prefault({}),
  host_delegate: moved.host,
  daemons: z.strictObject({ webhook_secrets: moved.webhook_secrets }).prefault({}),
  /** Providers, aliases, prices and so on, in addition to the shipped ones (docs/models.md). */
  llm: z.optional(modelTables),
  /** Capabilities of models, which precede the shipped rules. */
  capabilities: z.optional(capabilityTables),
});

export type HullConfig = z.infer<typeof hullToml>;

/** The origins of a repeatable flag, each value possibly several separated by commas. @throws CommandError */
export function parseOrigins(flag: string, values: readonly string[]): string[] {
  const parsed = originsShape.safeParse(values.flatMap((value) => value.split(",")));
  if (parsed.success) return parsed.data;
  throw usageError("bad_origin", `${flag}: ${parsed.error.issues[0]?.message}.`);
}

/**
 * Reads `hull.toml` of a folder; defaults if there is none. Throws `CommandError` (exit 2) with the line of a syntax
 * error, or with the key and the nearest known one, and exit 1 for a file that cannot be read.
 */
export async function loadConfig(dir: string): Promise<HullConfig> {
  const path = join(dir, CONFIG_FILE);
  const file = readToml((await readIfThere(path)) ?? "", hullToml);
  if (file.ok) return file.data;
  throw tomlError(relative(process.cwd(), path), file);
}
