/**
 * The settings of hull.toml that the Worker reads: type, range and default of each. The build checks hull.toml with
 * these shapes, and the Worker checks what it receives from the build in `HULL_CONFIG`.
 */
import * as z from "zod/mini";
import { PROVIDER_KEY_VARIABLES, WEBHOOK_SECRETS } from "../secrets.ts";
import { DEFAULT_MCP_TIMEOUT_MS, MAX_MCP_TIMEOUT_MS, serverNameFault, serverUrl } from "./mcp-server-name.ts";
import { parseTemplate, templateVariables } from "./placeholder.ts";
import { approvalsShape, policyShape } from "./policy.ts";
import { NO_SIGNATURES, signaturesShape } from "./trust.ts";
import { workspaceToolsShape } from "./workspace-settings.ts";

const text = () => z.string().check(z.minLength(1));
const texts = () => z.array(text());
const whole = (min: number, max: number) => z.int().check(z.minimum(min), z.maximum(max));
const count = () => whole(1, 2_147_483_647);
const limitMs = () => whole(1, 600_000);
const textThat = (holds: (text: string) => boolean, fault: string) =>
  z.string().check(z.refine(holds, fault));
const textLike = (pattern: RegExp, fault: string) => z.string().check(z.regex(pattern, fault));

/** The form of a browser's `Origin`. */
export const originsShape = z.lazy(() =>
  z.array(
    textThat(
      (origin) => URL.canParse(origin) && new URL(origin).origin === origin,
      'must be origins like "https://app.example": scheme, host, a port that is not the usual one, nothing else',
    ),
  ),
);

/** Names as a `Host` header has them, without the port; IPv6 addresses in brackets. */
const hosts = () =>
  z.array(
    textLike(
      /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/,
      'must be host names like "skills.example.com", without scheme and port',
    ).check(z.toLowerCase()),
  );

const hostDelegate = () =>
  z
    .strictObject({
      url: z.optional(z.url({ protocol: /^https?$/ })),
      /** Name of a service binding to call instead of the address. */
      binding: z.optional(text()),
      /** Name of the secret that signs requests. */
      secret_env: z.optional(textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")),
      timeout_ms: z.optional(count()),
      /** Names of the delegate's tools that only read; `*` matches any characters. */
      read_only_tools: z.optional(texts()),
    })
    .check(
      z.refine(
        ({ url, binding }) => (url === undefined) !== (binding === undefined),
        "needs either url or binding",
      ),
    );

const template = () =>
  textThat(
    (value) => parseTemplate(value).problem === undefined,
    "has a ${…} that is not a placeholder such as ${TOKEN}; $${ is a literal ${",
  );

/** How Hull logs in at a server (docs/mcp.md). */
const mcpOauth = () =>
  z
    .strictObject({
      /** Whose access it is: that of the person who logs in, or that of the client itself. */
      grant: z._default(z.enum(["authorization_code", "client_credentials"]), "authorization_code"),
      /** Absent: Hull registers a client by itself. */
      client_id: z.exactOptional(template()),
      client_secret: z.exactOptional(
        template().check(
          z.refine(
            (value) => templateVariables([value]).length > 0,
            "must name a variable, such as ${CLIENT_SECRET}",
          ),
        ),
      ),
      /** The only authorization server that gets the client; absent: the one that the server names. */
      issuer: z.exactOptional(z.url({ protocol: /^https?$/ })),
      scope: z.exactOptional(text()),
    })
    .check(
      z.refine(
        ({ grant, client_id, client_secret }) =>
          grant !== "client_credentials" || (client_id !== undefined && client_secret !== undefined),
        "needs client_id and client_secret for the grant client_credentials",
      ),
      z.refine(
        ({ client_id, client_secret, issuer }) =>
          client_secret === undefined || (client_id !== undefined && issuer !== undefined),
        "needs client_id and issuer next to client_secret: no other authorization server may get it",
      ),
    );

const mcpServer = () =>
  z
    .strictObject({
      url: textThat(
        (address) => serverUrl(address) !== null,
        "must be an http or https URL without user name, fragment and placeholders",
      ),
      /** Values may contain `${VAR}`. */
      headers: z._default(
        z.record(textLike(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "must be the name of a header"), template()),
        {},
      ),
      oauth: z.exactOptional(mcpOauth()),
      tools: z.exactOptional(texts()),
      timeout_ms: z._default(whole(1, MAX_MCP_TIMEOUT_MS), DEFAULT_MCP_TIMEOUT_MS),
      /** Tenants whose runs may name it; absent: all. */
      tenants: z.exactOptional(texts()),
    })
    .check(
      z.refine(
        (server) =>
          templateVariables(settingTemplates(server)).every((name) => !PROVIDER_KEY_VARIABLES.includes(name)),
        "holds a model provider's key, and Hull sends none to an MCP server",
      ),
      z.refine(
        ({ headers, oauth }) =>
          oauth === undefined || !Object.keys(headers).some((name) => /^authorization$/i.test(name)),
        "has both oauth and a header authorization; keep one of them",
      ),
    );

/** The texts of an MCP server that may contain `${VAR}`. */
export const settingTemplates = ({ headers, oauth }: NamingServer): string[] => [
  ...Object.values(headers),
  ...[oauth?.client_id, oauth?.client_secret].filter((value) => value !== undefined),
];

interface NamingServer {
  headers: Record<string, string>;
  oauth?: { client_id?: string; client_secret?: string };
}

const mcp = () =>
  z.strictObject({
    allowed_hosts: z._default(
      z.array(
        textLike(
          /^(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/,
          'must be names like "mcp.example.com" or "*.example.com"',
        ),
      ),
      [],
    ),
    /** Whether local dev may ask servers on its own machine. */
    allow_loopback: z._default(z.boolean(), false),
    /** Servers that runs and skills may name. */
    servers: z._default(
      z.record(
        textThat(
          (name) => serverNameFault(name) === null,
          "is not a name: 1 to 32 of a-z, 0-9, - and _, beginning with a letter",
        ),
        mcpServer(),
      ),
      {},
    ),
  });

const limits = () =>
  z.strictObject({
    /** Limit of an upload to `/v1/skills`: its body, and its files together. */
    max_upload_bytes: z._default(count(), 31_457_280),
    /** Limit of a file of `/v1/files`. */
    max_file_bytes: z._default(count(), 95_000_000),
    /** Limit of all files of a tenant in `/v1/files`. */
    max_stored_bytes: z._default(z.int().check(z.minimum(1)), 10_737_418_240),
    code_timeout_ms: z._default(limitMs(), 120_000),
    /** After this time, an answer of `/v1/messages` pauses if Hull is running tools for it. */
    answer_ms: z._default(limitMs(), 420_000),
  });

/** The settings by their keys in hull.toml. Sizes are in bytes. */
export const servingSettings = () => ({
  cors_origins: z._default(originsShape, []),
  /** Slugs of published skills whose files everybody may download. */
  public_skills: z._default(texts(), []),
  /** Providers that receive their clients' requests unchanged. */
  pass_through: z._default(texts(), []),
  allowed_hosts: z._default(hosts(), []),
  allowed_origins: z._default(originsShape, []),
  auth: z._default(z.enum(["keys", "none"]), "keys"),
  max_body_bytes: z._default(count(), 52_428_800),
  max_output_bytes: z._default(count(), 104_857_600),
  limits: z.prefault(limits(), {}),
  /** Time limit of a hook. */
  hook_timeout_ms: z._default(limitMs(), 10_000),
  /** The MCP servers from which skills may use tools (docs/mcp.md). */
  mcp: z.prefault(mcp(), {}),
  /** Policy ceiling of all agent runs (docs/runs.md); absent: none. */
  policy: z.optional(policyShape),
  /** Which calls of skills' tools wait for a decision (docs/security.md). */
  approvals: z._default(approvalsShape, {}),
  /** The signers whose signatures of skills are accepted (docs/manifest.md). */
  signatures: z._default(signaturesShape, NO_SIGNATURES),
  /** Tokens of the list of skills in a run's system text. Absent: the engine's default. */
  skill_catalogue_tokens: z.optional(count()),
  /** The tools with which models read files and run commands (docs/real-skills.md). */
  workspace_tools: z.prefault(workspaceToolsShape, {}),
});

/** The settings that have other keys in `HULL_CONFIG`: there without their tables. */
export const movedSettings = () => ({
  /** `host_delegate` of hull.toml: answers questions that Hull leaves to its host (docs/runs.md). */
  host: z.optional(hostDelegate()),
  /** `daemons.webhook_secrets`: variables that may sign webhooks of daemons; `*` matches any characters. */
  webhook_secrets: z._default(texts(), [...WEBHOOK_SECRETS]),
  /** `runner.grace_ms`: the time between SIGTERM and SIGKILL. */
  grace_ms: z._default(whole(0, 600_000), 2000),
});
