/** What was spent, by day, skill, session, provider and model. */
import { select } from "../sql.ts";
import { dayOf, HOUR_MS, periodStart } from "./period.ts";
import type { Amount, Charge, Spend, UsageGroup, UsageQuery, UsageRow, Window } from "./rpc.ts";
import { rowsOf } from "./scope.ts";

type Row<T> = T & Record<string, SqlStorageValue>;

const SPEND = [
  "calls",
  "unpriced_calls",
  "estimated_calls",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "prompt_tokens",
  "cost",
  "duration_ms",
] as const satisfies (keyof Spend)[];
const SUMS = SPEND.map((column) => `coalesce(sum(${column}), 0) AS ${column}`).join(", ");

/** A row also has sums of its latest hour, so that an hourly limit can begin in the middle of an hour. */
const HOURLY = ["hour_prompt", "hour_output", "hour_cost"];
const ADD = `
INSERT INTO usage (day, skill, session, provider, model, ${SPEND.join(", ")}, hour, ${HOURLY.join(", ")})
VALUES (${Array(5 + SPEND.length + 1 + HOURLY.length)
  .fill("?")
  .join(", ")})
ON CONFLICT DO UPDATE SET ${SPEND.map((column) => `${column} = ${column} + excluded.${column}`).join(", ")},
${HOURLY.map(
  (column) => `${column} = CASE WHEN excluded.hour = hour THEN ${column} + excluded.${column}
    WHEN excluded.hour > hour THEN excluded.${column} ELSE ${column} END`,
).join(", ")}, hour = max(hour, excluded.hour)`;

const GROUPS: Record<UsageGroup, readonly string[]> = {
  skill: ["skill"],
  session: ["session"],
  model: ["provider", "model"],
  day: ["day"],
};

export class Usage {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** @param at when it was spent, Unix ms */
  add({ skill, session, provider, model, spend }: Charge, at: number): void {
    this.#sql.exec(
      ADD,
      dayOf(at),
      skill ?? "",
      session ?? "",
      provider,
      model,
      ...SPEND.map((column) => spend[column]),
      Math.floor(at / HOUR_MS),
      spend.prompt_tokens,
      spend.output_tokens,
      spend.cost,
    );
  }

  /** What a scope spent in the span that contains `now`. */
  spent(scope: string, window: Window, now: number): Amount {
    const { where, values } = rowsOf(scope);
    const hour = window === "hour";
    const [prompt, output, cost] = hour ? HOURLY : ["prompt_tokens", "output_tokens", "cost"];
    const span = hour ? "day = ? AND hour = ?" : "day >= ?";
    const since = periodStart(window, now);
    return this.#sql
      .exec<Row<Amount>>(
        `SELECT coalesce(sum(${cost}), 0) AS cost, coalesce(sum(${prompt}), 0) AS input_tokens,
           coalesce(sum(${output}), 0) AS output_tokens FROM usage WHERE ${span} AND ${where}`,
        dayOf(since),
        ...(hour ? [since / HOUR_MS] : []),
        ...values,
      )
      .one();
  }

  total(): Spend {
    return this.#sql.exec<Row<Spend>>(`SELECT ${SUMS} FROM usage`).one();
  }

  /** A page of groups, sorted by key. */
  page({ from, to, group_by, session, limit, after }: UsageQuery): { rows: UsageRow[]; more: boolean } {
    const columns = GROUPS[group_by];
    const list = columns.join(", ");
    const bounds = [
      ...(from === null ? [] : [{ where: "day >= ?", values: [from] }]),
      ...(to === null ? [] : [{ where: "day <= ?", values: [to] }]),
      ...(session === null ? [] : [{ where: "session = ?", values: [session] }]),
      ...(after === null ? [] : [{ where: `(${list}) > (${columns.map(() => "?")})`, values: after }]),
    ];
    const rows = select<Row<Spend>>(
      this.#sql,
      `SELECT ${list}, ${SUMS} FROM usage WHERE ${["true", ...bounds.map(({ where }) => where)].join(" AND ")}
       GROUP BY ${list} HAVING sum(calls) > 0 ORDER BY ${list} LIMIT ?`,
      ...bounds.flatMap(({ values }) => values),
      limit + 1,
    );
    const page = rows.slice(0, limit).map((row) => ({
      key: columns.map((column) => String(row[column])),
      spend: { ...row },
    }));
    return { rows: page, more: rows.length > limit };
  }
}
