/** The result of a call or run names each of its options that has no effect. */
import { expect, it } from "vitest";
import { Client } from "./served.ts";

const client = new Client({ HULL_ENV: "local" });
const tool = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } };
const schema = { type: "object", properties: { a: { type: "string" } } };

/** The options without effect; `mock` needs no key. */
async function told(path: string, options: object, more: object = {}): Promise<unknown[]> {
  const response = await client.post(path, {
    prompt: "go",
    options: { provider: "mock", mock: [{ text: '{"a": "b"}' }], ...options },
    ...more,
  });
  const body = await response.json<{ warnings?: { code: string; option?: string }[] }>();
  expect([response.status, body]).toMatchObject([200, {}]);
  return (body.warnings ?? []).flatMap(({ code, option }) => (code === "option_ignored" ? [option] : []));
}

const BOTH: [object, string[]][] = [
  [
    { output_validation: "warn", schema_retries: 1, retries: 2, schema_retry_nudge: "again" },
    ["output_validation", "schema_retries", "retries", "schema_retry_nudge"],
  ],
  [{ output_validation: "warn", schema_retries: 1, retries: 2, schema }, ["retries"]],
  [{ output_validation: "off", schema_retry_nudge: false, tool_choice: "auto" }, []],
  [{ schema, json_schema: schema }, ["schema"]],
  [{ json_schema: schema, output_format: { kind: "json_schema", schema } }, ["json_schema"]],
  [{ timeout: 5, timeout_ms: 5000, idle_timeout: 5, idle_timeout_ms: 5000 }, ["timeout", "idle_timeout"]],
  [{ timeout: 5, idle_timeout_ms: 5000 }, []],
  [{ model: "mock", model_tier: "small" }, ["model_tier"]],
  [{ model: "mock", provider: "mock", route_policy: "always(mock:mock)" }, ["provider", "model"]],
  [{ model: "mock", route_policy: "manual" }, []],
  [{ tool_choice: "required", tool_examples: "x" }, ["tool_examples", "tool_choice"]],
  [{ tool_choice: "none" }, []],
  [{ tools: [tool], tool_choice: "none", tool_format: "native" }, []],
  [{ tools: [tool], tool_examples: "x", tool_format: "native" }, ["tool_examples"]],
  [{ tools: [tool], tool_examples: "x", tool_format: "text", tool_choice: "none" }, ["tool_choice"]],
  [{ tools: [tool], tool_search: true }, ["tool_search"]],
  [
    {
      tools: [
        { ...tool, defer_loading: true },
        { ...tool, name: "b" },
      ],
      tool_search: true,
    },
    [],
  ],
  [{ repair: true }, ["repair"]],
  [{ openai: { user: "u" }, mock: [{ text: "x" }] }, ["openai"]],
  [{ messages: [{ role: "user", content: "hi" }] }, ["prompt"]],
];

it.each(BOTH)("of a call: %j", async (options, ignored) => {
  expect(await told("/llm/call", options)).toEqual(ignored);
});

it.each(BOTH)("of a run: %j", async (options, ignored) => {
  const { id } = await (await client.post("/sessions", {})).json<{ id: string }>();
  expect((await told(`/sessions/${id}/runs`, options)).toSorted()).toEqual(ignored.toSorted());
});

it.each<[object, string[]]>([
  [{ max_nudges: 1, nudge: "x" }, ["nudge", "max_nudges"]],
  [{ persistent: true, max_nudges: 1, nudge: "x", done_sentinel: "{" }, []],
  [{ max_nudges: 1, turn_policy: { require_action_or_yield: true } }, []],
  [{ tool_backoff_ms: 5 }, ["tool_backoff_ms"]],
  [{ tool_retries: 1, tool_backoff_ms: 5 }, []],
  [
    { loop_detect_warn: 0, loop_detect_block: 5, loop_detect_skip: 6 },
    ["loop_detect_block", "loop_detect_skip"],
  ],
  [{ approval_timeout_ms: 5000, approval_timeout_s: 5 }, ["approval_timeout_s", "approval_timeout_ms"]],
  [
    {
      skill_match: { top_n: 2 },
      skill_tools: "on_activation",
      skill_catalogue_tokens: 5,
      working_files: "a",
    },
    ["skill_tools", "skill_catalogue_tokens", "working_files", "skill_match"],
  ],
  [{ skills: [{ name: "a" }], skill_match: { top_n: 2 }, working_files: "a" }, []],
  [{ skill_match: { strategy: "none" } }, []],
  [{ native_tool_fallback: "reject" }, ["native_tool_fallback"]],
  [
    { require_successful_tools: ["x"], stop_after_successful_tools: ["load_skill"] },
    ["require_successful_tools", "stop_after_successful_tools"],
  ],
  [{ stop_after_successful_tools: ["task_ledger"], task_ledger: ["a"] }, []],
  [{ stop_after_successful_tools: ["made"], dynamic_tools: true }, []],
  [{ stop_after_successful_tools: ["brought"], skills: [{ name: "a" }] }, []],
  [{ compact_threshold: 9, compaction: { threshold: 8 }, keep_first: 1 }, ["compact_threshold"]],
])("of a run alone: %j", async (options, ignored) => {
  expect(await told("/runs", options)).toEqual(ignored);
});

it("of a structured call: the option that the request's schema replaces, and none of its own", async () => {
  const body = { schema };
  expect(await told("/llm/structured", { repair: true, retries: 1 }, body)).toEqual([]);
  expect(await told("/llm/structured", { schema }, body)).toEqual(["schema"]);
});
