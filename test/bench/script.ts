/** Script skills against a bare spawn of the same script. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, post } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { GREET, type Subjects } from "./subjects.ts";

const dir = mkdtempSync(join(tmpdir(), "hull-bench-spawn-"));
writeFileSync(join(dir, "greet.sh"), GREET);
process.once("exit", () => rmSync(dir, { recursive: true, force: true }));

/** Starts the script of the script skill and waits for its end. */
export const bareSpawn = (): Promise<void> => spawnAndWait(["bash", "greet.sh"], dir);

/** Starts a program as the runner does (its own group, piped), writes its input and waits for its end. */
export function spawnAndWait([program = "", ...args]: string[], cwd: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(program, args, { cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  child.once("error", reject);
  child.once("close", () => resolve());
  child.stdin.on("error", () => {});
  child.stdout.resume();
  child.stderr.resume();
  child.stdin.end("world\n");
  return promise;
}

export async function scriptRows({ hull }: Subjects, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const concurrency of [1, 8]) {
    const call = () => post(`${hull}/skills/greet`, "world\n");
    const { floor, ours } = await compare(bareSpawn, call, concurrency, rounds);
    const ratio = ours.p50 / floor.p50;
    rows.push(row(`bash script, c=${concurrency}: p50`, ms(floor.p50), ms(ours.p50), ratio, 1.5, times));
  }
  return rows;
}
