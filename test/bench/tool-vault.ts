/** Searches of the Tool Vault among 10,000 tools, in this process: no platform is involved. */

import type { ToolDefinition } from "../../src/engine/messages.ts";
import { readSearchOption, type SearchOption } from "../../src/engine/tool-vault/option.ts";
import { EMPTY_VAULT } from "../../src/engine/tool-vault/promotion.ts";
import { search } from "../../src/engine/tool-vault/search.ts";
import { type ClientVault, createVault } from "../../src/engine/tool-vault/vault.ts";
import { manyTools } from "../support/many-tools.ts";
import { ms, type Row, row } from "./row.ts";

const TARGET = {
  provider: "bench",
  model: "bench",
  defer_loading: false,
  tool_search: [],
  tool_format: "native",
  forced: false,
  refused: false,
} as const;
interface Kind {
  what: string;
  variant: "bm25" | "regex";
  queries: readonly string[];
  /** Most ms of a search. */
  limit: number;
}

const KINDS: readonly Kind[] = [
  {
    what: "by words",
    variant: "bm25",
    queries: [
      "open file",
      "invoice",
      "create a new customer record in the billing system and send it by mail",
      "the of a to in",
      "no such word anywhere",
    ],
    limit: 5,
  },
  {
    what: "by expression",
    variant: "regex",
    queries: ["open.*file", "invoice|customer", "^create_.*_(report|record)_", "\\bmail\\b", "(?i)DEPLOY"],
    limit: 5,
  },
  // There is no text to look up first: all of three million characters are matched.
  {
    what: "by expression without fixed text, which all match",
    variant: "regex",
    queries: ["[a-z]+_[a-z]+", "\\w+\\s\\w+$"],
    limit: 25,
  },
];

/** @param rounds searches per query */
export async function toolVaultRows(rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { what, variant, queries, limit } of KINDS) {
    const vault = vaultOf(manyTools(10_000), variant);
    const built = await timed(() => ask(vault, "file"));
    const medians: number[] = [];
    for (const query of queries) {
      const times: number[] = [];
      for (let i = 0; i < rounds; i++) times.push(await timed(() => ask(vault, query)));
      medians.push(times.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN);
    }
    const slowest = Math.max(...medians);
    const title = `Tool Vault search ${what}, 10,000 tools: p50 of the slowest query (first search, with index)`;
    rows.push(row(title, `(${ms(built)})`, ms(slowest), slowest, limit, ms));
  }
  return rows;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** One search. The first of a vault also makes the index. */
async function ask(vault: ClientVault, query: string): Promise<void> {
  const { name } = vault.search;
  await search(vault, EMPTY_VAULT, { type: "tool_call", id: "1", name, arguments: { query }, raw: "" });
}

function vaultOf(tools: readonly ToolDefinition[], variant: "bm25" | "regex"): ClientVault {
  const vault = createVault(tools, optionOf(variant), TARGET);
  if ("refusal" in vault || vault.mode !== "client") throw new RangeError("no vault in client mode");
  return vault;
}

function optionOf(variant: "bm25" | "regex"): SearchOption {
  const option = readSearchOption({ variant, mode: "client" });
  if (option === null || "faults" in option) throw new RangeError("the option is refused");
  return option;
}

if (import.meta.main) console.table(await toolVaultRows(50));
