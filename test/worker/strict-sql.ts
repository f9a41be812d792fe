/** Makes the storage of an object refuse rows that Cloudflare refuses. That of workerd takes rows of any size. */
import { utf8 } from "../../src/bytes.ts";

/** The most bytes of a row. */
const MOST = 2_000_000;

/** Checks the values of each statement together: those of a row are in one. */
export function strictSql({ storage: { sql } }: DurableObjectState): void {
  const exec = sql.exec.bind(sql);
  const value = (query: string, ...values: unknown[]) => {
    if (values.reduce<number>((sum, one) => sum + bytesOf(one), 0) > MOST)
      throw new TypeError(`string or blob too big: SQLITE_TOOBIG: ${query.slice(0, 60)}`);
    return exec(query, ...values);
  };
  Object.defineProperty(sql, "exec", { value, configurable: true });
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return value.length < MOST / 30 ? value.length : utf8(value).length;
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? value.byteLength : 8;
}
