/** The cron trigger's sweeps, and the rows of D1 that they leave. */
import { sweepAll } from "../../src/http/sweep.ts";

type Env = Parameters<typeof sweepAll>[0];

/** One trigger, at a time in Unix ms. */
export async function sweepAt(env: Env, now: number): Promise<void> {
  const work: Promise<unknown>[] = [];
  await sweepAll(env, (promise) => void work.push(promise), now);
  await Promise.all(work);
}

/** Executes statements in the database of an environment. */
export const statementsIn = ({ DB }: Env) => ({
  run: (statement: string, ...values: unknown[]) =>
    DB.prepare(statement)
      .bind(...values)
      .run(),
  count: async (table: string): Promise<number> =>
    (await DB.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n")) ?? 0,
});
