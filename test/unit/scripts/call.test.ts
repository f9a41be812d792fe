/** What `hull call` sends, by the card of the skill. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { callRequest, type SkillAddress } from "../../../scripts/call/request.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";
import { folder } from "./folder.ts";

const POST: SkillAddress = { route: "/skills/x", method: "POST", input: "text", output: "text" };
const FILE: SkillAddress = { ...POST, input: "file" };
const BYTES = Buffer.from([0xff, 0x00, 0xfe]);

/** Type and bytes of the body for `--input TEXT`. */
async function sent(card: SkillAddress, text: string): Promise<[string | undefined, string]> {
  const { init } = await callRequest("http://localhost:3000", card, { text, files: [] });
  if (!(init.body instanceof Uint8Array)) return [undefined, ""];
  return [init.headers?.["content-type"], Buffer.from(init.body).toString("latin1")];
}

test.each<[string, JsonObject, string, string]>([
  ["an object", { type: "object" }, '{"n": 12345678901234567890}', '{"input":{"n": 12345678901234567890}}'],
  ["a number", { type: "integer" }, "5", '{"input":5}'],
  ["a text that is no JSON", {}, "five", '{"input":"five"}'],
  ["a text where the schema takes texts alone", { type: "string" }, "5", '{"input":"5"}'],
  ["a text that would add a member", {}, '1,"files":[]', '{"input":"1,\\"files\\":[]"}'],
])("a skill with input_schema gets JSON: %s", async (_, input_schema, text, body) => {
  expect(await sent({ ...POST, input_schema }, text)).toEqual(["application/json", body]);
});

test("content that is no text reaches the skill byte for byte, with a type that it takes", async () => {
  const path = join(folder({ content: BYTES }), "content");
  const bytes = BYTES.toString("latin1");
  expect(await sent(FILE, `@${path}`)).toEqual(["application/octet-stream", bytes]);
  expect(await sent({ ...FILE, inputMime: ["image/png"] }, `@${path}`)).toEqual(["image/png", bytes]);
  expect(await sent({ ...FILE, inputMime: ["image/*"] }, `@${path}`)).toEqual([
    "application/octet-stream",
    bytes,
  ]);
  expect(await sent(FILE, "a text")).toEqual(["text/plain", "a text"]);
  expect(await sent(POST, `@${path}`)).toEqual(["text/plain", bytes]);
  for (const card of [
    { ...POST, method: "GET" },
    { ...POST, input_schema: {} },
  ])
    await expect(sent(card, `@${path}`)).rejects.toMatchObject({ exit: 2, code: "bad_encoding" });
});
