/** Requests, searches, promotion and events of a vault. */
import { describe, expect, it, test } from "vitest";
import type { Block } from "../../../../src/engine/messages.ts";
import { searchBlock } from "../../../../src/engine/tool-vault/events.ts";
import { afterSearches, EMPTY_VAULT, promote } from "../../../../src/engine/tool-vault/promotion.ts";
import { queryEvent, type SearchDelegate, search } from "../../../../src/engine/tool-vault/search.ts";
import { ToolSet, tokensOf } from "../../../../src/engine/tool-vault/tool-set.ts";
import {
  isSearchCall,
  observe,
  offer,
  stubListing,
  type Vault,
} from "../../../../src/engine/tool-vault/vault.ts";
import type { Json, JsonObject } from "../../../../src/skill/manifest.ts";
import { tool as agentTool, play, toolTexts } from "../agent/harness.ts";
import { CLAUDE, clientVault, deferred, GPT, searchCall, tool, vaultOf } from "./vaults.ts";

const TOOLS = [
  tool("run", "Runs a command"),
  deferred("open_file", "Opens a file, e.g. text. Any file.", { namespace: "fs" }),
  deferred("send_mail", "Sends a mail"),
];
const names = (vault: Vault, promoted: string[] = [], scope?: string[]): string[] =>
  offer(vault, { promoted }, scope === undefined ? {} : { scope: new Set(scope) }).tools.map(
    ({ name }) => name,
  );
const flagged = (vault: Vault, promoted: string[] = [], options = {}): string[] =>
  offer(vault, { promoted }, options)
    .tools.filter(({ defer_loading }) => defer_loading === true)
    .map(({ name }) => name);
/** The result of a search with an option, as the model reads it. */
async function answer(option: Json, query: Json, delegate?: SearchDelegate): Promise<Json> {
  const vault = clientVault(TOOLS, option);
  const { result } = await search(vault, EMPTY_VAULT, searchCall(query), { delegate });
  expect(result).toMatchObject({ call_id: "call_1", is_error: false });
  return JSON.parse(result.content);
}

describe("client mode", () => {
  it("shows the search first and no deferred tool; offers found tools in the next turn", async () => {
    const vault = clientVault(TOOLS);
    const first = offer(vault, EMPTY_VAULT);
    expect(first.tools.map(({ name }) => name)).toEqual(["hull_tool_search", "run"]);
    expect(first.tool_search).toBeUndefined();
    expect(first.tools[0]).toMatchObject({
      description: expect.stringMatching(/keywords.*widen.*tool_names.*next turn/is),
      parameters: { required: ["query"], additionalProperties: false },
    });
    const { state, result } = await search(vault, EMPTY_VAULT, searchCall("open file"));
    expect(JSON.parse(result.content)).toEqual({ tool_names: ["open_file"] });
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    const second = offer(vault, state).tools;
    expect(second.map(({ name }) => name)).toEqual(["hull_tool_search", "run", "open_file"]);
    expect(second.at(-1)).toEqual({
      name: "open_file",
      description: "Opens a file, e.g. text. Any file.",
      parameters: { type: "object", properties: {} },
    });
  });

  it("keeps pinned tools, and the tool that is to be called", () => {
    expect(names(clientVault(TOOLS, { always_loaded: ["send_mail"] }))).toEqual([
      "hull_tool_search",
      "run",
      "send_mail",
    ]);
    const chosen = offer(clientVault(TOOLS), EMPTY_VAULT, { chosen: "send_mail" });
    expect(chosen.tools.map(({ name }) => name)).toEqual(["hull_tool_search", "run", "send_mail"]);
  });

  it("a renamed search is known as the search, and no scope hides it or reveals more", async () => {
    const vault = clientVault(TOOLS, { name: "find_tool" });
    expect(names(vault, ["open_file"], ["open_file"])).toEqual(["find_tool", "open_file"]);
    expect(isSearchCall(vault, "find_tool")).toBe(true);
    expect(isSearchCall(vault, "hull_tool_search")).toBe(false);
    const { state } = await search(vault, EMPTY_VAULT, searchCall("file mail", "find_tool"), {
      scope: new Set(["send_mail"]),
    });
    expect(state.promoted).toEqual(["send_mail"]);
  });

  it("phrases its description for the strategy", () => {
    const describes = (strategy: string) => clientVault(TOOLS, { strategy }).search.description;
    expect(describes("regex")).toMatch(/case-insensitive.*look-around and back-references/);
    expect(describes("semantic")).toMatch(/natural language/);
    expect(describes("host")).toMatch(/host/);
  });
});

describe("results", () => {
  const found = (...tool_names: string[]) => ({ tool_names });
  const hint = (text: RegExp) => ({ tool_names: [], diagnostic: expect.stringMatching(text) });
  it.each<[string, Json, Json, object]>([
    ["words", "bm25", "a mail", found("send_mail", "open_file")],
    ["expression", "regex", "opens?_|MAIL$", found("send_mail", "open_file")],
    ["empty", "bm25", " ", hint(/empty/)],
    ["no text", "bm25", 5, hint(/empty/)],
    ["no word", "bm25", "?!", hint(/letters or digits/)],
    ["no word in common", "bm25", "zebra", hint(/shorter, more general/)],
    ["no match", "regex", "zebra", hint(/Widen/)],
    ["not an expression", "regex", "(open", hint(/does not compile: there is a \( without/)],
    ["look-around", "regex", "(?=open)", hint(/does not compile: look-around/)],
    ["too long", "regex", "a".repeat(1000), hint(/1000 characters/)],
    ["no delegate", { strategy: "semantic" }, "x", hint(/"semantic" needs a host delegate/)],
    ["no delegate", { strategy: "host" }, "x", hint(/"host" needs a host delegate/)],
  ])("%s, %j: %j", async (_, option, query, expected) => {
    expect(await answer(option, query)).toEqual(expected);
  });

  it.each<[string, Json, object]>([
    [
      "its order, without unknown and repeated names",
      { tool_names: ["send_mail", "run", "x", 1, "open_file", "send_mail"] },
      found("send_mail", "open_file"),
    ],
    ["wrapped", { result: { tool_names: ["open_file"] } }, found("open_file")],
    ["with a diagnostic", { tool_names: [], diagnostic: "none" }, { tool_names: [], diagnostic: "none" }],
    ["no list", { names: [] }, hint(/without a list tool_names/)],
    ["no object", [], hint(/without a list tool_names/)],
  ])("of a host: %s", async (_, given, expected) => {
    let asked: unknown;
    const delegate: SearchDelegate = async (query) => {
      asked = query;
      return given;
    };
    expect(await answer({ strategy: "host" }, "letters", delegate)).toEqual(expected);
    expect(asked).toEqual({ strategy: "host", query: "letters", candidates: ["open_file", "send_mail"] });
  });

  it("a host that fails, and a set without deferred tools", async () => {
    const delegate: SearchDelegate = () => Promise.reject(new TypeError("connection to 10.0.0.1 refused"));
    expect(await answer({ strategy: "semantic" }, "x", delegate)).toEqual(hint(/failed.*bm25 and regex/));
    const vault = clientVault([tool("run", "Runs")]);
    const { result } = await search(vault, EMPTY_VAULT, searchCall("run"));
    expect(JSON.parse(result.content)).toEqual(hint(/no deferred tools/));
  });

  it("arguments that are no object leave a query event and a diagnostic", async () => {
    const vault = clientVault(TOOLS);
    const call = { ...searchCall("x"), arguments: null, raw: '{"query": ' };
    expect(queryEvent(vault, call)).toMatchObject({ id: "call_1", query: '{"query": ', mode: "client" });
    expect((await search(vault, EMPTY_VAULT, call)).event).toMatchObject({
      tool_references: [],
      promoted: [],
    });
  });
});

describe("promotion", () => {
  // 30 tokens each, but for the last.
  const sized = ["a", "b", "c", "d"].map((name) => deferred(name, "x".repeat(50)));
  const set = new ToolSet([...sized, deferred("huge", "x".repeat(2000))], []);
  const [first] = sized;
  const size = first === undefined ? 0 : tokensOf(first);
  const promoted = (start: string[], found: string[], budget: number | null) =>
    promote({ promoted: start }, found, set, budget);

  it("a tool's size is a quarter of its JSON", () => {
    const json = JSON.stringify({ name: "a", description: "x".repeat(50), parameters: first?.parameters });
    expect(size).toBe(Math.ceil(json.length / 4));
  });

  it.each<[string, string[], string[], number | null, string[], string[]]>([
    ["no budget", ["a"], ["b", "c"], null, ["a", "b", "c"], ["b", "c"]],
    ["known and unknown names", ["a"], ["x", "a", "b", "b"], null, ["a", "b"], ["b"]],
    ["room for one", ["a"], ["b"], size, ["b"], ["b"]],
    ["room for two: the oldest goes", ["a", "b"], ["c"], 2 * size, ["b", "c"], ["c"]],
    ["a search does not refresh age", ["a", "b"], ["a", "c"], 2 * size, ["b", "c"], ["c"]],
    ["too large for the budget: nothing is evicted", ["a"], ["huge"], size, ["a"], []],
    ["hits of one search: the best stay", ["a"], ["b", "c", "d"], 2 * size, ["b", "c"], ["b", "c"]],
    ["a large tool is skipped, a smaller one is not", ["a"], ["huge", "b"], 2 * size, ["a", "b"], ["b"]],
  ])("%s", (_, start, found, budget, names, added) => {
    expect(promoted(start, found, budget)).toEqual({ state: { promoted: names }, added });
  });

  it("all hits are reported, also those that exceed the budget; pins do not count against it", async () => {
    const tools = [...sized, tool("run", "Runs")];
    const vault = clientVault(tools, { budget_tokens: size, always_loaded: ["a"], strategy: "regex" });
    const { state, result, event } = await search(vault, EMPTY_VAULT, searchCall("x+"));
    expect(JSON.parse(result.content)).toEqual({ tool_names: ["b", "c", "d"] });
    expect(event.promoted).toEqual(["b"]);
    expect(names(vault, [...state.promoted])).toEqual(["hull_tool_search", "a", "run", "b"]);
  });
});

describe("native mode", () => {
  const namespaced = [...TOOLS, deferred("drop_table", "Drops", { namespace: "db" })];
  it("offers every tool with its flag and namespace, and the provider's search", () => {
    const made = offer(vaultOf(namespaced, true, GPT), EMPTY_VAULT);
    expect(made.tool_search).toEqual({ variant: "hosted" });
    expect(made.tools.map((t) => [t.name, t.defer_loading, t.namespace])).toEqual([
      ["run", undefined, undefined],
      ["open_file", true, "fs"],
      ["send_mail", true, undefined],
      ["drop_table", true, "db"],
    ]);
    expect(offer(vaultOf(TOOLS, "regex", CLAUDE), EMPTY_VAULT).tool_search).toEqual({ variant: "regex" });
  });

  it("shows pinned tools directly, callable, unknown to the history, or all that a scope leaves", () => {
    expect(flagged(vaultOf(TOOLS, { always_loaded: ["send_mail"] }, CLAUDE))).toEqual(["open_file"]);
    const vault = vaultOf(TOOLS, true, CLAUDE);
    expect(flagged(vault, ["open_file"])).toEqual(["open_file", "send_mail"]);
    const found = {
      type: "tool_search_result",
      tool_use_id: "s",
      tool_references: [{ tool_name: "open_file" }],
    };
    const holding = [{ role: "assistant", content: [found] }];
    expect(flagged(vault, ["open_file"], { messages: holding })).toEqual(["open_file", "send_mail"]);
    expect(flagged(vault, ["open_file"], { messages: [] })).toEqual(["send_mail"]);
    expect(flagged(vault, [], { chosen: "open_file" })).toEqual(["send_mail"]);
    expect(names(vault, [], ["send_mail"])).toEqual(["send_mail"]);
    expect(flagged(vault, [], { scope: new Set(["send_mail"]) })).toEqual([]);
  });

  it("tools that the provider found are promoted, and stay so when Hull searches afterwards", () => {
    const vault = vaultOf(TOOLS, true, CLAUDE);
    if (vault.mode !== "native") return expect.fail(vault.mode);
    const blocks: Block[] = [
      { type: "output_text", text: "Searching." },
      { type: "tool_search_query", id: "s1", name: "tool_search_tool_bm25", query: { query: "mail" } },
      {
        type: "tool_search_result",
        tool_use_id: "s1",
        tool_references: [{ tool_name: "send_mail" }, { tool_name: "x" }],
      },
    ];
    const events = observe(vault, EMPTY_VAULT, blocks);
    const state = afterSearches(EMPTY_VAULT, events);
    expect(events).toEqual([
      { ...blocks[1], mode: "anthropic" },
      { ...blocks[2], mode: "anthropic", promoted: ["send_mail"] },
    ]);
    expect(observe(vault, state, blocks)[1]).toMatchObject({ promoted: [] });
    expect(afterSearches(state, events)).toEqual(state);
    const { name } = clientVault(TOOLS).search;
    expect(names(clientVault(TOOLS), [...state.promoted])).toEqual([name, "run", "send_mail"]);
    const hosted = vaultOf(TOOLS, true, GPT);
    expect(hosted.mode === "native" && observe(hosted, EMPTY_VAULT, blocks)[0]).toMatchObject({
      mode: "openai",
    });
  });
});

test("events of a search by Hull have the shape of a provider's, and so have its blocks", async () => {
  const vault = clientVault(TOOLS, "regex");
  const call = searchCall("mail", "hull_tool_search", "c7");
  const query = queryEvent(vault, call);
  const { event } = await search(vault, EMPTY_VAULT, call);
  expect(query).toEqual({
    type: "tool_search_query",
    id: "c7",
    name: "tool_search_tool_regex",
    query: { query: "mail" },
    strategy: "regex",
    mode: "client",
  });
  expect(event).toEqual({
    type: "tool_search_result",
    tool_use_id: "c7",
    tool_references: [{ tool_name: "send_mail" }],
    mode: "client",
    promoted: ["send_mail"],
    strategy: "regex",
  });
  const { strategy, mode, ...block } = query;
  expect(searchBlock(query)).toEqual(block);
  expect(searchBlock(event)).toEqual({
    type: "tool_search_result",
    tool_use_id: "c7",
    tool_references: [{ tool_name: "send_mail" }],
  });
  const named = (option: Json) => queryEvent(clientVault(TOOLS, option), call).name;
  expect(named({ variant: "regex", strategy: "host" })).toBe("tool_search_tool_regex");
  expect(named({ strategy: "semantic" })).toBe("tool_search_tool_bm25");
});

test("the stub listing names the search and what it finds, by first sentences", () => {
  const vault = clientVault(TOOLS, { include_stub_listing: true, name: "find_tool" });
  const all = new Set(TOOLS.map(({ name }) => name));
  const lines = stubListing(vault, all)?.split("\n") ?? [];
  expect(lines.slice(1)).toEqual([
    expect.stringContaining("Call find_tool"),
    "- open_file: Opens a file, e.g. text.",
    "- send_mail: Sends a mail",
  ]);
  expect(stubListing(vault, new Set(["send_mail"]))).not.toContain("open_file");
  expect(stubListing(vault, new Set(["run"]))).toBe(null);
  expect(stubListing(clientVault(TOOLS), all)).toBe(null);
  expect(stubListing(vaultOf(TOOLS, { include_stub_listing: true }, CLAUDE), all)).toBe(null);
});

test("without a search, Hull sends tools unchanged, and searches nothing", async () => {
  const tools = TOOLS.map((definition) => ({ ...agentTool(definition.name), definition }));
  const calls: [string, JsonObject][] = [["hull_tool_search", { query: "x" }]];
  const played = await play({ spec: { tools, tool_search: false }, replies: [{ calls }, "done"] });
  for (const request of played.requests) {
    expect(request.tools).toEqual(TOOLS);
    expect(request.tool_search).toBeUndefined();
  }
  expect(toolTexts(played.requests[1] ?? expect.fail())).toEqual([
    expect.stringContaining("hull_tool_search"),
  ]);
  expect(played.all.filter(({ type }) => type === "tool_searched")).toEqual([]);
});
