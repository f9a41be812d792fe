/** `hull sign`, and what validate and build make of its signatures (docs/manifest.md). */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeSigningKey } from "../../../scripts/signing-key.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder, put, skillText } from "./folder.ts";

const hull = (...args: string[]) => hullHere(args);

/** Each of these tests starts processes one after the other. */
const PATIENT = { timeout: 120_000 };

let project: string;
let skill: string;
let key: string;
let fingerprint: string;
beforeEach(async () => {
  project = folder({
    "skills/a/SKILL.md": skillText("A"),
    "skills/a/references/x.md": "x",
    "skills/a/evals/e.md": "e",
    "skills/a/app.log": "left out",
    "skills/.hullignore": "*.log\n",
  });
  skill = join(project, "skills/a");
  key = join(project, "key.pem");
  ({ fingerprint } = await makeSigningKey(key));
});
const configure = (text: string) => writeFileSync(join(project, "hull.toml"), text);
test(
  "only its owner may read a key; it is not overwritten, and its fingerprint is printed",
  PATIENT,
  async () => {
    key = join(project, "other.pem");
    const made = await hull("sign", "--new-key", key);
    expect(made).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^[0-9a-f]{64}\n$/) });
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(await hull("sign", "--key", key)).toMatchObject({ code: 0, out: made.out });
    expect((await hull("sign", "--new-key", key)).code).toBe(1);
  },
);

test.each<[string, () => string[], number, RegExp]>([
  ["no key", () => ["sign", skill], 2, /needs a key/],
  ["a key that is not there", () => ["sign", skill, "--key", "/no/key.pem"], 3, /no file \/no\/key\.pem/],
  [
    "a file that is no key",
    () => ["sign", skill, "--key", join(skill, "SKILL.md")],
    2,
    /no Ed25519 private key/,
  ],
  [
    "a folder of skills",
    () => ["sign", join(project, "skills"), "--key", key],
    3,
    /no folder .* with a SKILL\.md/,
  ],
])("%s is refused", async (_, args, code, message) => {
  const { code: exit, err } = await hull(...args());
  expect(exit).toBe(code);
  expect(err).toMatch(message);
});

test("signed, validated and built; a change of any file is an error that names it", PATIENT, async () => {
  const signed = await hull("sign", skill, "--key", key);
  expect(signed.out).toContain(`3 files, signed by ${fingerprint}`);
  expect((await hull("validate", project)).err).toContain(`valid signature of ${fingerprint}`);
  const built = await hull("build", project, "--json");
  expect(JSON.parse(built.out)).toMatchObject({ skills: [{ slug: "a", signer: fingerprint }] });
  put(skill, "references/x.md", "y");
  put(skill, "new.md", "n");
  for (const command of ["validate", "build"]) {
    const { code, err } = await hull(command, project);
    expect([command, code]).toEqual([command, 1]);
    expect(err).toMatch(
      /a\/SKILL\.sig: error: .*references\/x\.md was changed since, new\.md was added since\. \[signature_invalid\]/,
    );
  }
  rmSync(join(skill, "SKILL.sig"));
  expect((await hull("validate", project)).code).toBe(0);
});

test("a skill that must be signed is built only with a trusted signature", PATIENT, async () => {
  configure('[signatures]\nrequire = "all"\n');
  expect(await hull("build", project)).toMatchObject({
    code: 1,
    err: expect.stringContaining("signature_missing"),
  });
  await hull("sign", skill, "--key", key);
  expect(await hull("build", project)).toMatchObject({
    code: 1,
    err: expect.stringContaining("signer_untrusted"),
  });
  configure(`[signatures]\nrequire = "all"\ntrusted_signers = ["${fingerprint}"]\n`);
  expect(await hull("build", project)).toMatchObject({ code: 0 });
  configure('[signatures]\ntrusted_signers = ["abc"]\n');
  expect(await hull("build", project)).toMatchObject({
    code: 2,
    err: expect.stringContaining("64 hex digits"),
  });
});

test("the skill itself may require a signature, and name the signers", PATIENT, async () => {
  put(
    skill,
    "SKILL.md",
    skillText("A", `mode: llm\nrequire-signature: true\ntrusted-signers: [${fingerprint}]`),
  );
  expect(await hull("validate", project)).toMatchObject({
    code: 1,
    err: expect.stringContaining("signature_missing"),
  });
  await hull("sign", skill, "--key", key);
  expect((await hull("validate", project)).code).toBe(0);
  put(skill, "SKILL.md", skillText("A", "mode: llm\ntrusted_signers: [nobody]"));
  expect(await hull("validate", project)).toMatchObject({
    code: 1,
    err: expect.stringContaining("signer_fingerprint"),
  });
});

test(
  "a signed skill is packed whole, so that its signature holds where it is installed",
  PATIENT,
  async () => {
    const count = async () => (await hull("pack", skill, "--out", project)).out;
    expect(await count()).toContain("2 files");
    await hull("sign", skill, "--key", key);
    expect(await count()).toContain("4 files");
  },
);
