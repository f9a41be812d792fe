/** Removing secrets from the output of a process: the worst case, and the usual one. */
import { Redactor } from "../../src/redact.ts";
import { ms, type Row, row } from "./row.ts";

const SECRET = "sk-known-1";
const TARGET_MS = 50;
const MEGABYTE = 1_000_000;

/** The quickest of some runs, in ms: what else the machine does only adds to it. */
function quickest(rounds: number, run: () => unknown): number {
  const took = Array.from({ length: rounds }, () => {
    const begun = performance.now();
    run();
    return performance.now() - begun;
  });
  return Math.min(...took);
}

function rowOf(what: string, text: string, limit: number): Row {
  const bytes = new TextEncoder().encode(text);
  const redactor = new Redactor([SECRET]);
  const floor = quickest(25, () => bytes.slice());
  const took = quickest(25, () => redactor.bytes(bytes));
  return row(what, `${ms(floor)} (a copy)`, ms(took), took, limit, ms);
}

export function redactRows(): Row[] {
  const hits = SECRET.repeat(MEGABYTE / SECRET.length);
  const prose = "A line - with_this and that in it, 100% of it.\n".repeat(MEGABYTE / 47);
  return [
    rowOf("redact 1 MB that holds 100,000 hits", hits, TARGET_MS),
    rowOf("redact 1 MB without one", prose, Number.POSITIVE_INFINITY),
  ];
}
