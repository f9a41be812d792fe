/** `hull.toml`: the one configuration file of a project. */
import { join } from "node:path";
import * as z from "zod";
import { capabilityTables, modelTables } from "../src/model/registry/layer.ts";
import { PROVIDER_KEY_VARIABLES } from "../src/secrets.ts";
import { DEFAULT_MCP_TIMEOUT_MS, serverNameFault, serverUrl } from "../src/skill/mcp-servers.ts";
import { parseTemplate, templateVariables } from "../src/skill/placeholder.ts";
import { approvalsShape, policyShape } from "../src/skill/policy.ts";
import { signaturesShape } from "../src/skill/trust.ts";
import { workspaceToolsShape } from "../src/skill/workspace-settings.ts";
import { usageError } from "./command.ts";
import { readIfThere } from "./read-if-there.ts";
import { readToml, tomlError } from "./toml-file.ts";

export const CONFIG_FILE = "hull.toml";

const texts = z.array(z.string().min(1));
const count = z.int().min(1).max(2147483647);

/** `"120/60s"`: this many requests in this many seconds, per key; or `"none"`. */
const rateLimit = z
  .string()
  .regex(
    /^(?:none|[1-9]\d{0,8}\/[1-9]\d{0,5}s)$/,
    'must look like "120/60s": requests, a slash, seconds; or be "none"',
  )
  .transform((text) => {
    if (text === "none") return text;
    const [requests = "", window = ""] = text.split("/");
    return { requests: Number(requests), window_s: Number(window.slice(0, -1)) };
  });

/** The form of a browser's `Origin`. */
const origins = z.array(
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text,
      'must be origins like "https://app.example": scheme, host, a port that is not the usual one, nothing else',
    ),
);

/** Names as a `Host` header has them, without the port; IPv6 addresses in brackets. */
const hosts = z.array(
  z
    .string()
    .regex(
      /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/i,
      'must be host names like "skills.example.com", without scheme and port',
    )
    .toLowerCase(),
);

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
  concurrency: count.nullable().default(null),
  queue: z.int().min(0).max(1_000_000).default(256),
  queue_timeout_ms: count.default(10_000),
  grace_ms: z.int().min(0).max(600_000).default(2000),
  drain_ms: z.int().min(0).max(900_000).default(30_000),
  /** The network of handlers: what their tool declares, or that of every process. */
  network: z.enum(["declared", "open"]).default("declared"),
  /** Whether packages of Python handlers are fetched; `null`: if processes reach the network. */
  installs: z.boolean().nullable().default(null),
  install_ms: z.int().min(1).max(3_600_000).default(180_000),
});

const hostDelegate = z
  .strictObject({
    url: z.url({ protocol: /^https?$/ }).optional(),
    binding: z.string().min(1).optional(),
    secret_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")
      .optional(),
    timeout_ms: count.optional(),
    /** Names of its tools that only read; `*` matches any characters. */
    read_only_tools: texts.optional(),
  })
  .refine(
    ({ url, binding }) => (url === undefined) !== (binding === undefined),
    "needs either url or binding",
  );

const mcpServer = z
  .strictObject({
    url: z.string().refine((text) => serverUrl(text) !== null, {
      error: "must be an http or https URL without user name, fragment and placeholders",
    }),
    headers: z
      .record(
        z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of a header"),
        z.string().refine((text) => parseTemplate(text).problem === undefined, {
          error: "has a ${…} that is not a placeholder such as ${TOKEN}; $${ is a literal ${",
        }),
      )
      .default({}),
    tools: texts.optional(),
    timeout_ms: z.int().min(1).max(600_000).default(DEFAULT_MCP_TIMEOUT_MS),
    /** Tenants whose runs may name it; absent: all. */
    tenants: texts.optional(),
  })
  .refine(
    ({ headers }) =>
      templateVariables(Object.values(headers)).every((name) => !PROVIDER_KEY_VARIABLES.includes(name)),
    "holds a model provider's key in a header, and Hull sends none to an MCP server",
  );

const mcp = z.strictObject({
  allowed_hosts: z
    .array(
      z
        .string()
        .regex(
          /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i,
          'must be names like "mcp.example.com" or "*.example.com"',
        ),
    )
    .default([]),
  /** Only `hull dev` uses it. */
  allow_loopback: z.boolean().default(false),
  /** Servers that runs and skills may name (docs/mcp.md). */
  servers: z
    .record(
      z.string().refine((name) => serverNameFault(name) === null, {
        error: "is not a name: 1 to 32 of a-z, 0-9, - and _, beginning with a letter",
      }),
      mcpServer,
    )
    .default({}),
});

const daemons = z.strictObject({
  /** Variables that may verify signed events (docs/daemons.md); `*` matches any characters. */
  webhook_secrets: texts.optional(),
});

const limits = z.strictObject({
  max_upload_bytes: count.optional(),
  max_file_bytes: count.optional(),
  max_stored_bytes: z.int().min(1).optional(),
  code_timeout_ms: z.int().min(1).max(600_000).optional(),
  answer_ms: z.int().min(1).max(600_000).optional(),
});

const config = z.strictObject({
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
  name: z.string().min(1).nullable().default(null),
  /** The host name of a deployment. */
  domain: z
    .string()
    .regex(/^(?:[a-z0-9-]+\.)+[a-z]{2,}$/, 'must be a host name like "skills.example.com"')
    .nullable()
    .default(null),
  port: z.int().min(0).max(65535).default(3000),
  host: z.string().min(1).default("127.0.0.1"),
  cors_origins: origins.default([]),
  /** Providers that receive their clients' requests unchanged. */
  pass_through: z.array(z.string().min(1)).default([]),
  /** Slugs of published skills whose files everybody may download. */
  public_skills: z.array(z.string().min(1)).default([]),
  allowed_hosts: hosts.default([]),
  allowed_origins: origins.default([]),
  /** `null`: keys when deployed, none on loopback. */
  auth: z.enum(["keys", "none"]).nullable().default(null),
  max_body_bytes: count.default(52_428_800),
  max_output_bytes: count.default(104_857_600),
  /** Limits of uploads to `/v1` (docs/skills-api.md). */
  limits: z.optional(limits),
  /** Time limit of a hook. */
  hook_timeout_ms: z.int().min(1).max(600_000).default(10_000),
  /** `null`: "120/60s" when deployed, "none" locally. */
  rate_limit: rateLimit.nullable().default(null),
  runner: runner.prefault({}),
  /** The MCP servers from which skills may use tools (docs/mcp.md). */
  mcp: z.optional(mcp),
  /** Answers questions that Hull leaves to its host (docs/runs.md). */
  host_delegate: z.optional(hostDelegate),
  daemons: z.optional(daemons),
  /** Policy ceiling of all agent runs (docs/runs.md). */
  policy: z.optional(policyShape),
  /** Which calls of skills' tools wait for a decision (docs/security.md). */
  approvals: z.optional(approvalsShape),
  /** The accepted signers of skills (docs/manifest.md). */
  signatures: z.optional(signaturesShape),
  /** Tokens of the list of skills in a run's system text (docs/runs.md). */
  skill_catalogue_tokens: count.optional(),
  /** The tools with which models read files and run commands (docs/real-skills.md). */
  workspace_tools: z.optional(workspaceToolsShape),
  /** Providers, aliases, prices and so on, in addition to the shipped ones (docs/models.md). */
  llm: z.optional(modelTables),
  /** Capabilities of models, which precede the shipped rules. */
  capabilities: z.optional(capabilityTables),
});

export type HullConfig = z.infer<typeof config>;

/** The origins of a repeatable flag, each value possibly several separated by commas. @throws CommandError */
export function parseOrigins(flag: string, values: readonly string[]): string[] {
  const parsed = origins.safeParse(values.flatMap((value) => value.split(",")));
  if (parsed.success) return parsed.data;
  throw usageError("bad_origin", `${flag}: ${parsed.error.issues[0]?.message}.`);
}

/**
 * Reads `hull.toml` of a folder; defaults if there is none. Throws `CommandError` (exit 2) with the line of a syntax
 * error, or with the key and the nearest known one, and exit 1 for a file that cannot be read.
 */
export async function loadConfig(dir: string): Promise<HullConfig> {
  const path = join(dir, CONFIG_FILE);
  const text = (await readIfThere(path))?.toString("utf8") ?? "";
  const file = readToml(text, config);
  if (file.ok) return file.data;
  throw tomlError(path, file.fault);
}
