/** Commands next to a running `hull dev` find its address and the key of its project by themselves. */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json, runHull, startHullDev } from "../support/hull-dev.ts";

test("sessions, logs, keys and publish need no --url next to hull dev, and say so once it is gone", async () => {
  const hull = await startHullDev({
    args: ["--direct", "--state", ".hull/state"],
    project: {
      "hull.toml": 'public_skills = ["hi", "gone"]\n',
      ".env": "HULL_ADMIN_KEY=admin-key-of-this-test\n",
    },
    skills: { "hi/SKILL.md": "---\nname: hi\ndescription: Says hi.\nrun: [echo, hi]\n---\nhi\n" },
  });
  const cli = (...args: string[]) => runHull(args, { cwd: join(hull.root, "skills"), env: { HULL_URL: "" } });
  try {
    expect(hull.output()).toContain("Hull serves 1 skill on");
    const key = { authorization: "Bearer admin-key-of-this-test" };
    const made = await hull.post("/sessions", { id: "desk" }, key);
    expect((await json(made)).id).toBe("desk");
    expect((await cli("sessions", "ls")).output).toMatch(/^desk /m);
    expect((await cli("keys", "list", "--json")).code).toBe(0);
    // No server is named, so none can lack a login.
    expect((await cli("doctor")).output).not.toMatch(/\bmcp\b/);
    const published = await cli("publish", "..");
    expect(published.output).toContain("public_skills: No skill has the slug gone.");
    expect(published.output).toContain(`Published 1 skill to ${hull.url} `);
    const added = await cli("new", "Second", "-d", ".");
    expect(added.output).toContain(`The running hull dev serves it: ${hull.url}/skills/second`);
    const second = await runHull(["new", "Third"], { cwd: hull.root });
    expect(second.output).toContain(`The running hull dev serves it: ${hull.url}/skills/third`);
  } finally {
    // A part that cannot be ended keeps no other from it: the file with the address cannot be removed.
    const state = join(hull.root, ".hull/state");
    const address = join(state, "server.url");
    await rm(address);
    await mkdir(address);
    const code = await hull.end("SIGTERM");
    const left = await readdir(state);
    const after = await cli("sessions", "ls");
    await hull.stop();
    expect([code, left.includes("server.lock"), left.includes("runner.secret")]).toEqual([1, false, false]);
    expect(hull.output()).toContain(address);
    expect(after).toMatchObject({
      code: 2,
      output: expect.stringContaining("no hull dev runs for this project"),
    });
  }
});
