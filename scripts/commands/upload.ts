/** `hull upload`: uploads one skill to a running Hull, for one tenant. */
import { resolve } from "node:path";
import { readSkillGraph } from "../../src/engine/workflow/skill-file.ts";
import { assembleSkill } from "../../src/skill/assemble.ts";
import { blocksServing } from "../../src/skill/blocking-findings.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { packTar } from "../../src/skill/tar.ts";
import { AdminClient, SERVER_FLAGS, target } from "../admin-client.ts";
import { printFindings, readWhole, skillAt } from "../build/one-skill.ts";
import { placeOf } from "../build/skill-folder.ts";
import { defineCommand, EXIT, SWITCH, usageError } from "../command.ts";
import { projectProviders } from "../models.ts";

export const command = defineCommand({
  name: "upload",
  summary: "Upload one skill to a running Hull, for one tenant",
  usage: `
Usage: hull upload <dir> [--url URL] [--key KEY] [--json]

  dir        the folder of the skill, which holds its SKILL.md, or the file of a plugin's command or agent
  --url URL  the Hull to upload to, e.g. https://hull.example.workers.dev (default: $HULL_URL, then the hull dev of this project)
  --key KEY  an API key with the scope publish (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --json     print the server's answer, with all findings in warnings; {diagnostics} if the skill has errors

Hull serves the skill at once, to the tenant of the key only. To replace it, upload the same slug again; hull remove removes it.
docs/security.md lists the limits of an uploaded skill. Like hull validate, this command runs a skill.ts to read its tools.
`,
  flags: { ...SERVER_FLAGS, json: SWITCH },
  words: 1,
  async run({ values, positionals }) {
    if (positionals[0] === undefined) {
      throw usageError("bad_arguments", "Upload which folder?", "hull upload <dir> --url https://…");
    }
    const { url, key } = await target(values, "hull upload <dir> --url https://…");
    const root = resolve(positionals[0]);
    const skill = await skillAt(root);
    const { folder, project } = skill;
    const { files, diagnostics, locations } = await readWhole(skill, project.config.signatures);
    // Already checked as an upload here; the server adds the key's tenant to the record.
    const providers = projectProviders(project.models, []);
    const location = placeOf(folder);
    const here = { ...location, providers, workflows: readSkillGraph, uploadedBy: "me" };
    const { skill: assembled, diagnostics: found } = await assembleSkill(files, here);
    const all = [...diagnostics, ...found];
    const json = values.json === true;
    const base = location.file.slice(0, -"SKILL.md".length);
    const pointed = (found: Diagnostic): Diagnostic => locations?.pointed(found, base) ?? found;
    if (assembled === null || all.some(blocksServing)) {
      const shown = all.map(pointed);
      if (json) process.stdout.write(`${JSON.stringify({ diagnostics: shown })}\n`);
      else printFindings(skill, shown);
      process.stderr.write("Nothing was uploaded: the skill has errors.\n");
      return EXIT.failed;
    }
    if (!json) printFindings(skill, diagnostics);
    const { slug, method, route } = assembled.card;
    const server = new AdminClient(url, key);
    const saved = await server.ask(
      "PUT /_hull/skills/{slug}",
      { path: { slug } },
      { tar: packTar(files), needs: ["warnings", "digest"] },
    );
    // The server knows no folder above the skill's.
    const warnings = saved.warnings.map((finding) => pointed({ ...finding, file: `${base}${finding.file}` }));
    if (json) {
      process.stdout.write(`${JSON.stringify({ ...saved, warnings: [...diagnostics, ...warnings] })}\n`);
      return EXIT.ok;
    }
    printFindings(skill, warnings);
    const line = `Uploaded ${slug} as ${saved.digest.slice(0, 12)}: ${method} ${new URL(route, url)}`;
    process.stdout.write(`${line}\n`);
    return EXIT.ok;
  },
});
