/** What `npm run check` says of the runner's programs in Python. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { folder } from "./folder.ts";

const LINTER = fileURLToPath(new URL("../../../scripts/lint-python.ts", import.meta.url));

/** The linter's lines about a checkout with these files. */
function lint(files: Record<string, string>): string[] {
  const { stderr } = spawnSync(process.execPath, ["--liftoff-only", LINTER, folder(files)], {
    encoding: "utf8",
  });
  return stderr.split("\n").slice(0, -1);
}

test("files that the runner joins know each other's names, others do not; all of them are read", () => {
  const found = lint({
    "container/run.ts":
      'const A = programSource("first.py", "second.py");\nconst B = programSource(\n  "third.py",\n);\n',
    "container/programs/first.py": "import os\n\ndef said():\n    return os.getpid()\n",
    "container/programs/second.py":
      "import os\nprint(said(), os.getcwd(), WARM)\ndef said():\n    return 1\n",
    "container/programs/third.py": "print(said())\n",
    "container/programs/fourth.py": "",
    "skills/a/count.py": "import json\nprint(1\n",
  });
  expect(found).toEqual([
    "container/programs/third.py:1 F821 Undefined name `said`",
    "skills/a/count.py:3 invalid-syntax unexpected EOF while parsing",
    "container/programs/fourth.py: no program has it",
  ]);
});
