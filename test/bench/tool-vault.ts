/** Searches of the Tool Vault among 10,000 tools, in this process: no platform is involved. */
import type { ToolCallBlock } from "../../src/engine/messages.ts";
import { readSearchOption, type SearchOption } from "../../src/engine/tool-vault/option.ts";
import { EMPTY_VAULT } from "../../src/engine/tool-vault/promotion.ts";
import { search } from "../../src/engine/tool-vault/search.ts";
import { type ClientVault, createVault } from "../../src/engine/tool-vault/vault.ts";
import type { Tool } from "../../src/engine/tools.ts";
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
/** What models ask: some words, words that every tool has, names, alternatives, and patterns without any fixed text. */
const QUERIES = {
  bm25: [
    "open file",
    "invoice",
    "create a new customer record in the billing system and send it by mail",
    "the of a to in",
    "no such word anywhere",
  ],
  regex: ["open.*file", "invoice|customer", "^create_.*_(report|record)_", "\\bmail\\b", "(?i)DEPLOY"],
};
/** Their matches stand in every tool, so that nothing can be passed over. */
const EVERYWHERE = ["the", "[a-z]+_[a-z]+", "\\w+\\s\\w+$"];

/** @param rounds searches per query */
export async function toolVaultRows(rounds: number): Promise<Row[]> {
  const tools = manyTools(10_000);
  const rows: Row[] = [];
  for (const [what, strategy, queries] of [
    ["bm25", "bm25", QUERIES.bm25],
    ["regex", "regex", QUERIES.regex],
    ["regex that every tool matches", "regex", EVERYWHERE],
  ] as const) {
    const list = [...tools];
    const first = performance.now();
    await ask(vaultOf(list, strategy), queries[0] ?? "");
    const built = performance.now() - first;
    const medians: number[] = [];
    for (const query of queries) {
      const times: number[] = [];
      for (let i = 0; i < rounds; i++) {
        const begun = performance.now();
        // A vault for each search, as calls have: only the list is the same, and with it the index.
        await ask(vaultOf(list, strategy), query);
        times.push(performance.now() - begun);
      }
      medians.push(times.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN);
    }
    const slowest = Math.max(...medians);
    const title = `Tool Vault, 10,000 tools, ${what}: slowest query's p50 (first search: index built once)`;
    rows.push(row(title, `first ${ms(built)}`, ms(slowest), slowest, 5, ms));
  }
  return rows;
}

function vaultOf(tools: readonly Tool[], variant: "bm25" | "regex"): ClientVault {
  const vault = createVault(tools, optionOf(variant), TARGET);
  if ("refusal" in vault || vault.mode !== "client") throw new RangeError("no vault in client mode");
  return vault;
}

function optionOf(variant: "bm25" | "regex"): SearchOption {
  const option = readSearchOption({ variant, mode: "client" });
  if (option === null || "faults" in option) throw new RangeError("the option is refused");
  return option;
}

async function ask(vault: ClientVault, query: string): Promise<void> {
  const call: ToolCallBlock = {
    type: "tool_call",
    id: "1",
    name: vault.search.name,
    arguments: { query },
    raw: "",
  };
  await search(vault, EMPTY_VAULT, call);
}

if (import.meta.main) console.table(await toolVaultRows(50));
