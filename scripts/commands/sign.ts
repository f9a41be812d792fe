/** `hull sign`: signs the folder of a skill, or makes a key to sign with (docs/manifest.md). */

import { join, relative, resolve } from "node:path";
import { counted } from "../../src/plural.ts";
import { SIGNATURE_FILE } from "../../src/skill/file-text.ts";
import { signFiles } from "../../src/skill/signature.ts";
import { printFindings, readWhole, skillAt } from "../build/one-skill.ts";
import { nodeHash } from "../build/skill.ts";
import { defineCommand, EXIT, usageError, VALUE } from "../command.ts";
import { replaceFile } from "../replace-file.ts";
import { makeSigningKey, readSigningKey } from "../signing-key.ts";

export const command = defineCommand({
  name: "sign",
  summary: "Sign a skill, so that nobody can change it unnoticed",
  usage: `
Usage: hull sign <dir> --key FILE
       hull sign --new-key FILE
       hull sign --key FILE

  dir             the folder of the skill, which holds its SKILL.md
  --key FILE      an Ed25519 private key as PEM; without a folder, prints its fingerprint
  --new-key FILE  makes such a key in a new file

Writes SKILL.sig next to SKILL.md: a signature over all bundled files. hull validate, hull build and uploads check it. A change
of any file needs a new signature. Like hull validate, this command runs a skill.ts to read its tools.
`,
  flags: { key: VALUE, "new-key": VALUE },
  words: 1,
  async run({ values, positionals }) {
    const [given] = positionals;
    const made = values["new-key"];
    if ((made === undefined) === (values.key === undefined) || (made !== undefined && given !== undefined)) {
      const hint = "hull sign <dir> --key <pem>, or hull sign --new-key <pem>";
      throw usageError("bad_arguments", "The command needs a key.", hint);
    }
    const key = made === undefined ? await readSigningKey(values.key ?? "") : await makeSigningKey(made);
    if (given === undefined) {
      process.stdout.write(`${key.fingerprint}\n`);
      return EXIT.ok;
    }
    const root = resolve(given);
    const skill = await skillAt(root);
    const { single } = skill.folder;
    if (single !== undefined) {
      const message = `${root} is one of the ${single} of a plugin, and has no place for a signature.`;
      const hint = "Make a skill of it with hull pack, and sign the folder in that file.";
      throw usageError("not_a_folder", message, hint);
    }
    const { files, diagnostics } = await readWhole(skill, null);
    printFindings(skill, diagnostics);
    if (diagnostics.some(({ level }) => level === "error")) {
      process.stderr.write("Nothing was signed: the skill has errors.\n");
      return EXIT.failed;
    }
    const signed = files.filter(({ path }) => path !== SIGNATURE_FILE);
    const path = join(root, SIGNATURE_FILE);
    await replaceFile(path, await signFiles(signed, key, nodeHash));
    const count = counted(signed.length, "file");
    process.stdout.write(`${relative(process.cwd(), path)}: ${count}, signed by ${key.fingerprint}\n`);
    return EXIT.ok;
  },
});
