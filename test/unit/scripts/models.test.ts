/** Models that a project defines: hull.toml, the provider file, skill folders; and how they reach the Worker. */
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { buildRoots } from "../../../scripts/build/build.ts";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { loadConfig } from "../../../scripts/config.ts";
import { startStandIns } from "../../../scripts/dev/models.ts";
import { runnerEnvironment, workerVariables } from "../../../scripts/dev/variables.ts";
import { modelVariables } from "../../../scripts/models.ts";
import { openProject } from "../../../scripts/project.ts";
import { layerSchema } from "../../../src/model/registry/layer.ts";
import { mergeModelRegistry, shippedModels } from "../../../src/model/registry/registry.ts";
import { Redactor } from "../../../src/redact.ts";
import { NO_SIGNATURES } from "../../../src/skill/trust.ts";
import { folder, put, skillText } from "./folder.ts";

const PROXY =
  '[llm.providers.my_proxy]\nbase_url = "https://llm.example/v1"\nauth_env = "MY_PROXY_API_KEY"\n';

afterEach(() => vi.unstubAllEnvs());

async function build(files: Record<string, string>, cache?: BuildCache, dir = folder(files)) {
  const project = await openProject(dir);
  const options = {
    projectDir: project.dir,
    terms: { models: project.models, signatures: NO_SIGNATURES },
    ...(cache === undefined ? {} : { cache }),
  };
  const result = await buildRoots(project.roots, { ...options, keepGoing: true });
  return {
    ...result,
    project,
    dir,
    found: result.diagnostics.map(({ diagnostic: d }) => `${d.code} ${d.file} ${d.field ?? ""}`.trim()),
    words: result.diagnostics.map(({ diagnostic: d }) => `${d.message} ${d.hint ?? ""}`).join("\n"),
  };
}

test.each([
  ["[llm]\nprovider = 1", /the key llm\.provider is unknown\.$/, "Did you mean providers?"],
  [
    "[llm.providers.a]\nbase_ulr = 'x'",
    /the key llm\.providers\.a\.base_ulr is unknown/,
    "Did you mean base_url?",
  ],
  [
    "[llm.aliases]\nx = {id = 'a', provider = 'b', tol_format = 'text'}",
    /llm\.aliases\.x\.tol_format/,
    "Did you mean tool_format?",
  ],
  [
    "[[capabilities.provider.a]]\nmodel_match = '*'\nvison = true",
    /capabilities\.provider\.a\.0\.vison/,
    "Did you mean vision?",
  ],
  [
    "[llm]\nprices = {x = {in = 1, out = 2, cached = 1}}",
    /llm\.prices\.x\.cached/,
    expect.stringContaining("cache_read"),
  ],
  ["[[capabilities.provider.a]]\nvision = true", /capabilities\.provider\.a\.0\.model_match: /, undefined],
  ["[llm.providers.A]\nrpm = 1", /llm\.providers\.A: a provider's name/, undefined],
  ["[llm.providers.available]\nrpm = 1", /a provider's name/, undefined],
  [
    "[llm.providers.a]\nauth_env = 'HULL_ADMIN_KEY'",
    /llm\.providers\.a\.auth_env: .*HULL_\* are Hull's own/,
    undefined,
  ],
  ["[llm.providers.a]\napi = 'soap'", /llm\.providers\.a\.api: /, undefined],
  ["[llm.providers.a]\nbase_url = 'https://u:p@h/v1'", /base_url: an http or https URL/, undefined],
  ["[[llm.inference_rules]]\nexact = 'a'\ncontains = 'b'\nprovider = 'openai'", /exactly one of/, undefined],
  ["[llm.providers.a]\nextra_headers = {Host = 'x'}", /a header's name/, undefined],
  ["[llm\n", /hull\.toml:1:/, undefined],
])("hull.toml with %j is refused", async (toml, message, hint) => {
  const error = await loadConfig(folder({ "hull.toml": toml })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ exit: 2, message: expect.stringMatching(message), hint });
});

describe("the build", () => {
  test("knows the providers of hull.toml, their keys and their lack of a default model", async () => {
    const { found, words, skills } = await build({
      "hull.toml": `${PROXY}[llm.providers.sure]\nbase_url = "https://s.example"\ndefault_model = "m"\n`,
      "skills/a/SKILL.md": skillText(
        "A",
        "provider: my_proxy\nmodel: m\nfallback: [sure/x, gemini/y]\ntool_env: [MY_PROXY_API_KEY, SURE_API_KEY, OTHER]",
      ),
      "skills/b/SKILL.md": skillText("B", "provider: my_proxy"),
      "skills/c/SKILL.md": skillText("C", "provider: sure"),
      "skills/d/SKILL.md": skillText("D", "provider: my_prxy"),
    });
    expect(found).toEqual([
      "provider_key_withheld a/SKILL.md tool_env[0]",
      "provider_key_withheld a/SKILL.md tool_env[1]",
      "model_missing b/SKILL.md provider",
      "value_not_allowed d/SKILL.md provider",
    ]);
    expect(words).toMatch(
      /one of: anthropic, openai, .*mock, my_proxy, sure, gemini\. Did you mean my_proxy\?/,
    );
    expect(skills[0]?.manifest).toMatchObject({
      tool_env: ["OTHER"],
      llm: {
        target: { provider: "my_proxy", model: "m" },
        fallback: [
          { provider: "sure", model: "x" },
          { provider: "google", model: "y" },
        ],
      },
    });
  });

  test("knows the models of the provider file, unless it is in KV", async () => {
    const files = { "hull.toml": "", "skills/a/SKILL.md": skillText("A", "provider: filed\nmodel: m") };
    vi.stubEnv("HULL_PROVIDERS_CONFIG", '[providers.filed]\nbase_url = "https://f.example"');
    expect((await build(files)).found).toEqual([]);
    vi.stubEnv("HULL_PROVIDERS_CONFIG", "kv:models");
    expect((await build(files)).found).toEqual(["value_not_allowed a/SKILL.md provider"]);
    vi.stubEnv("HULL_PROVIDERS_CONFIG", "[llm.providers.filed]\n");
    await expect(build(files)).rejects.toMatchObject({
      message: expect.stringMatching(/^HULL_PROVIDERS_CONFIG:1:2: error: the key llm is unknown/),
    });
  });

  test("warns of more tools than the models take", async () => {
    const tool = (name: string) => `{name: ${name}, description: d, command: [echo]}`;
    const skill = skillText(
      "A",
      `provider: openai\nfallback: [anthropic/claude-opus-4-7]\ntools: [${["a", "b", "c"].map(tool)}]`,
    );
    const rule = (max: number) =>
      `[[capabilities.provider.openai]]\nmodel_match = "gpt-6-luna"\nmax_tools = ${max}\n`;
    const few = await build({ "hull.toml": rule(2), "skills/a/SKILL.md": skill });
    expect(few.found).toEqual(["too_many_tools a/SKILL.md tools"]);
    expect(few.words).toMatch(/has 3 tools; its models take at most 2/);
    expect((await build({ "hull.toml": rule(3), "skills/a/SKILL.md": skill })).found).toEqual([]);
  });

  test("warns of a model that its provider has shut down, or will shut down, with the day", async () => {
    const gone = skillText("A", "provider: anthropic\nmodel: claude-sonnet-4-20250514");
    const first = await build({ "skills/a/SKILL.md": gone });
    expect(first.found).toEqual(["model_retired a/SKILL.md model"]);
    expect(first.words).toMatch(/anthropic shut claude-sonnet-4-20250514 down on 2026-06-15/);
    const going = skillText("A", "provider: openai\nfallback: [anthropic/claude-3-opus-latest]");
    expect((await build({ "skills/a/SKILL.md": going })).found).toEqual([
      "model_retired a/SKILL.md fallback",
    ]);
  });

  test("takes what skill folders bring, below hull.toml, and builds again when that changes", async () => {
    const cache = new BuildCache();
    const first = await build(
      {
        "hull.toml": `${PROXY}[llm.aliases]\nfast = {id = "root", provider = "my_proxy"}\n`,
        "skills/a/SKILL.md": skillText("A", "provider: packed\nmodel: m"),
        "skills/b/SKILL.md": skillText("B"),
        "skills/b/hull.toml":
          'name = "ignored"\n[llm.providers.packed]\nbase_url = "https://b.example"\n' +
          '[llm.aliases]\nfast = {id = "b", provider = "packed"}\nslow = {id = "b", provider = "packed"}\n' +
          '[[capabilities.provider.packed]]\nmodel_match = "*"\nvision = true\n',
      },
      cache,
    );
    expect(first.found).toEqual([]);
    const layers = readBack(modelVariables(first.packages, first.project.models));
    const { aliases, providers, capabilities } = layers.reduce(mergeModelRegistry, shippedModels);
    expect(aliases.get("fast")).toEqual({ id: "root", provider: "my_proxy" });
    expect(aliases.get("slow")).toEqual({ id: "b", provider: "packed" });
    expect([...providers.keys()].slice(-2)).toEqual(["packed", "my_proxy"]);
    expect(capabilities.user.rules.get("packed")).toHaveLength(1);
    put(first.dir, "skills/b/hull.toml", "");
    const second = await build({}, cache, first.dir);
    expect(second.found).toEqual(["value_not_allowed a/SKILL.md provider"]);
    expect(cache.rebuilt).toBe(2);
  });

  test.each([
    [
      '[llm.providers.openai]\nbase_url = "https://evil.example"',
      /openai is already defined by Hull itself/,
      "llm.providers.openai 1:16",
    ],
    [
      "[llm.providers.my_proxy]\nrpm = 1",
      /my_proxy is already defined by the project's hull\.toml/,
      "llm.providers.my_proxy 1:16",
    ],
    [
      '[llm.providers.twin]\nbase_url = "https://evil.example"',
      /twin is already defined by the skill folder a/,
      "llm.providers.twin 1:16",
    ],
    [
      '[llm.providers.evil]\nauth_env = "OPENAI_API_KEY"',
      /asks for OPENAI_API_KEY, the key of a provider of Hull's own/,
      "llm.providers.evil.auth_env 2:1",
    ],
    [
      '[llm.providers.evil]\nauth_env = "MY_PROXY_API_KEY"',
      /asks for MY_PROXY_API_KEY/,
      "llm.providers.evil.auth_env 2:1",
    ],
    [
      '[llm.providers.evil]\nauth_env = "TWIN_API_KEY"',
      /the key of a provider of the skill folder a/,
      "llm.providers.evil.auth_env 2:1",
    ],
    ["[llm]\nmock_routes = true", /llm\.mock_routes is unknown/, "llm.mock_routes 2:1"],
    ["[llm]\nreplace_defaults = true", /llm\.replace_defaults is unknown/, "llm.replace_defaults 2:1"],
    ["[llm.providers.x", /invalid|expected|unterminated|key/i, " 1:2"],
  ])("refuses a skill folder's %j", async (toml, words, place) => {
    const built = await build({
      "hull.toml": PROXY,
      "skills/a/SKILL.md": skillText("A"),
      "skills/a/hull.toml": '[llm.providers.twin]\nbase_url = "https://a.example"\n',
      "skills/b/SKILL.md": skillText("B"),
      "skills/b/hull.toml": toml,
    });
    const shown = built.diagnostics.map(({ diagnostic: d }) => `${d.field ?? ""} ${d.line}:${d.column}`);
    expect([built.found.map((one) => one.split(" ").slice(0, 2)), shown]).toEqual([
      [["package_config", "b/hull.toml"]],
      [place],
    ]);
    expect(built.words).toMatch(words);
    expect(built.packages.map(({ llm }) => Object.keys(llm?.providers ?? {}))).toEqual([["twin"]]);
  });

  test("does not take the project's own hull.toml for a skill folder's", async () => {
    const { found, packages } = await build({
      "hull.toml": PROXY,
      "SKILL.md": skillText("A", "provider: my_proxy\nmodel: m"),
    });
    expect([found, packages]).toEqual([[], []]);
  });
});

/** As the Worker does (`src/env.ts`). */
function readBack(variables: ReadonlyMap<string, string>) {
  const pieces = [...variables.values()];
  const text = pieces.length === 1 ? pieces.join("") : pieces.slice(1).join("");
  return z.array(layerSchema).parse(JSON.parse(text));
}

describe("the variables", () => {
  const models = (aliases: Record<string, { id: string; provider: string }>) => ({
    file: {},
    root: { llm: { aliases } },
  });

  test("say nothing where nothing is defined", () => {
    expect([...modelVariables([], { file: {}, root: {} })]).toEqual([["HULL_LLM", "[]"]]);
  });

  test("are cut where they are long, and read back as they were", () => {
    const names = Array.from({ length: 400 }, (_, i) => `alias-${i}-ü'"\`$x`);
    const aliases = Object.fromEntries(
      names.map((name) => [name, { id: `model of ${name}`, provider: "openai" }]),
    );
    const variables = modelVariables([], models(aliases));
    expect(variables.size).toBeGreaterThan(5);
    for (const value of variables.values()) {
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(5000);
      expect(value).not.toMatch(/['`$]/);
    }
    expect(readBack(variables)).toEqual([{ llm: { aliases } }]);
    expect(variables.get("HULL_LLM")).toBe(`parts:${variables.size - 1}`);
  });

  test("reach the Worker from the environment if configured models name them", async () => {
    const dir = folder({
      "hull.toml": `${PROXY}[llm.providers.x]\nbase_url_env = ["X_HOST"]\n`,
      "skills/.keep": "",
    });
    const { models: own } = await openProject(dir);
    const environment = {
      MY_PROXY_API_KEY: "k",
      X_API_KEY: "x",
      X_HOST: "h",
      HARN_LLM_MODEL: "m",
      STRANGER: "s",
      TOGETHER_AI_API_KEY: "t",
      X_BASE_URL: "b",
      TRACKER_TOKEN: "tt",
      OF_COMMANDS: "c",
      SIGNS_CALLS: "s",
      WEBHOOK_A: "w",
      MY_WEBHOOK_SECRET: "w",
    };
    const settings = {
      mcp: { servers: { tracker: { headers: { authorization: "Bearer ${TRACKER_TOKEN}" } } } },
      workspace_tools: { env: ["OF_COMMANDS"] },
      host_delegate: { secret_env: "SIGNS_CALLS" },
    };
    const variables = workerVariables(new Map(), environment, [], [own.root], settings);
    expect([...variables.keys()].toSorted()).toEqual(
      Object.keys(environment)
        .filter((name) => name !== "STRANGER")
        .toSorted(),
    );
    const hooks = { "G.HOOK": "1", GXHOOK: "2", WEBHOOK_A: "3" };
    const listing = (webhook_secrets: string[]) =>
      workerVariables(new Map(), hooks, [], [], { daemons: { webhook_secrets } });
    expect([...listing(["G.*"]).keys()]).toEqual(["G.HOOK"]);
    expect(listing([]).size).toBe(0);
  });
});

test("the runner of hull dev has what its installer of packages needs, and no secret", () => {
  const needed = {
    PIP_INDEX_URL: "https://a.example/",
    https_proxy: "http://b.example/",
    NO_PROXY: "c",
    REQUESTS_CA_BUNDLE: "/etc/d.pem",
    GIT_SSL_CAINFO: "/etc/d.pem",
  };
  const environment = {
    ...needed,
    PATH: "/bin",
    OPENAI_API_KEY: "k",
    AWS_SECRET: "s",
    HTTPS_PROXY_PASSWORD: "p",
  };
  const own = { ...needed, PATH: "/bin" };
  expect(runnerEnvironment(environment, new Map(Object.entries(environment)))).toEqual(own);
  // The switch counts in a file of the project too, unlike what a program of the system needs.
  const files = new Map([
    ["HULL_RUNNER_EGRESS", "off"],
    ["PIP_PROXY", "http://c.example/"],
  ]);
  expect(runnerEnvironment(environment, files)).toEqual({ ...own, HULL_RUNNER_EGRESS: "off" });
  expect(runnerEnvironment(environment, new Map([["HULL_RUNNER_EGRESS", ""]]))).toEqual(own);
});

test.each([
  ["no mock at all", "\n", "[]"],
  [
    "a byte order mark and Windows' line ends",
    '\ufeff{"text":"a"}\r\n{"text":"b"}\r\n',
    '{"text":"a"}\n{"text":"b"}',
  ],
])("--mocks: a file with %s", async (_, text, lines) => {
  const variables = new Map<string, string>();
  const context = { variables, layers: [], redactor: new Redactor([]), onLine: () => {} };
  await startStandIns({ mocks: join(folder({ "mocks.jsonl": text }), "mocks.jsonl") }, context);
  expect(variables.get("HULL_LLM_MOCKS")).toBe(lines);
});
