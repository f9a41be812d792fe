/** `npm start` as a process manager ends it: SIGTERM goes to npm alone, and everything below it has to end. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeTree } from "../../container/tree.ts";
import { processesBelow, REPO, shared } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const SKILL = "---\nname: slow\ndescription: Sleeps.\nrun: [sh, -c, 'sleep 90; true']\n---\nSleeps.\n";

test.each([
  ["npm start", ["start", "--"]],
  ["npm run hull -- dev --direct", ["run", "hull", "--", "dev", "--direct"]],
])("SIGTERM to %s in mid-run ends the server, the runner and the listener", async (_, words) => {
  const root = await mkdtemp(join(tmpdir(), "hull-npm-"));
  try {
    await mkdir(join(root, "skills", "slow"), { recursive: true });
    await mkdir(join(root, "tmp"));
    await writeFile(join(root, "skills", "slow", "SKILL.md"), SKILL);
    const npm = spawn("npm", [...words, root, "--port", "0", "--state", join(root, "state")], {
      cwd: REPO,
      env: { PATH: process.env.PATH, HOME: root, TMPDIR: join(root, "tmp"), ...shared(REPO) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const ended = new Promise((resolve) => npm.once("exit", resolve));
    const address = /Hull serves 1 skills? on http:\/\/localhost:(\d+)/;
    await until(
      () => output,
      (text) => address.test(text),
    );
    const url = `http://127.0.0.1:${address.exec(output)?.[1]}`;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const call = fetch(`${url}/skills/slow`, { method: "POST", body: "x" }).catch(() => null);
    await until(
      () => [...processesBelow(root).values()],
      (lines) => lines.includes("sleep 90"),
    );
    npm.kill("SIGTERM");
    expect(await ended).toBe(0);
    await call;
    await until(
      () => processesBelow(root),
      (left) => left.size === 0,
    );
    expect(await readdir(join(root, "state", "runner", "scratch")).catch(() => [])).toEqual([]);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow("fetch failed");
  } finally {
    for (const pid of processesBelow(root).keys()) process.kill(pid, "SIGKILL");
    await removeTree(root);
  }
});
