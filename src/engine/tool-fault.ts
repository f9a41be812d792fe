/** What can go wrong with a tool call: the categories, their exact codes, and whether a second attempt may help. */
import { ERROR_CATEGORIES, type ErrorCategory } from "../errors/failure-class.ts";

interface ToolFault {
  category: string;
  /** A second attempt may help. */
  retried: boolean;
  /** The first one represents the category if a result has no code. A code in two rows belongs to the first of them. */
  codes: readonly string[];
}

const TOOL_FAULTS = [
  {
    category: "tool_error",
    retried: true,
    codes: [
      "tool_error",
      "exit_nonzero",
      "killed",
      "out_of_memory",
      "command_not_found",
      "unknown_tool",
      "dash_refused",
      "nul_byte",
      "argument_too_long",
    ],
  },
  { category: "timeout", retried: true, codes: ["timed_out"] },
  {
    category: "schema_validation",
    retried: false,
    codes: ["bad_arguments", "missing_argument", "unknown_argument"],
  },
  { category: "parse_aborted", retried: false, codes: ["bad_arguments"] },
  // It did not get to its end: it may or may not have taken effect.
  { category: "cancelled", retried: false, codes: ["outcome_unknown"] },
  { category: "permission_denied", retried: false, codes: [] },
  // Its runtime could not be reached.
  { category: "unavailable", retried: true, codes: ["unavailable"] },
  { category: "mcp_server_error", retried: true, codes: ["unavailable"] },
  { category: "host_bridge_error", retried: true, codes: [] },
  { category: "network", retried: true, codes: [] },
  // Loop detection skipped it.
  { category: "rejected_loop", retried: false, codes: [] },
  // The delegated run failed.
  { category: "runtime", retried: false, codes: [] },
] as const satisfies readonly ToolFault[];

type Row = (typeof TOOL_FAULTS)[number];

/** The exact fault of a call, in the words for models and for callers of served skills. */
export type ToolErrorCode = Row["codes"][number];

/** Why a tool call failed. A delegated run fails with the categories of model calls. */
export type FaultCategory = Row["category"] | ErrorCategory;

export const FAULT_CATEGORIES: readonly FaultCategory[] = [
  ...new Set<FaultCategory>([...TOOL_FAULTS.map(({ category }) => category), ...ERROR_CATEGORIES]),
];

const KNOWN: ReadonlySet<unknown> = new Set(FAULT_CATEGORIES);
const ROWS: ReadonlyMap<string, ToolFault> = new Map(TOOL_FAULTS.map((row) => [row.category, row]));
const CATEGORIES: ReadonlyMap<ToolErrorCode, FaultCategory> = new Map(
  TOOL_FAULTS.toReversed().flatMap(({ category, codes }) => codes.map((code) => [code, category] as const)),
);

export const isFaultCategory = (value: unknown): value is FaultCategory => KNOWN.has(value);

/** Whether a second attempt may help after a fault of this category. */
export const isRetried = (category: FaultCategory): boolean => ROWS.get(category)?.retried ?? false;

/** Whether a call that failed has come to its end. One that seems not to have reached its tool may still get there. */
export const hasEnded = (category: FaultCategory): boolean =>
  category !== "unavailable" && category !== "network";

export const categoryOf = (code: ToolErrorCode): FaultCategory => CATEGORIES.get(code) ?? "tool_error";

/** The code that represents a category; a category without codes represents itself. */
export const codeOf = (category: FaultCategory): string => ROWS.get(category)?.codes[0] ?? category;
