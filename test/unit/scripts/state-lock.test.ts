/** A folder of state belongs to one living process, whatever earlier ones left. */
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { secretKey } from "../../../scripts/dev/secret-key.ts";
import { addressOf, checkUnlocked, lockState, noteAddress } from "../../../scripts/dev/state-lock.ts";
import { folder, put } from "./folder.ts";

const MODULE = new URL("../../../scripts/dev/state-lock.ts", import.meta.url).href;
const gone = (): number => spawnSync(process.execPath, ["-e", ""]).pid;
const run = promisify(execFile);

test("a folder is taken once, made where it is missing, and free again when it is given back", async () => {
  const dir = join(folder(), "deep", "state");
  const giveBack = await lockState(dir);
  const refusal = { code: "state_in_use", exit: 4 };
  await expect(lockState(dir)).rejects.toMatchObject(refusal);
  await expect(checkUnlocked(dir)).rejects.toMatchObject(refusal);
  await giveBack();
  expect(readdirSync(dir)).toEqual([".hull-state"]);
  await (await lockState(dir))();
});

test("attack: the state is for its owner alone, also one that an earlier Hull left open", async () => {
  const dir = join(folder(), "deep", "state");
  await (await lockState(dir))();
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  const old = folder({ "secret.key": "k" });
  chmodSync(old, 0o755);
  await (await lockState(old))();
  expect(statSync(old).mode & 0o777).toBe(0o700);
  const shared = folder({ "notes.txt": "of somebody else" });
  chmodSync(shared, 0o755);
  await (await lockState(shared))();
  expect(statSync(shared).mode & 0o777).toBe(0o755);
});

test.each([
  ["a process that has ended", () => ({ pid: gone(), began: "1" })],
  ["an earlier process of a number that is taken again", () => ({ pid: process.pid, began: "1" })],
  ["a machine that lost power, which left no text,", () => ""],
])("the lock of %s has no effect", async (_, holder) => {
  const held = holder();
  const text = held === "" ? held : JSON.stringify(held);
  const dir = folder({ "server.lock": text });
  await expect(checkUnlocked(dir)).resolves.toBe(text);
  const giveBack = await lockState(dir);
  await expect(checkUnlocked(dir)).rejects.toMatchObject({ code: "state_in_use" });
  await giveBack();
});

test("if many find an old lock, one of them gets the folder", async () => {
  const dir = folder();
  put(dir, "server.lock", JSON.stringify({ pid: gone(), began: "1" }));
  put(dir, "out/none", "");
  // The winner holds the lock until all have tried.
  const script = `
    import { readdirSync, writeFileSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    const { lockState } = await import(process.env.LOCK);
    const had = await lockState(process.env.DIR).then(() => "had", ({ code }) => code);
    writeFileSync(process.env.DIR + "/out/" + process.pid, had);
    while (readdirSync(process.env.DIR + "/out").length < 7) await setTimeout(10);
    console.log(had);`;
  const env = { ...process.env, LOCK: MODULE, DIR: dir };
  const all = await Promise.all(
    Array.from({ length: 6 }, () => run(process.execPath, ["--input-type=module", "-e", script], { env })),
  );
  const said = all.map(({ stdout }) => stdout.trim()).sort();
  expect(said).toEqual(["had", ...Array<string>(5).fill("state_in_use")]);
  expect(existsSync(join(dir, "server.lock"))).toBe(true);
});

test("only one process removes the lock of a dead server; one that died over it is not in the way", async () => {
  const dir = folder();
  const old = JSON.stringify({ pid: gone(), began: "1" });
  put(dir, "server.lock", old);
  put(dir, "server.lock.removal", JSON.stringify({ pid: process.pid, began: null }));
  await expect(lockState(dir)).rejects.toMatchObject({ code: "state_in_use" });
  expect(readFileSync(join(dir, "server.lock"), "utf8")).toBe(old);
  put(dir, "server.lock.removal", old);
  const giveBack = await lockState(dir);
  expect(existsSync(join(dir, "server.lock.removal"))).toBe(false);
  await giveBack();
});

test("the address of a living server is found, and no other one", async () => {
  const dir = join(folder(), "state");
  const giveBack = await lockState(dir);
  expect(await addressOf(dir)).toBeNull();
  const remove = await noteAddress(dir, "http://127.0.0.1:4321");
  expect(await addressOf(dir)).toBe("http://127.0.0.1:4321");
  await giveBack();
  expect(await addressOf(dir)).toBeNull();
  put(dir, "server.lock", JSON.stringify({ pid: gone(), began: "1" }));
  expect(await addressOf(dir)).toBeNull();
  put(dir, "server.lock", "no lock");
  expect(await addressOf(dir)).toBeNull();
  await remove();
  expect(readdirSync(dir)).toEqual([".hull-state", "server.lock"]);
});

test("attack: a state folder from another person sends no key to another machine", async () => {
  const dir = join(folder(), "state");
  const giveBack = await lockState(dir);
  for (const url of [
    "https://evil.example",
    "http://127.0.0.1.evil.example:80",
    "http://a@192.0.2.1:80",
    "nonsense",
  ]) {
    await noteAddress(dir, url);
    expect([url, await addressOf(dir)]).toEqual([url, null]);
  }
  await giveBack();
});

test("the secret key is made once, whole, and for its owner only", async () => {
  // What a full disk left of a key.
  const dir = folder({ "secret.key": "" });
  const key = await secretKey(dir);
  expect(key).toMatch(/^\S{32,}$/);
  expect(await secretKey(dir)).toBe(key);
  expect(readdirSync(dir)).toEqual(["secret.key"]);
  expect(statSync(join(dir, "secret.key")).mode & 0o777).toBe(0o600);
});
