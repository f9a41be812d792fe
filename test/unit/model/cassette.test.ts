/** The format of recorded calls: what identifies them, what is kept of them, and what never is. */
import { describe, expect, it, test } from "vitest";
import {
  bytesOf,
  type CassetteCall,
  type CassetteHeader,
  callKey,
  cassetteLine,
  chunksOf,
  conversationOf,
  readCassette,
  requestOf,
  safeHeaders,
} from "../../../src/model/cassette.ts";
import { Redactor } from "../../../src/redact.ts";
import type { Json } from "../../../src/skill/manifest.ts";

const CANARY = "sk-canary-0123456789";
const redactor = new Redactor([CANARY]);
const utf8 = (text: string) => new TextEncoder().encode(text);
const user = (content: string) => ({ role: "user", content });

describe("the identity of a request", () => {
  it.each<[string, Json, object]>([
    [
      "Anthropic",
      { model: "m", system: "s", messages: [user("a")], max_tokens: 1 },
      { model: "m", system: "s", messages: [user("a")] },
    ],
    ["chat", { model: "m", messages: [user("a")] }, { model: "m", system: null, messages: [user("a")] }],
    [
      "Responses",
      { model: "m", instructions: "s", input: "a" },
      { model: "m", system: "s", messages: ["a"] },
    ],
    [
      "completions",
      { model: "m", prompt: "a", suffix: "b" },
      { model: "m", system: null, messages: ["a", "b"] },
    ],
    ["text", "plain", { model: null, system: null, messages: ["plain"] }],
    ["nothing", null, { model: null, system: null, messages: [] }],
  ])("%s", (_, body, conversation) => expect(conversationOf(body)).toEqual(conversation));

  it("is the hash of model, messages and system text, whatever else is asked for", async () => {
    const body = { model: "m", messages: [user("a")], system: "s" };
    const key = await callKey(body);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(await callKey({ stream: true, ...body, temperature: 1 })).toBe(key);
    const others = [{ model: "n" }, { messages: [user("b")] }, { system: "t" }];
    for (const other of others) expect(await callKey({ ...body, ...other })).not.toBe(key);
  });

  it("is the same wherever the runner keeps the folders that the texts name", async () => {
    const from = (state: string, skills: string, work: string) => ({
      model: "m",
      system: `Base directory for this skill: ${state}/runner/skills/${skills}/pdf\n\nRead '${state}/runner/skills/${skills}/pdf/a/b.md'.`,
      messages: [
        { role: "user", content: [{ type: "text", text: `in=${state}/runner/workspaces/${work}/files` }] },
      ],
    });
    const here = from("/home/ada/p/.hull/state", "0123456789abcdef", "0123456789abcdef0123456789abcdef");
    const there = from("/ci", "fedcba9876543210", "fedcba9876543210fedcba9876543210");
    expect(await callKey(there)).toBe(await callKey(here));
    const { system } = here;
    for (const other of [
      system.replace("b.md", "c.md"),
      system.replaceAll("/pdf", "/csv"),
      system.replace("Read", "/x/y Read"),
    ])
      expect(await callKey({ ...here, system: other })).not.toBe(await callKey(here));
  });
});

describe("an answer's pieces", () => {
  const kept = (...texts: (string | Uint8Array)[]) =>
    chunksOf(
      texts.map((text, at_ms) => ({ at_ms, bytes: typeof text === "string" ? utf8(text) : text })),
      redactor,
    );

  it("are kept unchanged, bytes that are no text in Base64", () => {
    const [grin = 0, ...rest] = utf8("😀");
    const pieces = ["\uFEFFdata: a\r\n", Uint8Array.of(grin), Uint8Array.from(rest), "", "end"];
    const chunks = kept(...pieces);
    expect(chunks).toEqual([
      { at_ms: 0, text: "\uFEFFdata: a\r\n" },
      { at_ms: 1, base64: "8A==" },
      { at_ms: 2, base64: "n5iA" },
      { at_ms: 3, text: "" },
      { at_ms: 4, text: "end" },
    ]);
    const bytes = Buffer.concat(chunks.map(bytesOf));
    expect(bytes.toString()).toBe("\uFEFFdata: a\r\n😀end");
  });

  it.each([
    [[`a ${CANARY} b`]],
    [[`a ${CANARY.slice(0, 7)}`, `${CANARY.slice(7)} b`]],
    [[...`a ${CANARY} b`]],
  ])("lose secrets, however they are cut: %j", (pieces) => {
    const whole = kept(...pieces)
      .map((chunk) => Buffer.from(bytesOf(chunk)).toString())
      .join("");
    expect(whole).toBe("a [redacted] b");
  });
});

test("a request is kept without secrets, in any form of theirs", () => {
  const forms = [CANARY, encodeURIComponent(`${CANARY}&`), btoa(CANARY)];
  const body = { messages: forms.map(user), [CANARY]: 1 };
  const kept = JSON.stringify(requestOf("POST", `/x?key=${CANARY}`, body, redactor));
  for (const form of forms) expect(kept).not.toContain(form.replace(/[=&]+$/, ""));
});

test("the recording keeps only those headers of an answer that name no account", () => {
  const headers: [string, string][] = [
    ["Content-Type", "text/event-stream"],
    ["Retry-After", "2"],
    ["anthropic-ratelimit-requests-remaining", "5"],
    ["anthropic-organization-id", "org"],
    ["openai-organization", "org"],
    ["set-cookie", "s=1"],
    ["content-length", "5"],
  ];
  expect(safeHeaders(headers)).toEqual({
    "content-type": "text/event-stream",
    "retry-after": "2",
    "anthropic-ratelimit-requests-remaining": "5",
  });
});

describe("a file", () => {
  const header: CassetteHeader = { hull_cassette: 1, created_at: "now", variables: ["A"], settings: {} };
  const call = (n: number): CassetteCall => ({
    kind: "model",
    n,
    provider: "openai",
    request: { method: "POST", path: "/x", body: { a: 1 } },
    key: "k",
    response: { status: 200, headers: {}, chunks: [{ at_ms: 0, text: "t" }], cut: true },
  });

  it("is read back, calls in the order in which they came", () => {
    const nothing: CassetteCall = { ...call(3), response: null };
    const text = [header, call(2), nothing, call(1)].map(cassetteLine).join("");
    expect(readCassette(`${text}\n`)).toEqual({ header, calls: [call(1), call(2), nothing] });
  });

  it.each([
    ["", /line 1: not the header of a cassette of version 1/],
    [cassetteLine(call(1)), /line 1: not the header/],
    ['{"hull_cassette":2}', /line 1: not the header/],
    [`${cassetteLine(header)}{\n`, /line 2: not JSON/],
    [`${cassetteLine(header)}{"kind":"tool"}\n`, /line 2: kind/],
  ])("%j is refused by its line", (text, fault) => {
    expect(readCassette(text)).toEqual({ faults: [expect.stringMatching(fault)] });
  });
});
