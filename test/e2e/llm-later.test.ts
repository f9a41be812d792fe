/** Model calls that outlive their connection. */
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const { hull, fake } = await commonHull({
  "a/SKILL.md": "---\nname: a\ndescription: Test.\nprovider: mock\n---\nHi.\n",
});

const OPENAI = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
async function ok(response: Response): Promise<Record<string, unknown>> {
  const body = await json(response);
  expect([response.status, body.detail]).toEqual([200, undefined]);
  return body;
}
const problem = async (response: Response) => {
  const body = await json(response);
  return { status: response.status, code: body.code };
};

describe("later, and once", () => {
  const headers = (key: string, more: Record<string, string> = {}) => ({ "idempotency-key": key, ...more });
  const keyed = (key: string, prompt: string, more: Record<string, string> = {}) =>
    hull.post("/llm/call", { prompt, options: OPENAI }, headers(key, more));

  test("the same key and body is one call with one answer; another body is refused", async () => {
    fake.script([{ text: "first", delay_ms: 50 }, { text: "second" }]);
    const [a, b] = await Promise.all([keyed("k1", "x"), keyed("k1", "x")]);
    const texts = [(await ok(a)).text, (await ok(b)).text, (await ok(await keyed("k1", "x"))).text];
    expect([texts, fake.requests.length]).toEqual([["first", "first", "first"], 1]);
    expect((await problem(await keyed("k1", "y"))).code).toBe("idempotency_key_reused");
  });

  test("respond-async answers 202 at once, the result later", async () => {
    fake.script([{ text: "in time", delay_ms: 50 }]);
    const response = await keyed("k2", "x", { prefer: "respond-async" });
    expect(response.status).toBe(202);
    const location = response.headers.get("location") ?? "";
    await until(
      async () => (await json(await hull.call(location, undefined, { method: "GET" }))).status,
      (status) => status === "done",
    );
    const result = await ok(await hull.call(`${location}/result`, undefined, { method: "GET" }));
    expect(result.text).toBe("in time");
  });

  test("a provider's failure has the same status in the first answer and in the repeated one", async () => {
    fake.script(() => ({ status: 400, body: { error: { message: "maximum context length" } } }));
    const first = await problem(await keyed("k3", "x"));
    expect([first.status, first.code]).toEqual([400, "context_overflow"]);
    expect((await problem(await keyed("k3", "x"))).code).toBe("context_overflow");
  });
});

describe("options.mock", () => {
  test("answers for any provider, without a key, in order; then the default, never a real call", async () => {
    const mock = [
      { error: { category: "rate_limit", retry_after_ms: 5 } },
      { text: "mocked", output_tokens: 7 },
    ];
    const result = await ok(
      await hull.post("/llm/call", { prompt: "hi there", options: { provider: "xai", mock } }),
    );
    expect(result).toMatchObject({ text: "mocked", output_tokens: 7, provider: "xai" });
    expect(result.mock_calls).toHaveLength(2);
    const echo = await ok(
      await hull.post("/llm/call", { prompt: "hi there", options: { ...OPENAI, mock: [] } }),
    );
    expect([String(echo.text).includes("hi there"), fake.requests.length]).toEqual([true, 0]);
    const wrong = await hull.post("/llm/call", {
      prompt: "x",
      options: { mock: [{ error: { category: "bad luck" } }] },
    });
    expect([wrong.status, (await wrong.text()).includes("bad luck")]).toEqual([422, true]);
  });

  test("scripts a whole run", async () => {
    const mock = [{ text: "working" }, { text: "ok ##DONE##" }];
    const result = await ok(
      await hull.post("/runs", { prompt: "go", options: { ...OPENAI, persistent: true, mock } }),
    );
    expect([result.status, result.iterations]).toEqual(["done", 2]);
  });
});
