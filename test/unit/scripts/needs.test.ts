/** What skills use and this machine, or an image, lacks: hull doctor --skills and hull validate. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { needsOf } from "../../../scripts/needs/needs.ts";
import { hullHere } from "../../support/hull-here.ts";
import { folder } from "./folder.ts";

const BODY = `Read it:

\`\`\`bash
# pdfseparate is for later
cd "$(dirname x)" && pdftotext -layout in.pdf - | jq . > out; LANG=C qpdf --check "a; evil" 'b | worse'
python scripts/fill.py && ./scripts/own.sh; report_all now
for f in *; do tesseract $f out; done
cat <<'END'
notacommand here
END
soffice --headless \\
  --convert-to pdf x.docx
\`\`\`

\`\`\`python
from pypdf import PdfReader
import os, pdfplumber as p
\`\`\`

\`\`\`js
const { Document } = require("docx"); const fs = require("fs");
\`\`\`

Inline \`rm\` and prose: import nothing, from nowhere.
`;

test("programs and packages are read from fences and scripts, without the skill's own", () => {
  const files = [
    {
      path: "scripts/fill.py",
      text: 'import helper, subprocess\nfrom PIL import Image\nsubprocess.run(["pdftk", a])\ncommand = [\n    "xvfb-run",\n    "-a"]\nwords = ["none", "of these"]\n',
    },
    { path: "scripts/soffice.py", text: "" },
    { path: "scripts/helper.py", text: '"""Tells what to\nimport from elsewhere at the start.\n"""\n' },
    { path: "scripts/own.sh", text: "#!/bin/bash\nset -e\nffmpeg -i a b\n" },
    {
      path: "scripts/cases.sh",
      text: `# don't stop here
check_it() { sox "$1"; }
function report_all() { true; }
check_it a
node -e "
const line = 1;
stop_there(line)
" && case $x in one|two) exiftool a;; esac
width = 80
left=$((end_at - (now + 1)))
latest="$(yq -r "it's $(magick identify "a b") # not a comment" "$file") $(node -e "
print_it(1)
")"
from somewhere import nothing
for ((n = 0; n < 3; n++)); do ((sum += n)); done
if [[ "$kind" =~ ^(feat|fix)$ ]]; then ((count++)); fi
`,
    },
    {
      path: "scripts/x.mjs",
      text: 'import p from "pptxgenjs/dist/x.js";\nimport "node:fs";\nimport "./y.mjs";\nimport { execSync } from "node:child_process";\nexecSync("mmdc -i a"); /a/.exec("b c");\n',
    },
  ];
  expect(needsOf(BODY, files).map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    ...["exiftool", "ffmpeg", "jq", "magick", "mmdc", "node", "pdftk", "pdftotext"].map(
      (name) => `command ${name}`,
    ),
    ...["python", "qpdf", "soffice", "sox", "tesseract", "xvfb-run", "yq"].map((name) => `command ${name}`),
    "node docx",
    "node pptxgenjs",
    ...["PIL", "os", "pdfplumber", "pypdf", "subprocess"].map((name) => `python ${name}`),
  ]);
});

test("commands in the text and of hooks count", () => {
  const text = "State: !`git status | fold`\n```!\ngh pr view $0\n```\n";
  const hooks = ["jq -r .tool_input | shellcheck - || exit 2", 'echo "yq"'];
  expect(needsOf(text, [], hooks).map(({ name }) => name)).toEqual(["gh", "git", "jq", "shellcheck"]);
});

test("a line of a script that looks like many comparisons takes no long time", () => {
  expect(needsOf("", [{ path: "a.sh", text: `${"=~ ".repeat(30_000)}\njq .` }])).toMatchObject([
    { name: "jq" },
  ]);
});

test("hull doctor --skills names missing programs and the image that has them; hull validate warns", async () => {
  const script = "import json, no_such_module_here\nfrom pypdf import PdfReader\n";
  const dir = folder({
    "skills/pdf/SKILL.md":
      "---\nname: pdf\ndescription: Use when asked.\nhooks: {Stop: [{command: nosuchhook}]}\n---\n```bash\nnosuchprogram x\nbash y\n```\n",
    "skills/pdf/scripts/a.py": script,
    "skills/talk/SKILL.md": "---\nname: talk\ndescription: Use when asked.\n---\nTalk.\n",
  });
  const hull = (...args: string[]) => hullHere(args, dir);
  const { code, out } = await hull("doctor", "--skills", "--json");
  expect(code).toBe(0);
  const { image, skills } = JSON.parse(out);
  expect([image, skills.map(({ skill }: { skill: string }) => skill)]).toEqual(["slim", ["pdf"]]);
  const names = (list: { name: string }[]) => list.map(({ name }) => name);
  expect(names(skills[0].uses)).toEqual(["nosuchhook", "nosuchprogram", "no_such_module_here", "pypdf"]);
  expect(names(skills[0].missing_in_image)).toEqual([
    "nosuchhook",
    "nosuchprogram",
    "no_such_module_here",
    "pypdf",
  ]);
  expect(names(skills[0].missing_here)).toEqual(
    expect.arrayContaining(["nosuchprogram", "no_such_module_here"]),
  );
  expect(skills[0].has_all).toBeNull();
  const shown = await hull("doctor", "--skills");
  expect(shown.out).toMatch(
    /image slim lacks? nosuchhook, nosuchprogram.*\.\n *The image office has these except nosuchhook, nosuchprogram, no_such_module_here \(Python\)\./,
  );
  const validated = await hull("validate", join(dir, "skills"));
  expect(validated.code).toBe(0);
  expect(validated.err).toMatch(
    /pdf\/SKILL\.md: warning: This machine (?:and the image slim lack|lacks) nosuchhook, nosuchprogram.*\[needs_missing\]/,
  );
  expect(validated.err).toContain(
    'Install them on this machine. For deployments set image = "office" below [workspace_tools] in hull.toml.',
  );
  expect(validated.err).toContain("For what no image has, a deployment needs an image of your own");
});
