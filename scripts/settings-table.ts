/** The meaning of the keys of hull.toml. Its table in docs/cli.md and its JSON Schema for editors follow from it. */
import { plainText } from "../src/api/field-tables.ts";
import { schemaOf, wordsOf } from "../src/api/shape-schema.ts";
import { objectOf } from "../src/skill/json.ts";
import type { JsonObject } from "../src/skill/manifest.ts";
import { hullToml } from "./config.ts";

interface SettingText {
  text: string;
  /** The behaviour without it, if there is no fixed default. */
  otherwise?: string;
}

/** By key, a key of a table as `<table>.<key>`, in the order of the page. */
const TEXTS: { readonly [path: string]: SettingText } = {
  skills: {
    text: "folder or list of folders, relative to the file; `~/` is the home folder",
    otherwise: "`skills/`, else the folder",
  },
  commands: {
    text: "[commands of Claude Code](manifest.md#commands-of-claude-code) that Hull serves as skills: all, none, or those that a glob of the list names, as `review` or `plugin/review`",
  },
  agents: {
    text: "[agents of Claude Code](manifest.md#agents-of-claude-code), in the same way",
  },
  name: {
    text: "title of the index page, and the name of the Worker, its database and bucket",
    otherwise: "the folder's name",
  },
  domain: {
    text: "the host name of a deployment, a [custom domain](deploy.md#your-own-domain) of the account",
  },
  port: { text: "the port of `hull dev`" },
  host: { text: "the address of `hull dev`" },
  mcp: {
    text: "`allowed_hosts`: the servers that [skills may bring tools from](mcp.md#tools-of-other-servers); `allow_loopback`: those of this machine too, in `hull dev` alone; `[mcp.servers.<name>]`: [servers that runs and skills name](mcp.md#servers-of-the-deployment); `[mcp.servers.<name>.oauth]`: [how Hull logs in there](mcp.md#servers-that-want-a-login)",
  },
  allowed_hosts: {
    text: "further `Host` names that local dev answers to; for a deployment, the only ones; without scheme and port",
  },
  allowed_origins: { text: "further `Origin`s that may call without a key" },
  max_body_bytes: { text: "most bytes of a request body; a manifest can lower it" },
  max_output_bytes: { text: "most bytes of the output of a run; a manifest can lower it" },
  "limits.max_upload_bytes": {
    text: "most bytes of an upload to [`/v1/skills`](skills-api.md#uploads): of its body, and of all its files together",
  },
  "limits.max_file_bytes": { text: "most bytes of one file of [`/v1/files`](skills-api.md#files)" },
  "limits.max_stored_bytes": {
    text: "most bytes of all files of a tenant in [`/v1/files`](skills-api.md#files)",
  },
  "limits.answer_ms": {
    text: "how long an answer of `/v1/messages` with [tools that Hull runs](messages-api.md#code-execution) may take before it [pauses](messages-api.md#code-execution)",
  },
  "limits.code_timeout_ms": {
    text: "time limit of a call of [code execution](messages-api.md#code-execution)",
  },
  hook_timeout_ms: { text: "time limit of a [hook](runs.md#hooks)" },
  auth: { text: "`none` lets a deployment serve without keys" },
  pass_through: {
    text: "providers of Anthropic's protocol to which Hull forwards [requests of `/v1/messages`](messages-api.md#what-reaches-the-provider) unchanged, including what budgets cannot count",
  },
  public_skills: {
    text: "slugs of published skills; everybody may [download their files](http.md#discovery) without a key",
  },
  cors_origins: { text: "sites that may read answers in their pages, see [CORS](http.md#cors)" },
  rate_limit: {
    text: "requests per period, for each key",
    otherwise: '`"120/60s"` deployed, `"none"` locally',
  },
  host_delegate: {
    text: "your own service that [executes tools and makes decisions](runs.md#the-host-delegate)",
  },
  policy: {
    text: "the ceiling of what the tools of a run may do, above the run's own `policy`, e.g. `tools`, `blocked_tools` (blocked wins), `side_effect_level`",
  },
  "daemons.webhook_secrets": {
    text: "the variables that may hold secrets of [signed events](daemons.md#signed-events)",
  },
  "approvals.require_risk": {
    text: "the risk (`safe`, `moderate`, `dangerous`, `critical`) from which calls of tools of published skills [need an approval](security.md#risk-and-approvals)",
    otherwise: '`"none"`',
  },
  "approvals.uploaded_require_risk": {
    text: "the same for tools of uploaded skills",
    otherwise: '`"dangerous"`',
  },
  "approvals.skills": { text: "the same for single skills: by slug, for uploaded ones by `<tenant>/<slug>`" },
  "signatures.trusted_signers": {
    text: "whose [signatures of skills](manifest.md#signatures) count: fingerprints of keys",
  },
  "signatures.require": { text: "which skills must have such a signature" },
  skill_catalogue_tokens: {
    text: "most tokens of the [list of skills](runs.md#skills) in the system text, unless a run says otherwise",
    otherwise: "`4000`",
  },
  "workspace_tools.enabled": {
    text: "whether agent runs have the tools to read and write files and to run commands: `auto`, if a skill of the run [wants them](manifest.md#workspace-tools); `always`; `never`, which no run and no skill overrides",
  },
  "workspace_tools.network": {
    text: "the hosts that their commands may reach: none, all (`true`), or a list (`*.example.com` for all subdomains)",
  },
  "workspace_tools.env": { text: "names of variables that their commands see; no provider's key" },
  "workspace_tools.image": {
    text: "which image of the runner a deployment has: `slim`, `office`, `browser`",
  },
  "workspace_tools.allowed_tools": {
    text: "the effect of `allowed-tools` of a SKILL.md: `approve` approves calls in advance, `restrict` also removes all other tools",
  },
  llm: { text: "providers, aliases and prices: [models.md](models.md)", otherwise: "what Hull ships" },
  capabilities: { text: "what models can do: [models.md](models.md)", otherwise: "what Hull ships" },
  "llm.mock_routes": {
    text: "`true`: serves the routes that queue [mocks](testing.md#over-http)",
    otherwise: "`false`",
  },
  "runner.url": {
    text: "a runner that is already running, without a user name, path or query; its secret is `HULL_RUNNER_SECRET`. `hull dev` starts without it, and warns",
  },
  "runner.concurrency": { text: "simultaneous executions", otherwise: "twice the cores, at least 4" },
  "runner.queue": { text: "length of the queue for executions" },
  "runner.queue_timeout_ms": { text: "the longest wait in it" },
  "runner.grace_ms": { text: "time between SIGTERM and SIGKILL" },
  "runner.drain_ms": { text: "time for running work when the runner stops; `hull dev` gives 2000 at most" },
  "runner.network": {
    text: "`declared`: handlers reach [the hosts that their tool declares](security.md#network); `open`: they have the same network as every other process",
  },
  "runner.installs": {
    text: "whether the runner fetches [packages of Python handlers](handlers.md#packages)",
    otherwise: "if processes reach the network",
  },
  "runner.install_ms": { text: "longest installation of packages" },
};

const propertiesOf = (schema: JsonObject): JsonObject => objectOf(schema.properties);
const schemaAt = (schema: JsonObject, path: string): JsonObject =>
  path.split(".").reduce((outer, key) => objectOf(propertiesOf(outer)[key]), schema);

/** The schema of the file. Throws if a key has no text, neither itself nor its table, or a text no key. */
function wholeSchema(): JsonObject {
  const schema = schemaOf(hullToml);
  const paths = Object.entries(propertiesOf(schema)).flatMap(([key, one]) => {
    return key in TEXTS ? [key] : Object.keys(propertiesOf(objectOf(one))).map((inner) => `${key}.${inner}`);
  });
  const unlike = [
    ...paths.filter((path) => !(path in TEXTS)),
    ...Object.keys(TEXTS).filter((path) => Object.keys(schemaAt(schema, path)).length === 0),
  ];
  if (unlike.length === 0) return schema;
  throw new Error(
    `TEXTS of scripts/settings-table.ts and the keys of scripts/config.ts differ in ${unlike}.`,
  );
}

/** The rows of the table: key, values, default, meaning. */
export function settingRows(): string[][] {
  const all = wholeSchema();
  return Object.entries(TEXTS).map(([path, { text, otherwise }]) => {
    const schema = schemaAt(all, path);
    const value = JSON.stringify(schema.default ?? null);
    const fallback = ["null", "[]", "{}"].includes(value) ? "none" : `\`${value}\``;
    // TOML has no null.
    const takes = schema.properties === undefined ? wordsOf(schema).replace(" or null", "") : "table";
    return [`\`${path}\``, takes, otherwise ?? fallback, text];
  });
}

/** The JSON Schema of the file. */
export function settingsSchema(): JsonObject {
  const schema = wholeSchema();
  for (const [path, { text }] of Object.entries(TEXTS))
    Object.assign(schemaAt(schema, path), { description: plainText(text) });
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title: "hull.toml", ...schema };
}
