/** Reads mocks from a request's JSON, or from a file with one per line. */

import type * as z from "zod/mini";
import { type Fault, valueAt, wrongValue } from "../../engine/fault.ts";
import { isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import { type Mock, mockShape } from "./mock.ts";

/** The path of a fault is dotted, e.g. `options.mock.0.error.category`. */
type ReadMocks = { mocks: Mock[] } | { faults: Fault[] };

export const MAX_MOCKS = 10_000;
/**
 * A list of mocks, or a single one; `null` members count as absent.
 * @param path name of the list, e.g. `options.mock`
 */
export function readMocks(given: unknown, path: string): ReadMocks {
  const list: unknown[] = Array.isArray(given) ? given : [given];
  if (list.length > MAX_MOCKS) {
    return { faults: [{ path, message: `${path} has ${list.length} mocks; at most ${MAX_MOCKS}` }] };
  }
  const mocks: Mock[] = [];
  const faults: Fault[] = [];
  for (const [index, item] of list.entries()) {
    const at = Array.isArray(given) ? `${path}.${index}` : path;
    const bare = withoutNull(item);
    const parsed = mockShape.safeParse(bare);
    if (parsed.success) mocks.push(parsed.data);
    else faults.push(...parsed.error.issues.map((issue) => faultOf(issue, at, bare)));
  }
  return faults.length > 0 ? { faults } : { mocks };
}

/** One mock on each line that is not blank. Faults have the path `line <n>`. */
export function readMockLines(text: string): ReadMocks {
  const read = text.split("\n").flatMap((line, index): ReadMocks[] => {
    if (line.trim() === "") return [];
    const path = `line ${index + 1}`;
    const value = parsedJson(line);
    return [
      value === undefined ? { faults: [{ path, message: `${path} is not JSON` }] } : readMocks(value, path),
    ];
  });
  const faults = read.flatMap((one) => ("faults" in one ? one.faults : []));
  return faults.length > 0 ? { faults } : { mocks: read.flatMap((one) => ("mocks" in one ? one.mocks : [])) };
}

function withoutNull(value: unknown, depth = 0): unknown {
  if (!isObject(value) || depth > 1) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    members.map(([name, member]) => [name, name === "error" ? withoutNull(member, depth + 1) : member]),
  );
}

function faultOf(issue: z.core.$ZodIssue, at: string, mock: unknown): Fault {
  const path = [at, ...issue.path].join(".");
  if (issue.code === "unrecognized_keys") {
    const [first = ""] = issue.keys;
    return { path: `${path}.${first}`, message: `${path} has no field "${first}"` };
  }
  if (!isObject(mock)) return wrongValue(path, path, "an object", mock);
  const accepted = issue.code === "invalid_value" ? `one of ${issue.values.join(", ")}` : issue.message;
  return wrongValue(path, path, accepted, valueAt(mock, issue.path));
}
