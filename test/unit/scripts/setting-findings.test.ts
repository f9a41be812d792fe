/** Findings about hull.toml, and about the variables of the Worker: names that lead nowhere. */
import { describe, expect, test, vi } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import { buildOptionsOf, openProject } from "../../../scripts/project.ts";
import { checkReadable, variablesWithoutEffect } from "../../../scripts/worker-variables.ts";
import { shippedModels } from "../../../src/model/registry/registry.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder, put, skillText } from "./folder.ts";

const skills = {
  "skills/shop/SKILL.md": skillText(
    "Shop",
    "provider: mock\ntools: [{name: find_order, description: d, command: [echo]}]",
  ),
};

async function found(files: Record<string, string>, roots: string[] = []): Promise<string[]> {
  const project = await openProject(folder({ ...skills, ...files }), roots);
  const { diagnostics } = await buildRoots(project.roots, buildOptionsOf(project));
  return diagnostics.flatMap(({ diagnostic: { code, file, field, level, message, hint } }) =>
    code === "setting_without_effect" ? [`${level} ${file} ${field}: ${message} ${hint ?? ""}`.trim()] : [],
  );
}

const server = (url: string, rest = "") =>
  `[mcp]\nallowed_hosts = ["a.example.com"]\n${rest}[mcp.servers.a]\nurl = "${url}"\n`;
const provider = (field: string) => `${field}: There is no provider opnai. Did you mean openai?`;

test.each([
  [
    "public_skills",
    'public_skills = ["shopp"]',
    "public_skills: No skill has the slug shopp. Did you mean shop?",
  ],
  [
    "approvals.skills",
    '[approvals.skills]\nshopp = "none"\n"acme/any" = "none"',
    "approvals.skills: No skill has the slug shopp. For an uploaded skill, write <tenant>/<slug>. Did you mean shop?",
  ],
  ["pass_through", 'pass_through = ["opnai"]', provider("pass_through")],
  [
    "pass_through of another protocol",
    'pass_through = ["openai"]',
    "pass_through: The provider openai does not have Anthropic's protocol, so Hull forwards nothing to it unchanged. Remove it.",
  ],
  [
    "policy.tools",
    '[policy]\ntools = ["fnd_order", "find_order", "Read", "read_file", "of_a_client", "find_*"]',
    "policy.tools: Neither Hull nor a skill has a tool fnd_order. Did you mean find_order?",
  ],
  [
    "policy.blocked_tools",
    '[policy]\nblocked_tools = ["Bsh", "mcp__x__y", "shell"]',
    "policy.blocked_tools: Neither Hull nor a skill has a tool Bsh. Did you mean Bash?",
  ],
  [
    "policy.tool_arg_constraints",
    '[policy]\ntool_arg_constraints = [{tool = "Raed", arg_patterns = ["*"]}]',
    "policy.tool_arg_constraints: Neither Hull nor a skill has a tool Raed. Did you mean Read?",
  ],
  [
    "policy.tool_annotations",
    "[policy.tool_annotations.find_ordr]\nkind = 'x'",
    "policy.tool_annotations: Neither Hull nor a skill has a tool find_ordr. Did you mean find_order?",
  ],
  [
    "an MCP server by http",
    server("http://a.example.com/mcp"),
    "mcp.servers.a.url: The host a.example.com has an http address; Hull asks it by https only.",
  ],
  [
    "an MCP server that is not allowed",
    server("https://b.example.com/mcp"),
    "mcp.servers.a.url: The host b.example.com is not among the hosts that are allowed: a.example.com. The operator adds it to [mcp] allowed_hosts in hull.toml.",
  ],
  [
    "an MCP server of this machine",
    server("http://localhost:1/mcp"),
    "mcp.servers.a.url: The host localhost is this machine; local dev permits it with allow_loopback = true under [mcp] in hull.toml.",
  ],
  [
    "domain",
    'domain = "a.example.com"\nallowed_hosts = ["b.example.com"]',
    "domain: A deployment answers only to the names in allowed_hosts, and a.example.com is not among them. Add it to allowed_hosts.",
  ],
  ["llm.default_provider", '[llm]\ndefault_provider = "opnai"', provider("llm.default_provider")],
  [
    "llm.aliases",
    '[llm.aliases]\nfast = {id = "m", provider = "opnai"}',
    provider("llm.aliases.fast.provider"),
  ],
  [
    "llm.aliases of a retired model",
    '[llm.aliases]\nold = {id = "claude-sonnet-4-20250514", provider = "anthropic"}',
    "llm.aliases.old.id: anthropic shut claude-sonnet-4-20250514 down on 2026-06-15. Name another model.",
  ],
  ["llm.models", '[llm.models.m]\nprovider = "opnai"', provider("llm.models.m.provider")],
  ["llm.providers", '[llm.providers.own]\nfallback = "opnai"', provider("llm.providers.own.fallback")],
  [
    "llm.inference_rules",
    '[[llm.inference_rules]]\nexact = "m"\nprovider = "opnai"',
    provider("llm.inference_rules[0].provider"),
  ],
  [
    "capabilities.provider",
    '[[capabilities.provider.opnai]]\nmodel_match = "*"',
    provider("capabilities.provider"),
  ],
  [
    "capabilities.provider_family",
    '[capabilities.provider_family]\nopnai = "openai"',
    provider("capabilities.provider_family"),
  ],
  [
    "a family without rules",
    '[capabilities.provider_family]\nollama = "opnai"',
    "capabilities.provider_family: There is no provider opnai, and no rules of this name. Did you mean openai?",
  ],
])("hull.toml: %s", async (_, toml, says) => {
  expect(await found({ "hull.toml": toml })).toEqual([`warning hull.toml ${says}`]);
});

test("names that lead somewhere are no findings", async () => {
  const toml = `public_skills = ["shop", "broken"]
pass_through = ["anthropic", "own"]
domain = "a.example.com"
allowed_hosts = ["a.example.com"]
[approvals.skills]
shop = "none"
[mcp]
allow_loopback = true
[mcp.servers.a]
url = "http://localhost:1/mcp"
[llm]
default_provider = "own"
[llm.aliases]
fast = {id = "m", provider = "gemini"}
[llm.providers.own]
api = "anthropic"
fallback = "openai"
[capabilities.provider_family]
own = "openai"
`;
  expect(await found({ "hull.toml": toml, "skills/broken/SKILL.md": "no frontmatter" })).toEqual([]);
});

test("slugs count only if all skills of the project are built, and providers only if all are known", async () => {
  const files = { "hull.toml": 'public_skills = ["gone"]\npass_through = ["opnai"]\n' };
  const [slug, passed] = await found(files);
  const some = folder({ "one/SKILL.md": skillText("One", "provider: mock") });
  expect(await found(files, [some])).toEqual([passed]);
  vi.stubEnv("HULL_PROVIDERS_CONFIG", "kv:providers");
  expect(await found(files)).toEqual([slug]);
  vi.stubEnv("HULL_PROVIDERS_CONFIG", '[aliases]\nfast = {id = "m", provider = "opnai"}');
  expect((await found({}))[0]).toContain(`HULL_PROVIDERS_CONFIG ${provider("aliases.fast.provider")}`);
  vi.unstubAllEnvs();
});

test("the hull.toml of a skill folder", async () => {
  const alias = '[llm.aliases]\nfast = {id = "m", provider = "opnai"}\n';
  expect(await found({ "hull.toml": "", "skills/shop/hull.toml": alias })).toEqual([
    `warning shop/hull.toml ${provider("llm.aliases.fast.provider")}`,
  ]);
});

test("each command that builds prints them, and --strict counts them", async () => {
  const project = folder({ ...skills, "hull.toml": "" });
  put(project, "hull.toml", 'public_skills = ["gone"]\n');
  const line = "hull.toml:1:18: warning: public_skills: No skill has the slug gone. [setting_without_effect]";
  for (const command of ["build", "validate"]) {
    const { code, err } = await hullHere([command, project]);
    expect([code, err]).toEqual([0, expect.stringContaining(line)]);
    expect(await hullHere([command, project, "--strict"])).toMatchObject({ code: 1 });
  }
});

test("each command that builds refuses mocks of the environment that no Worker could read", async () => {
  vi.stubEnv("HULL_LLM_MOCKS", "text");
  for (const command of ["build", "validate"]) {
    const { code, err } = await hullHere([command, folder({ ...skills, "hull.toml": "" })]);
    expect([code, err]).toEqual([2, expect.stringContaining("HULL_LLM_MOCKS:\n  line 1 is not JSON")]);
  }
  vi.unstubAllEnvs();
});

describe("variables", () => {
  const without = (variables: Record<string, string>) =>
    variablesWithoutEffect(new Map(Object.entries(variables)), shippedModels, (name) => name === "HULL_MINE");

  test.each([
    [
      "HULL_SECRT_KEY",
      "x",
      "HULL_SECRT_KEY has no effect: Hull has no variable of this name; did you mean HULL_SECRET_KEY?",
    ],
    [
      "HULL_RATE_LIMIT_OPNAI",
      "5",
      "HULL_RATE_LIMIT_OPNAI limits the provider OPNAI, which Hull does not have; did you mean OPENAI?",
    ],
    [
      "HARN_DEFAULT_PROVIDER",
      "opnai",
      "HARN_DEFAULT_PROVIDER names the provider opnai, which Hull does not have; did you mean openai?",
    ],
    [
      "HULL_LLM_PROVIDER",
      "opnai",
      "HULL_LLM_PROVIDER names the provider opnai, which Hull does not have; did you mean openai?",
    ],
  ])("%s without effect", (name, value, says) => {
    expect(
      without({ [name]: value, HULL_MINE: "1", HULL_LLM_MODEL: "m", HULL_CONFIG_2: "", OTHER: "x" }),
    ).toEqual([says]);
  });

  test("with effect", () => {
    const rates = { HULL_RATE_LIMIT_WORKERS_AI: "5", HARN_RATE_LIMIT_OPENAI: "5", HARN_OTHER: "1" };
    expect(without({ ...rates, HULL_LLM_PROVIDER: "auto", HULL_DEFAULT_PROVIDER: "gemini" })).toEqual([]);
  });

  test.each([
    ["HULL_SECRET_KEY", `${"k".repeat(32)} short`, "HULL_SECRET_KEY must be keys of 32 characters or more"],
    [
      "HULL_RATE_LIMIT_OPENAI",
      "10/s",
      'HULL_RATE_LIMIT_OPENAI must be a whole number of calls a minute, or 0 for no limit, not "10/s".',
    ],
    ["HULL_LOG", "all", 'HULL_LOG must be requests or failures, not "all".'],
    ["HULL_LLM_MOCKS", '{"txet": "x"}', 'line 1 has no field "txet"'],
  ])("%s that the Worker cannot read is refused before it starts", (name, value, says) => {
    expect(() => checkReadable([[name, value]])).toThrow(
      expect.objectContaining({ code: "bad_env_value", message: expect.stringContaining(says) }),
    );
    expect(() => checkReadable([[name, ""]])).not.toThrow();
  });
});
