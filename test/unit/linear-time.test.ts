import { Hull } from "hullrun/client";
import { expect, test } from "vitest";
import { applyAgentRecord } from "../../src/engine/agent/apply.ts";
import { messagesOf, settledBy } from "../../src/engine/agent/entries.ts";
import { skipped } from "../../src/engine/agent/loop-detection.ts";
import { commandsOf } from "../../src/engine/agent/skill-text.ts";
import { matchSkills, scopedTools } from "../../src/engine/agent/skills.ts";
import { type AgentState, EMPTY_SESSION } from "../../src/engine/agent/state.ts";
import { updatedLedger } from "../../src/engine/agent/task-ledger.ts";
import { otherPhase } from "../../src/engine/agent/turn.ts";
import { numericArguments } from "../../src/engine/arguments.ts";
import { isWatched } from "../../src/engine/daemon/watch.ts";
import type { Message, ToolCallBlock, ToolResultMessage } from "../../src/engine/messages.ts";
import { withResults } from "../../src/engine/open-calls.ts";
import { significantWords } from "../../src/engine/skill-choice/words.ts";
import { parseTextTurn } from "../../src/engine/text-tools/parse.ts";
import { refusedCall } from "../../src/engine/tool-result.ts";
import { visibleText } from "../../src/engine/visible-text.ts";
import { artifactOf, readArtifacts } from "../../src/engine/workflow/artifacts.ts";
import { decide, openAttempts } from "../../src/engine/workflow/next.ts";
import { completed } from "../../src/engine/workflow/outcomes.ts";
import { selectArtifacts } from "../../src/engine/workflow/select-artifacts.ts";
import { advanced } from "../../src/engine/workflow/state.ts";
import { codeCommand } from "../../src/engine/workspace-tools/code-tools.ts";
import { edited } from "../../src/engine/workspace-tools/edit.ts";
import { expandBraces } from "../../src/engine/workspace-tools/listing.ts";
import { AnthropicStream } from "../../src/model/anthropic-stream.ts";
import { OpenAiStream } from "../../src/model/openai-chat-stream.ts";
import { rootObject } from "../../src/model/root-schema.ts";
import type { StreamReader } from "../../src/model/wire.ts";
import { freelyNamed, keepable } from "../../src/run/file-names.ts";
import { ceilingsOfAttempt } from "../../src/run/workflow/ceilings.ts";
import { brokenUploadRules } from "../../src/skill/field-rules.ts";
import { Findings } from "../../src/skill/findings.ts";
import { reportMissing } from "../../src/skill/frontmatter/faults.ts";
import { ignoreGlob, nameMatches } from "../../src/skill/glob.ts";
import { loadFault, uploadFault } from "../../src/skill/hooks.ts";
import { missingFiles, missingReferences } from "../../src/skill/lint.ts";
import { splitAllowedTools } from "../../src/skill/tool-names.ts";
import { readToolsJson } from "../../src/skill/tools-json/read.ts";
import { resultText } from "../../src/tool/mcp/remote-tool.ts";
import { hostFault } from "../../src/tool/public-host.ts";
import { TARGET } from "../support/wire-target.ts";
import { specOf } from "../support/workflow-graphs.ts";
import { SPEC, skill, tool } from "./engine/agent/harness.ts";

/** With this many characters, code whose time grows with their square takes minutes. */
const MANY = 1_000_000;
const missing = (text: string): string | undefined => {
  const findings = new Findings("", "");
  reportMissing(findings, text);
  return findings.list[0]?.code;
};
const commandsIn = (prompt: string): number => commandsOf(skill("s", { prompt }), []).length;
const blanks = `a${" ".repeat(MANY)}b`;
const hooks = (text: string) =>
  uploadFault({ path: "hooks.js", mode: 0o644, bytes: new TextEncoder().encode(text) });
/** A turn has a limit, so several turns take minutes. */
const turns = (text: string): number =>
  Array.from({ length: 20 }, () => parseTextTurn(text, ["f"])).reduce(
    (sum, { calls }) => sum + calls.length,
    0,
  );
const image = (data: string) => resultText({ content: [{ type: "image", mimeType: "image/png", data }] });
const call = (id: string): ToolCallBlock => ({ type: "tool_call", id, name: "f", arguments: {}, raw: "" });
const result = (call_id: string): ToolResultMessage => ({ call_id, name: "f", content: "", is_error: false });
const IDS = Array.from({ length: 200_000 }, (_, i) => `call_${i}`);
/** A turn with calls, and their results. */
const called = (results: string[]): Message[] => [
  { role: "assistant", content: IDS.map(call) },
  { role: "tool", results: results.map(result) },
];
const record = { v: 1, at: 0, type: "run_started", run: SPEC.run_id, spec: SPEC } as const;
/** How many tools a skill leaves whose `allowed-tools` name none of them. */
const left = (entry: string): number => {
  const spec = { ...SPEC, skills: [skill("a", { allowed_tools: [entry] })], tools: [tool("b")] };
  const { run } = applyAgentRecord(EMPTY_SESSION, { ...record, spec });
  return run === null ? 0 : scopedTools({ ...run, active: ["a"] }).length;
};
/** A run whose calls have all settled. */
const settledRun = (): AgentState => {
  const { run, ...state } = applyAgentRecord(EMPTY_SESSION, record);
  const given = {
    stage: "settled",
    approval: null,
    result: refusedCall("unknown_tool", ""),
    shown: "",
  } as const;
  const calls = IDS.map((id) => ({ effect: id, call: call(id), ...given }));
  return { ...state, run: run && { ...run, calls } };
};
const settled = settledRun();
const shownInPart = { ...settled, visible: called(IDS.toReversed()) };
const description = "w1 deploys w99999. ".repeat(60);
const manySkills = Array.from({ length: 300 }, (_, i) => skill(`skill-${i}`, { description }));
const manyWords = Array.from({ length: MANY / 5 }, (_, i) => `w${i}`).join(" ");
const added = (count: number): string => {
  const items = Array.from({ length: count }, () => ({ title: "a", status: "open" }));
  const updated = updatedLedger({ root_task: null, items: [] }, { items });
  return "error" in updated ? updated.error : updated.content;
};
const MISSING = "frontmatter_missing";
/** The parameters of a tool's configuration in a file of nearly 4 MiB. */
const configured = (names: string[]): number | undefined => {
  const tool = {
    name: "a",
    description: "b",
    parameters: {},
    handler: "a.js",
    "x-config": names.map((name) => ({ name, type: "url" })),
  };
  const { tools } = readToolsJson(new Findings("", ""), JSON.stringify([tool]), { keyVariables: [] });
  return tools[0]?.config?.length;
};
const many = (count: number, name: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => name(i));
/** How many artifacts with evidence a stage gets. */
const selected = (count: number): number => {
  const given = many(count, String).map((text) => ({ text, metadata: { evidence_paths: [text] } }));
  const read = readArtifacts(given, { newId: () => "a", now: "2026-01-01T00:00:00Z" });
  return "faults" in read ? 0 : selectArtifacts(read.artifacts, {}).length;
};
/** How a map of so many items ends, each of which asks what it may use, and how many artifacts it has. */
function mapped(count: number) {
  const spec = specOf("r", { nodes: { m: { kind: "map", prompt: "go" } }, edges: [] });
  // More than a graph may have, so that a square takes minutes.
  Object.assign(spec.graph.nodes.m ?? {}, { map_policy: { items: many(count, String), max_concurrent: 8 } });
  const state = advanced(null, { type: "begun", at: 0, spec });
  if (state === null) return null;
  const artifact = artifactOf({ kind: "text", text: "x", stage: "m" }, { newId: String, now: "" });
  const made = completed("success", "success", { artifacts: [artifact] });
  while (state.finished === null) {
    for (const record of decide(state, 0, () => "id").records) advanced(state, record);
    for (const key of openAttempts(state).filter(({ item }) => item !== undefined)) {
      ceilingsOfAttempt(state, "s");
      advanced(state, { type: "ended", at: 0, ...key, outcome: made });
      for (const record of decide(state, 0, () => "id").records) advanced(state, record);
    }
  }
  return [state.finished.status, state.artifacts.length];
}
/** The schema of a tool's arguments, in parts that each require one of them. */
const inParts = (names: string[]) => ({
  allOf: names.map((name) => ({ properties: { [name]: { type: "string" } }, required: [name] })),
});
const alike = { required: many(100_000, (i) => `p${i}`) };
/** What a provider's stream becomes. */
const folded = (reader: StreamReader, events: object[]): unknown => {
  for (const event of events) reader.push({ data: JSON.stringify(event) });
  return reader.answer();
};
const ended = { choices: [{ delta: {}, finish_reason: "stop" }] };
const longArguments = { text: "a".repeat(MANY) };
const asked = () => numericArguments(longArguments, {});
/** How much text a client gets of a stream with so many deltas. */
async function streamed(count: number): Promise<number> {
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const deltas = many(count, (i) => event("delta", { round: i < count / 2 ? 1 : 2, text: "a word. " }));
  const body = [...deltas, event("done", { ok: true })].join("");
  const hull = new Hull({ url: "http://localhost", fetch: async () => new Response(body) });
  let length = 0;
  for await (const text of hull.stream("a").text()) length = text.length;
  return length;
}
const links = many(50_000, (i) => `[a](a/${i}.md)`).join(" ");
const named = many(50_000, (i) => `scripts/${i}.py`).join(" ");
const files = many(50_000, (i) => `b/${i}.md`);
const PHASED = { persistent: true, break_unless_phase: "b" };

test.each<[string, () => unknown, unknown]>([
  ["blanks in a turn with calls as text", () => turns(blanks), 0],
  ["calls without an end", () => turns("f({\n".repeat(MANY)), 0],
  ["blanks after what may be a key", () => turns(`f({a${" ".repeat(100_000)}b})`), 0],
  ["escapes in arguments that are no JSON", () => turns(`f({a: "${'\\"'.repeat(60_000)}", b})`), 0],
  ["calls in calls, none of which is JSON", () => turns("f({\n".repeat(20_000) + "})".repeat(20_000)), 0],
  ["fences without an end", () => visibleText(`{${"\n```json".repeat(MANY)}`).length, 8 * MANY + 1],
  ["line ends before a phase", () => otherPhase(PHASED, `a${"\n".repeat(MANY)}b\nnext_phase: c`), "c"],
  [
    "equals signs of an MCP server",
    () => image(`${"=".repeat(MANY)}a`)?.text,
    expect.stringContaining("byte"),
  ],
  ["words of a query with many skills", () => matchSkills(manySkills, manyWords, []).length, 300],
  ["slashes of a watched path", () => isWatched({ watch_paths: [`${"/".repeat(MANY)}a`] }, "a"), false],
  ["dots of a host", () => hostFault(new URL(`http://${".".repeat(MANY)}a/`), null), null],
  ["quotes of allowed-tools", () => splitAllowedTools([`a${'"'.repeat(MANY)}b`]).length, 1],
  ["marks of commands in a skill's text", () => commandsIn("!`".repeat(MANY)), 1],
  ["open blocks of commands", () => commandsIn("```!\n".repeat(MANY)), 0],
  ["open blocks of Markdown", () => commandsIn("```md\n".repeat(MANY)), 0],
  ["backticks of a block of Markdown", () => commandsIn(`${"`".repeat(MANY)}\n`.repeat(2)), 0],
  ["blanks of a block of commands", () => commandsIn(`\`\`\`!\n${" ".repeat(MANY)}`.repeat(2)), 0],
  ["blanks of allowed-tools", () => splitAllowedTools([blanks]), ["a", "b"]],
  ["open parentheses of a skill's scope", () => left("(".repeat(MANY)), 1],
  ["open parentheses of allowed-tools", () => splitAllowedTools(["a( ".repeat(MANY)]).length, MANY],
  ["tags in a description", () => brokenUploadRules("a", "<a".repeat(MANY)).length, 1],
  ["blanks before frontmatter", () => missing(`${" ".repeat(MANY)}\nb`), MISSING],
  ["backticks before frontmatter", () => missing(`${"`".repeat(MANY)}\nb`), MISSING],
  ["a glob over a long text", () => nameMatches("*ab*".repeat(1000), "a".repeat(MANY)), false],
  ["open sets of a .hullignore", () => ignoreGlob("[".repeat(MANY)).tokens.length, MANY + 3],
  ["a long glob over a long text", () => nameMatches("a?".repeat(MANY / 2), "a".repeat(MANY)), true],
  ["blanks in the fault of hooks", () => loadFault(blanks).at, undefined],
  ["escaped quotes in uploaded hooks", () => hooks(`"${'\\"'.repeat(MANY)}`), null],
  ["classes without an end in uploaded hooks", () => hooks("/[".repeat(MANY)), null],
  ["comments without an end in uploaded hooks", () => hooks("/* ".repeat(MANY)), null],
  ["calls of a turn that have settled", () => settledBy({ record, before: settled, after: settled }), null],
  [
    "results that the model saw in part",
    () => messagesOf({ record, before: settled, after: shownInPart }).length,
    1,
  ],
  ["items that a model adds to its list", () => added(MANY / 10).includes("100000: a"), true],
  ["commas after an open brace of a glob", () => expandBraces(`{${",".repeat(MANY)}`)?.length, 1],
  ["a word without an end", () => significantWords("a".repeat(MANY)).length, 1],
  ["items of a map", () => mapped(40_000), ["completed", 40_000]],
  ["artifacts with evidence", () => selected(20_000), 20_000],
  [
    "parts of a tool's schema",
    () => rootObject(inParts(many(20_000, (i) => `p${i}`))),
    expect.objectContaining({ required: many(20_000, (i) => `p${i}`) }),
  ],
  [
    "what all alternatives of a tool's schema require",
    () => rootObject({ anyOf: [alike, { required: alike.required.toReversed() }] }),
    expect.objectContaining({ required: alike.required }),
  ],
  ["a file's long name", () => keepable(`${"a".repeat(MANY)}.txt`).length, 255],
  [
    "files of one name",
    () => freelyNamed(Array.from({ length: 20_000 }, () => ({ filename: "a.txt", mime: "" }))).at(-1),
    expect.objectContaining({ path: "a-20000.txt" }),
  ],
  ["deltas of a client's stream, in two rounds", () => streamed(200_000), 1_600_000],
  [
    "steps of a turn with a long call",
    () => many(100_000, String).filter(() => skipped({}, SPEC.loop_detect, "f", asked()) !== null).length,
    0,
  ],
  [
    "counts that a chat completion adds with each chunk",
    () =>
      folded(new OpenAiStream(TARGET, {}), [
        ...many(50_000, (i) => `k${i}`).map((name) => ({ usage: { [name]: 1 } })),
        ended,
      ]),
    expect.objectContaining({ usage: expect.objectContaining({ k0: 1, k49999: 1 }) }),
  ],
  [
    "ends of a message with many members",
    () =>
      folded(new AnthropicStream(TARGET, {}), [
        {
          type: "message_start",
          message: Object.fromEntries(many(20_000, (i) => `k${i}`).map((k) => [k, 1])),
        },
        ...many(20_000, String).map((a) => ({ type: "message_delta", delta: { stop_details: { a } } })),
        { type: "message_stop" },
      ]),
    expect.objectContaining({ k0: 1, stop_details: { a: "19999" } }),
  ],
  ["many parameters of a configuration", () => configured(many(100_000, (i) => `p${i}`)), 100_000],
  ["links of a body, in a folder of many files", () => missingReferences(links, files).length, 50_000],
  ["files that a body names, in such a folder", () => missingFiles(named, files).length, 50_000],
  [
    "many places of what a model replaces in a long line",
    () => edited("a".repeat(2 * MANY), "a", "b", false),
    { fault: expect.stringContaining("2000000 times") },
  ],
  [
    "code that holds the mark for its end",
    () => codeCommand("code_execution", { code: `END_OF_CODE${"_".repeat(MANY)}` }, "").length,
    expect.any(Number),
  ],
  ["results in the order of their calls", () => withResults(called(IDS)).length, 2],
  ["results in another order", () => withResults(called(IDS.toReversed())).length, 2],
])("%s take linear time", async (_, read, expected) => {
  expect(await read()).toEqual(expected);
});
