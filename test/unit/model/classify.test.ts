/** How failures of providers are classified: each category by status, code and message. */
import { expect, test } from "vitest";
import { failureClassOf } from "../../../src/errors/failure-class.ts";
import { ProviderNotConfigured } from "../../../src/errors/provider.ts";
import { ClientClosedRequest } from "../../../src/errors/run.ts";
import { classify } from "../../../src/model/classify.ts";

const ROWS: [reason: string, kind: string, category: string, faults: [number | null, string][]][] = [
  [
    "context_overflow",
    "terminal",
    "generic",
    [
      [400, "This model's Maximum Context Length is 8192 tokens"],
      [429, "context length"],
      [503, "CONTEXT_LENGTH_EXCEEDED"],
      [null, "context_overflow"],
      [400, "prompt is too long: 200000 tokens > 199999 maximum"],
      [400, "prompt_tokens_exceeded"],
      [413, "it exceeds the maximum"],
      [401, "the context was exceeded"],
      [400, "max_tokens exceeds what is left"],
      // As xAI, Bedrock, Moonshot, DashScope, Perplexity, GitHub Models, Z.ai, Groq and TGI say it.
      [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
      [400, "Input is too long for requested model."],
      [400, "Invalid request: Your request exceeded model token limit: 131072"],
      [400, "Range of input length should be [1, 30720]"],
      [400, "too_many_prompt_tokens"],
      [413, "tokens_limit_reached"],
      [400, "Prompt exceeds max length"],
      [400, "Please reduce the length of the messages or completion."],
      [422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens"],
      [422, "`inputs` must have less than 1024 tokens. Given: 2000"],
    ],
  ],
  [
    "content_policy",
    "terminal",
    "generic",
    [
      "content_policy",
      "Content Policy",
      "safety policy",
      "moderation",
      "responsible_ai_policy",
      "blocked by policy",
    ].map((words) => [400, words]),
  ],
  [
    "auth_failure",
    "terminal",
    "auth",
    [
      [401, ""],
      [403, "rate_limit"],
      [400, "invalid_api_key"],
      [400, "API key not valid. Please pass a valid API key."],
      [400, "Incorrect API key provided."],
      [400, "authentication_error"],
      [null, "Unauthorized"],
      [500, "forbidden"],
    ],
  ],
  [
    "rate_limit",
    "transient",
    "rate_limit",
    [
      [429, ""],
      [429, "timed out"],
      [400, "rate_limit"],
      [null, "Rate limit exceeded"],
      [null, "Too Many Requests"],
      [500, "insufficient_quota"],
      [400, "billing_hard_limit_reached"],
    ],
  ],
  [
    "timeout",
    "transient",
    "timeout",
    [
      [408, ""],
      [504, ""],
      [522, ""],
      [524, ""],
      [500, "timeout"],
      [400, "it timed out"],
    ],
  ],
  [
    "model_unavailable",
    "terminal",
    "not_found",
    [
      [404, ""],
      [410, ""],
      [400, "model_not_found"],
      [400, "not_found_error"],
      [500, "model not found"],
      [503, "model is unavailable"],
      [503, "model unavailable"],
    ],
  ],
  [
    "server_error",
    "transient",
    "overloaded",
    [
      [503, ""],
      [529, ""],
      [null, "overloaded_error"],
    ],
  ],
  [
    "server_error",
    "transient",
    "server_error",
    [
      [500, ""],
      [502, ""],
      [400, "api_error"],
      [null, "server_error"],
      [null, "<h1>502 Bad Gateway</h1>"],
      [null, "Service Unavailable"],
    ],
  ],
  [
    "invalid_request",
    "terminal",
    "generic",
    [
      // As vLLM says it.
      [
        400,
        "[{'type': 'extra_forbidden', 'loc': ('body', 'store'), 'msg': 'Extra inputs are not permitted'}]",
      ],
      [400, ""],
      [422, "invalid_request_error"],
      [null, "Bad Request"],
    ],
  ],
  [
    "unknown",
    "terminal",
    "generic",
    [
      [402, "pay"],
      [409, ""],
      [418, ""],
      [501, "no"],
      [null, "<html>"],
    ],
  ],
];

test.each(ROWS)("%s is %s, %s", (reason, kind, category, faults) => {
  for (const [status, body] of faults) {
    expect(classify({ status, body }), `${status} ${body}`).toMatchObject({ reason, kind, category });
  }
});

test("offending tokens are the largest number of an overflow, and of nothing else", () => {
  const body = "maximum context length is 128,000 tokens, you asked for 131072 (gpt-4o)";
  expect(classify({ status: 400, body }).offending_tokens).toBe(131_072);
  expect(classify({ status: 400, body: "context length" })).not.toHaveProperty("offending_tokens");
  expect(classify({ status: 429, body: "limit 500" })).not.toHaveProperty("offending_tokens");
});

test("errors without a class of their own have one by their code", () => {
  const missing = new ProviderNotConfigured({ provider: "p", variable: "P_API_KEY" });
  expect(failureClassOf(missing.data)).toMatchObject({ reason: "auth_failure", category: "auth" });
  expect(failureClassOf(new ClientClosedRequest({}).data).category).toBe("cancelled");
  expect(failureClassOf({ ...missing.data, code: "whatever" }).category).toBe("generic");
});
