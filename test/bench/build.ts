/** Building a folder of many skills from nothing. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRoots } from "../../scripts/build/build.ts";
import { writeBuild } from "../../scripts/build/write.ts";
import { type Row, row } from "./row.ts";

const seconds = (value: number): string => `${value.toFixed(2)} s`;

export async function buildRow(count: number): Promise<Row> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bench-build-"));
  try {
    for (let i = 0; i < count; i++) {
      const skill = join(dir, "skills", `skill-${i}`);
      await mkdir(skill, { recursive: true });
      const manifest = `---\nname: Skill ${i}\ndescription: Number ${i}\nrun: [bash, run.sh]\n---\nDocumentation of ${i}.\n`;
      await writeFile(join(skill, "SKILL.md"), manifest);
      await writeFile(join(skill, "run.sh"), `#!/usr/bin/env bash\necho ${i}\n`);
      await writeFile(join(skill, "data.json"), JSON.stringify({ i }));
    }
    const begun = performance.now();
    const result = await buildRoots([join(dir, "skills")], { projectDir: dir });
    await writeBuild(join(dir, "out"), result, new Date());
    const took = (performance.now() - begun) / 1000;
    if (result.skills.length !== count)
      throw new RangeError(`${result.skills.length} of ${count} skills were built`);
    return row(`build of ${count} skills`, "", seconds(took), took, 5, seconds);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
