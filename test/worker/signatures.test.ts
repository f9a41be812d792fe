/** Signed skills in the Worker: uploads, cards, runs (docs/manifest.md). */

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { sha256, utf8 } from "../../src/bytes.ts";
import type { SourceFile } from "../../src/skill/bundle.ts";
import { type Signer, signFiles } from "../../src/skill/signature.ts";
import { packTar } from "../../src/skill/tar.ts";
import { Client, mockSkill } from "./served.ts";

const FILES = { "SKILL.md": mockSkill("vouched"), "references/a.md": "a" };
const files = (texts: Record<string, string>): SourceFile[] =>
  Object.entries(texts).map(([path, text]) => ({ path, mode: 0o644, bytes: utf8(text) }));

let ada: Signer & { fingerprint: string };
beforeAll(async () => {
  await new Client().publish({ other: mockSkill("other") });
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new TypeError("no key pair");
  const raw = await crypto.subtle.exportKey("raw", pair.publicKey);
  if (!(raw instanceof ArrayBuffer)) throw new TypeError("no raw key");
  const public_key = new Uint8Array(raw);
  ada = {
    public_key,
    fingerprint: await sha256(public_key),
    sign: async (message) => new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, message)),
  };
});
const signed = async (texts: Record<string, string>) => ({
  ...texts,
  "SKILL.sig": await signFiles(files(texts), ada, sha256),
});

/** A deployment with these rules. */
const deployment = (signatures: object) =>
  new Client({ HULL_ENV: "local", HULL_CONFIG: JSON.stringify({ signatures }) });
const put = (client: Client, texts: Record<string, string>) =>
  client.fetch("/_hull/skills/vouched", {
    method: "PUT",
    body: packTar(files(texts)),
    headers: { "content-type": "application/x-tar" },
  });
const call = (client: Client) =>
  client.fetch("/skills/vouched", { method: "POST", body: "hi", headers: { "content-type": "text/plain" } });
const open = new Client();
afterEach(() => open.fetch("/_hull/skills/vouched", { method: "DELETE" }));

const codes = async (response: Response): Promise<unknown> => {
  const body: { code?: string; diagnostics?: { level: string; code: string }[] } = await response.json();
  const errors = body.diagnostics?.filter(({ level }) => level === "error").map(({ code }) => code);
  return [response.status, body.code, errors];
};

describe("uploads", () => {
  it("are verified: Hull keeps what is valid, and refuses what is not", async () => {
    const whole = await signed(FILES);
    expect((await put(open, whole)).status).toBe(201);
    const card = await (await open.fetch("/skills/vouched/card")).json();
    expect(card).toMatchObject({
      signer: ada.fingerprint,
      signature: { signer: ada.fingerprint, trusted: false },
    });
    expect((await call(open)).status).toBe(200);
    expect(await codes(await put(open, { ...whole, "references/a.md": "b" }))).toEqual([
      422,
      "bundle_invalid",
      ["signature_invalid"],
    ]);
    expect((await put(open, FILES)).status).toBe(200);
    expect(await (await open.fetch("/skills/vouched/card")).json()).not.toHaveProperty("signer");
  });

  it("must be signed by a trusted signer if the deployment requires it", async () => {
    const whole = await signed(FILES);
    const nobody = deployment({ require: "uploaded" });
    expect(await codes(await put(nobody, FILES))).toEqual([422, "bundle_invalid", ["signature_missing"]]);
    expect(await codes(await put(nobody, whole))).toEqual([422, "bundle_invalid", ["signer_untrusted"]]);
    const trusting = deployment({ require: "uploaded", trusted_signers: [ada.fingerprint] });
    expect((await put(trusting, whole)).status).toBe(201);
    expect(await (await trusting.fetch("/skills/vouched/card")).json()).toMatchObject({
      signature: { trusted: true },
    });
    expect((await call(trusting)).status).toBe(200);
  });
});

describe("a skill whose signer is trusted no more", () => {
  const options = { provider: "mock", model: "mock" };
  it.each<[string, (client: Client) => Promise<Response>]>([
    ["is not called", call],
    [
      "is not run",
      (client) => client.post("/runs", { prompt: "x", options: { ...options, skill: "vouched" } }),
    ],
    [
      "is not available to a run",
      (client) => client.post("/runs", { prompt: "x", options: { ...options, skills: ["vouched"] } }),
    ],
  ])("%s", async (_, use) => {
    await put(open, await signed(FILES));
    const trusting = deployment({ require: "uploaded", trusted_signers: [ada.fingerprint] });
    expect((await use(trusting)).status).toBe(200);
    const response = await use(deployment({ require: "uploaded", trusted_signers: ["0".repeat(64)] }));
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      code: "skill_not_trusted",
      error: "UntrustedSignerError",
      detail: expect.stringContaining(ada.fingerprint),
    });
  });
});

it.each<[string, () => Promise<Record<string, string>>, string[], string]>([
  ["trusted", () => signed(FILES), ["ada"], "skill_content"],
  ["of an untrusted signer", () => signed(FILES), [], "UntrustedSignerError"],
  ["none", async () => FILES, ["ada"], "UnsignedSkillError"],
])("load_skill with require_signature, and a signature that is %s", async (_, made, trusted, answer) => {
  await put(open, await made());
  const client = deployment({ trusted_signers: trusted.map(() => ada.fingerprint) });
  const load = { name: "load_skill", arguments: { name: "vouched", require_signature: true } };
  const response = await client.post("/runs", {
    prompt: "x",
    options: { provider: "mock", skills: ["vouched"], mock: [{ tool_calls: [load] }, { text: "ok" }] },
  });
  const { transcript } = await response.json<{
    transcript: { messages: { role: string; content: unknown }[] };
  }>();
  const result = transcript.messages.find(({ role }) => role === "tool");
  expect(JSON.stringify(result)).toContain(answer);
});
