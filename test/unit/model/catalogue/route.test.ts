/** Routing by price and speed (agent-runtime.md §5.5). */
import { describe, expect, test } from "vitest";
import { shippedCatalogue } from "../../../../src/model/catalogue/catalogue.ts";
import { type RoutePolicy, route } from "../../../../src/model/catalogue/route.ts";
import { ANTHROPIC, env, LOCAL, layered, OPENAI, type Variables } from "./support.ts";

describe("routing", () => {
  const decide = (policy: RoutePolicy, variables: Variables, catalogue = shippedCatalogue) =>
    route(policy, catalogue, env({ ...LOCAL, ...variables }));
  const both = { ...OPENAI, ...ANTHROPIC };

  test.each<[RoutePolicy, Variables, string | null]>([
    ["manual", both, null],
    ["always(mid)", {}, "openai gpt-4o-mini"],
    ["always(my-model)", {}, "anthropic my-model"],
    ["always( groq:llama-3 )", {}, "groq llama-3"],
    ["always(ollama:llama3.2)", {}, "ollama llama3.2"],
    ["always(llama3.2:latest)", {}, "ollama llama3.2:latest"],
    ["cheapest_over_quality(mid)", both, "openai gpt-4o-mini"],
    ["cheapest_over_quality(frontier)", both, "anthropic claude-haiku-4-5-20251001"],
    ["cheapest_over_quality(frontier)", OPENAI, "openai gpt-4o"],
    [{ mode: "cheapest_over_quality", target: "small" }, both, "openai gpt-4o-mini"],
    ["fastest_over_quality(mid)", both, "anthropic claude-haiku-4-5-20251001"],
    ["cheapest_over_quality(mid)", {}, null],
    [{ mode: "manual" }, both, null],
  ])("%j", (policy, variables, expected) => {
    const { chosen } = decide(policy, variables);
    expect(chosen === null ? null : `${chosen.provider} ${chosen.model}`).toBe(expected);
  });

  test("the fastest by latency; unknown last, ties by provider and model", () => {
    const catalogue = layered({
      llm: {
        providers: { openai: { latency_p50_ms: 900 } },
        models: { "gpt-4.1": { provider: "openai", latency_p50_ms: 300 } },
      },
    });
    const { alternatives } = decide("fastest_over_quality(mid)", both, catalogue);
    expect(alternatives.map(({ model, latency_p50_ms }) => [model, latency_p50_ms])).toEqual([
      ["gpt-4.1", 300],
      ["gpt-4o", 900],
      ["gpt-4o-mini", 900],
      ["claude-haiku-4-5-20251001", null],
      ["claude-sonnet-4-20250514", null],
    ]);
    expect(alternatives[2]).toEqual({
      provider: "openai",
      model: "gpt-4o-mini",
      tier: "mid",
      cost_per_1k: 0.00075,
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
