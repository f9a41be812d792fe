/** Handlers of Skill Tools as processes, against their interpreter started bare on the same file. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInRunner } from "../../src/tool/handler/process.ts";
import { handlerCall, processDeps } from "../support/handler-call.ts";
import { bundle, startRunner } from "../support/runner.ts";
import { compare } from "./load.ts";
import { ms, perSecond, type Row, row, times } from "./row.ts";
import { spawnAndWait } from "./script.ts";

const PYTHON = `import json, sys

def handler(args):
    return {"count": len(args.get("text", "").split())}

if __name__ == "__main__":
    args = json.loads(sys.argv[1]) if len(sys.argv) > 1 else json.load(sys.stdin)
    print(json.dumps(handler(args)))
`;
const SHELL = "read -r line\necho '{\"count\": 3}'\n";
const NODE = `import { argv } from "node:process";
export default async function handler(args) { return { count: args.text.split(/\\s+/).length }; }
if (argv[2] === "bare") console.log(JSON.stringify(await handler(JSON.parse(argv[3]))));
`;
const ARGS = { text: "a b c" };

/** @param rounds calls a block; bare interpreters start slowly, and run only a part of them */
export async function handlerRows(rounds: number): Promise<Row[]> {
  const texts = { "handler.py": PYTHON, "handler.sh": SHELL, "handler.mjs": NODE };
  const dir = mkdtempSync(join(tmpdir(), "hull-bench-handlers-"));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(dir, name), text);
  const files = await bundle(texts);
  const runner = await startRunner();
  const args = JSON.stringify(ARGS);
  // The interpreter itself: a version manager's shim would cost the floor as much again.
  const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"]).toString().trim();
  const bare: Record<string, string[]> = {
    "handler.py": [python, "handler.py", args],
    "handler.sh": ["bash", "handler.sh"],
    "handler.mjs": [process.execPath, "handler.mjs", "bare", args],
  };
  const once = async (script: string): Promise<void> => {
    const { fault, value } = await runInRunner(handlerCall(files, script, ARGS), processDeps(runner, files));
    if (fault !== null) throw new RangeError(`${script} failed: ${JSON.stringify(value)}`);
  };
  try {
    const rows: Row[] = [];
    for (const [script, limit] of [
      ["handler.py", 0.4],
      ["handler.sh", Number.POSITIVE_INFINITY],
      ["handler.mjs", Number.POSITIVE_INFINITY],
    ] as const) {
      const floor = (): Promise<void> => spawnAndWait(bare[script] ?? [], dir);
      const ours = (): Promise<void> => once(script);
      const single = await compare(floor, ours, 1, Math.ceil(rounds / 5));
      const ratio = single.ours.p50 / single.floor.p50;
      rows.push(row(`${script}, p50`, ms(single.floor.p50), ms(single.ours.p50), ratio, limit, times));
      const four = await compare(floor, ours, 4, Math.ceil(rounds / 3));
      const share = four.floor.per_second / four.ours.per_second;
      const figures = [perSecond(four.floor.per_second), perSecond(four.ours.per_second)] as const;
      // At least three times as many: at most a third of the time.
      const most = script === "handler.py" ? 1 / 3 : limit;
      rows.push(row(`${script}, time of a call at 4 at once`, ...figures, share, most, times));
    }
    return rows;
  } finally {
    await runner.stop();
    rmSync(dir, { recursive: true });
  }
}
