/**
 * The configuration of models as data: the tables `[llm]` and `[capabilities]` of hull.toml, of a skill folder's
 * hull.toml, of a provider file, and of a tenant's installed rules. The build and the Worker share one schema. Its
 * output is valid input, so a layer travels as JSON.
 */
import * as z from "zod/mini";
import { API_NAMES, type ProtocolName } from "../protocols.ts";

/** With `exactOptionalPropertyTypes`: absent, never `undefined`. */
const maybe = z.exactOptional;

const text = () => z.string().check(z.minLength(1));
const positive = () => z.int().check(z.positive());
const amount = () => z.number().check(z.nonnegative());
const tier = () => z.enum(["small", "mid", "frontier"]);

/** A provider's name. Not `available`, which is a route next to `/llm/providers/{name}`. */
const providerName = () =>
  z
    .string()
    .check(
      z.regex(
        /^(?!available$)[a-z0-9][a-z0-9_-]{0,63}$/,
        "a provider's name: small letters, digits, - and _ (not `available`)",
      ),
    );

const VARIABLE = /^(?!H(?:ULL|USK|ARN)_)[A-Za-z_][A-Za-z0-9_]*$/;

/** One variable's name, or several; the first one that is set wins. */
const variables = () => {
  const name = z.string().check(z.regex(VARIABLE, "names of variables; HULL_* are Hull's own"));
  const list = z.array(name).check(z.minLength(1));
  return z.pipe(
    z.union([name, list], "names of variables: a string, or a list of strings; HULL_* are Hull's own"),
    z.transform((value) => (typeof value === "string" ? [value] : value)),
  );
};

const headerName = () =>
  z
    .string()
    .check(
      z.regex(
        /^(?!(?:host|content-length|connection|transfer-encoding)$)[a-z0-9!#$%&'*+.^_`|~-]+$/i,
        "a header's name",
      ),
    );
const headerValue = () => z.string().check(z.regex(/^[\x20-\x7e]*$/, "printable ASCII"));
const endpoint = () => z.string().check(z.regex(/^\/[^\s?#]*$/, "a path that begins with /"));

const protocol = () =>
  z.pipe(
    z.enum(API_NAMES),
    z.transform((name): ProtocolName => (name === "chat" || name === "responses" ? `openai-${name}` : name)),
  );

/** With or without a scheme; no user, query or fragment. */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username + url.password + url.search + url.hash === "";
}

const provider = () =>
  z.strictObject({
    base_url: maybe(z.string().check(z.refine(isBaseUrl, "an http or https URL of host and path"))),
    /** Variables for the base in addition to `<PROVIDER>_BASE_URL`, which wins. */
    base_url_env: maybe(variables()),
    auth_style: maybe(z.enum(["bearer", "header", "none"])),
    auth_header: maybe(headerName()),
    /** Variables that may hold the key; the first one that is set wins. */
    auth_env: maybe(variables()),
    extra_headers: maybe(z.record(headerName(), headerValue())),
    chat_endpoint: maybe(endpoint()),
    completion_endpoint: maybe(endpoint()),
    api: maybe(protocol()),
    healthcheck: maybe(
      z.strictObject({
        method: maybe(z.enum(["GET", "POST"])),
        path: maybe(endpoint()),
        /** Replaces `path`; counts only while no variable replaces the base. The key goes there too. */
        url: maybe(z.url({ protocol: /^https$/ })),
        body: maybe(z.string()),
      }),
    ),
    features: maybe(z.array(text())),
    /** The member of a chat request that holds the limit of tokens. It wins over what is known of the model. */
    token_field: maybe(z.enum(["max_tokens", "max_completion_tokens"])),
    /** The provider to ask when this one is down. */
    fallback: maybe(providerName()),
    retry_count: maybe(z.int().check(z.nonnegative(), z.maximum(20))),
    retry_delay_ms: maybe(z.int().check(z.nonnegative(), z.maximum(60_000))),
    /** Calls per minute. */
    rpm: maybe(positive()),
    cost_per_1k_in: maybe(amount()),
    cost_per_1k_out: maybe(amount()),
    latency_p50_ms: maybe(amount()),
    /** Without it a request must name a model. */
    default_model: maybe(text()),
  });

/** The models that a rule covers, compared in lower case: exactly one of the three is given. */
const matcher = () => ({
  exact: maybe(text()),
  /** A glob as in capability rules. */
  pattern: maybe(text()),
  contains: maybe(text()),
});
const oneMatcher = <T extends { exact?: string; pattern?: string; contains?: string }>() =>
  z.refine<T>(
    ({ exact, pattern, contains }) =>
      [exact, pattern, contains].filter((given) => given !== undefined).length === 1,
    "exactly one of exact, pattern and contains",
  );

const price = () =>
  z.strictObject({ in: amount(), out: amount(), cache_read: maybe(amount()), cache_write: maybe(amount()) });

const defaults = () =>
  z.strictObject({
    temperature: maybe(z.number()),
    top_p: maybe(z.number()),
    top_k: maybe(z.int()),
    seed: maybe(z.int()),
    frequency_penalty: maybe(z.number()),
    presence_penalty: maybe(z.number()),
  });

const modelEntry = () =>
  z.strictObject({
    /** Absent: inferred from the id. */
    provider: maybe(providerName()),
    name: maybe(text()),
    tier: maybe(tier()),
    /** Tokens. */
    context_window: maybe(positive()),
    latency_p50_ms: maybe(amount()),
  });

/** What the tables of a package may contain: only additional definitions. */
const definitions = () => ({
  providers: maybe(z.record(providerName(), provider())),
  aliases: maybe(
    z.record(
      text(),
      z.strictObject({
        id: text(),
        provider: providerName(),
        tool_format: maybe(z.enum(["native", "text"])),
      }),
    ),
  ),
  inference_rules: maybe(
    z.array(z.strictObject({ ...matcher(), provider: providerName() }).check(oneMatcher())),
  ),
  tier_rules: maybe(z.array(z.strictObject({ ...matcher(), tier: tier() }).check(oneMatcher()))),
  model_defaults: maybe(z.record(text(), defaults())),
  models: maybe(z.record(text(), modelEntry())),
  /** By a part of the model's id; USD per million tokens. */
  prices: maybe(z.record(text(), price())),
});

const capabilityRule = () => {
  const flag = maybe(z.boolean());
  const structured = maybe(z.enum(["native", "tool_use", "format_kw", "json_object"]));
  const rule = z.strictObject({
    model_match: text(),
    version_min: maybe(z.tuple([z.int().check(z.nonnegative()), z.int().check(z.nonnegative())])),
    native_tools: flag,
    defer_loading: flag,
    /** The provider's own tool searches, preferred first. */
    tool_search: maybe(z.array(z.enum(["bm25", "regex", "hosted", "client"]))),
    /** The most tools of one request. */
    max_tools: maybe(positive()),
    prompt_caching: flag,
    thinking: flag,
    vision: flag,
    audio: flag,
    pdf: flag,
    structured_output: structured,
    json_schema: structured,
    thinking_modes: maybe(z.array(z.enum(["enabled", "adaptive", "effort"]))),
    interleaved_thinking_supported: flag,
    anthropic_beta_features: maybe(z.array(text())),
    preserve_thinking: flag,
    requires_completion_tokens: flag,
    reasoning_effort_supported: flag,
    honors_chat_template_kwargs: flag,
    server_parser: maybe(text()),
    recommended_endpoint: maybe(text()),
    text_tool_wire_format_supported: flag,
  });
  // `json_schema` is another name of `structured_output`.
  return z.pipe(
    rule,
    z.transform(({ json_schema, ...own }) =>
      json_schema === undefined ? own : { structured_output: json_schema, ...own },
    ),
  );
};

/** `[capabilities]`, and the rules that a tenant installs. */
export const capabilityTables = z.lazy(() =>
  z.strictObject({
    provider: maybe(z.record(providerName(), z.array(capabilityRule()))),
    provider_family: maybe(z.record(providerName(), providerName())),
  }),
);

/** `[llm]` of the project's hull.toml; a provider file has the same tables at its top level. */
export const modelTables = z.lazy(() =>
  z.strictObject({
    ...definitions(),
    default_provider: maybe(providerName()),
    /** Ignores all definitions below this layer. */
    replace_defaults: maybe(z.boolean()),
    /** Whether a model of unknown price may be called under a cost limit; `refuse` if absent. */
    unknown_price: maybe(z.enum(["refuse", "allow"])),
    /** Serves the routes that script the mock provider. */
    mock_routes: maybe(z.boolean()),
  }),
);

/** Both tables of a hull.toml. */
export const layerSchema = z.lazy(() =>
  z.strictObject({ llm: maybe(modelTables), capabilities: maybe(capabilityTables) }),
);

/** Both tables of a skill folder's hull.toml; its other keys are ignored. */
export const packageSchema = z.lazy(() =>
  z.object({ llm: maybe(z.strictObject(definitions())), capabilities: maybe(capabilityTables) }),
);

export type Layer = z.infer<typeof layerSchema>;
export type ModelTables = z.infer<typeof modelTables>;
export type CapabilityTables = z.infer<typeof capabilityTables>;
export type ProviderFields = z.infer<ReturnType<typeof provider>>;
export type CapabilityRule = z.infer<ReturnType<typeof capabilityRule>>;
export type Alias = NonNullable<ModelTables["aliases"]>[string];
export type ModelEntry = NonNullable<ModelTables["models"]>[string];
export type ModelDefaults = NonNullable<ModelTables["model_defaults"]>[string];
export type Price = NonNullable<ModelTables["prices"]>[string];
export type InferenceRules = NonNullable<ModelTables["inference_rules"]>;
export type TierRules = NonNullable<ModelTables["tier_rules"]>;
export type Tier = z.infer<ReturnType<typeof tier>>;

/** The prefix `<PROVIDER>` of a provider's variables. */
export const variablePrefix = (name: string): string => name.toUpperCase().replaceAll("-", "_");

/** The variables that may hold a provider's key, preferred first. */
export function keyVariables(
  name: string,
  fields: Pick<ProviderFields, "auth_env" | "auth_style">,
): string[] {
  if (fields.auth_env !== undefined) return [...fields.auth_env];
  return fields.auth_style === "none" ? [] : [`${variablePrefix(name)}_API_KEY`];
}

/** All key variables that a layer names. */
export function keyVariablesOf(layer: Layer): string[] {
  return Object.entries(layer.llm?.providers ?? {}).flatMap(([name, fields]) => keyVariables(name, fields));
}
