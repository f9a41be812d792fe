/** What watch mode notices of folders that are links. */
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";
import { watchRoots } from "../../../scripts/dev/watch.ts";
import { until } from "../../support/runner.ts";
import { folder } from "./folder.ts";

/** A root with the skill `linked`, and copies of it next to the root. */
async function watched() {
  const dir = folder({ "skills/linked/a": "0", "kept/one/a": "1", "kept/two/a": "2" });
  let changes = 0;
  const stop = await watchRoots([join(dir, "skills")], join(dir, "skills/state"), () => changes++);
  onTestFinished(stop);
  const at = (path: string): string => join(dir, path);
  /** Repeats a change until it is noticed, since a watcher may be about to open again. */
  const notices = async (path: string): Promise<void> => {
    let n = 0;
    const before = changes;
    await until(
      async () => {
        writeFileSync(at(path), String(n++));
        return changes > before;
      },
      (seen) => seen,
    );
  };
  /** Makes a change, and waits until it is noticed. */
  const after = async (change: () => void): Promise<void> => {
    const before = changes;
    change();
    await until(
      () => changes,
      (now) => now > before,
    );
  };
  return { at, notices, after };
}

test("a folder that a link replaces, that link's other target, and a folder again", async () => {
  const { at, notices, after } = await watched();
  const link = at("skills/linked");
  await after(() => {
    renameSync(link, at("own"));
    symlinkSync(at("kept/one"), link);
  });
  await notices("kept/one/a");
  await after(() => {
    unlinkSync(link);
    symlinkSync("../kept/two", link);
  });
  await notices("kept/two/a");
  await after(() => {
    unlinkSync(link);
    renameSync(at("own"), link);
  });
  await notices("skills/linked/a");
});

test("a link with a target that is removed and written again", async () => {
  const { at, notices, after } = await watched();
  await after(() => {
    rmSync(at("skills/linked"), { recursive: true });
    symlinkSync("../kept/one", at("skills/linked"));
  });
  await notices("kept/one/a");
  await after(() => rmSync(at("kept/one"), { recursive: true }));
  await after(() => mkdirSync(at("kept/one")));
  await notices("kept/one/a");
});
