/** Routing by price and speed. */
import { describe, expect, test } from "vitest";
import { shippedModels } from "../../../../src/model/registry/registry.ts";
import { type RoutePolicy, route } from "../../../../src/model/registry/route.ts";
import { ANTHROPIC, env, LOCAL, layered, OPENAI, type Variables } from "./support.ts";

describe("routing", () => {
  const decide = (policy: RoutePolicy, variables: Variables, registry = shippedModels) =>
    route(policy, registry, env({ ...LOCAL, ...variables }));
  const both = { ...OPENAI, ...ANTHROPIC };

  test.each<[RoutePolicy, Variables, string | null]>([
    ["manual", both, null],
    ["always(mid)", {}, "openai gpt-6-luna"],
    ["always(my-model)", {}, "anthropic my-model"],
    ["always( groq:llama-3 )", {}, "groq llama-3"],
    ["always(ollama:llama3.2)", {}, "ollama llama3.2"],
    ["always(llama3.2:latest)", {}, "ollama llama3.2:latest"],
    ["cheapest_over_quality(mid)", both, "openai gpt-6-luna"],
    ["cheapest_over_quality(frontier)", both, "anthropic claude-haiku-4-5-20251001"],
    ["cheapest_over_quality(frontier)", OPENAI, "openai gpt-6-sol"],
    [{ mode: "cheapest_over_quality", target: "small" }, both, "openai gpt-6-luna"],
    ["fastest_over_quality(mid)", both, "anthropic claude-haiku-4-5-20251001"],
    ["cheapest_over_quality(mid)", {}, null],
    [{ mode: "manual" }, both, null],
  ])("%j", (policy, variables, expected) => {
    const { chosen } = decide(policy, variables);
    expect(chosen === null ? null : `${chosen.provider} ${chosen.model}`).toBe(expected);
  });

  test("the fastest by latency; unknown last, ties by provider and model", () => {
    const registry = layered({
      llm: {
        providers: { openai: { latency_p50_ms: 900 } },
        models: { "gpt-4.1": { provider: "openai", latency_p50_ms: 300 } },
      },
    });
    const { alternatives } = decide("fastest_over_quality(mid)", both, registry);
    expect(alternatives.map(({ model, latency_p50_ms }) => [model, latency_p50_ms])).toEqual([
      ["gpt-4.1", 300],
      ["gpt-6-luna", 900],
      ["gpt-6-sol", 900],
      ["claude-haiku-4-5-20251001", null],
      ["claude-sonnet-5", null],
    ]);
    expect(alternatives[1]).toEqual({
      provider: "openai",
      model: "gpt-6-luna",
      tier: "mid",
      cost_per_1k: 0.0006,
      latency_p50_ms: 900,
    });
  });

  test.each(["sometimes", "cheapest_over_quality", "cheapest_over_quality(best)", "always()", "always(a)b"])(
    "%s is refused",
    (policy) => {
      expect(() => decide(policy, both)).toThrow(expect.objectContaining({ code: "model_not_resolved" }));
    },
  );
});
