/** The transcript of a session's records: its messages are those that Hull sent to models. */
import { expect, it } from "vitest";
import { applyAgentRecord, fold } from "../../../src/engine/agent/apply.ts";
import type { AgentRecord, Delivery } from "../../../src/engine/agent/records.ts";
import { EMPTY_SESSION } from "../../../src/engine/agent/state.ts";
import { History, HistoryReader, historyOf, stateBefore } from "../../../src/llm/history.ts";
import { messageJson } from "../../../src/llm/messages.ts";
import { emptyTranscript } from "../../../src/llm/transcript.ts";
import { type Played, play, type Script, started, tool } from "../engine/agent/harness.ts";

const says = (text: string, delivery: Delivery): AgentRecord => ({
  v: 1,
  at: 0,
  type: "message_received",
  run: "run_1",
  delivery,
  message: { role: "user", content: [{ type: "text", text }] },
});
const ids = () => "id";
const image = { type: "image" as const, url: "https://e.example/a.png" };

const told = ({ all }: Played, script: Script) =>
  historyOf(emptyTranscript("t"), [started(script.spec ?? {}), ...all], ids).transcript;

it.each<[string, Script]>([
  [
    "messages that come during tools follow their results",
    {
      spec: { tools: [tool("look")] },
      replies: [{ calls: [["look", {}]] }, "seen", "and that"],
      incoming: {
        1: [
          says("now", "interrupt_immediate"),
          says("last", "wait_for_completion"),
          says("then", "finish_step"),
        ],
      },
    },
  ],
  [
    "an image that a tool shows",
    {
      spec: { tools: [tool("look"), tool("draw")] },
      replies: [
        {
          calls: [
            ["draw", {}],
            ["look", {}],
          ],
        },
        "seen",
      ],
      results: { draw: [{ parts: [image] }] },
    },
  ],
])("%s", async (_, script) => {
  const played = await play(script);
  expect(played.run.status).toBe("done");
  expect(told(played, script).messages).toEqual(played.state.visible.flatMap(messageJson));
});

it("a message that came before the run precedes its prompt; one that no model has read comes at the end", async () => {
  const script: Script = { replies: ["one"], incoming: {} };
  const played = await play(script);
  const reader = new HistoryReader(ids, emptyTranscript("t"));
  const all = [says("early", "finish_step"), started({}), ...played.records, says("late", "finish_step")];
  const texts = [...fold(all)]
    .flatMap((applied) => reader.read(applied).messages)
    .map(({ content }) => content);
  expect(texts).toEqual(["early", "go", "one"]);
  expect(reader.waiting(all.reduce(applyAgentRecord, EMPTY_SESSION)).messages).toEqual([
    { role: "user", content: "late" },
  ]);
});

it("a daemon's output after its session was emptied is streamed, although its run began before", async () => {
  const { records, run } = await play({ replies: ["awake"] });
  const at = { v: 1 as const, at: 0 };
  const wake = { reason: "timer" as const, feedback: null, messages: [], watch_paths: [], resumed: false };
  const after: AgentRecord[] = [
    { ...at, type: "session_reset" },
    { ...at, type: "woke", run: "run_1", wake },
    ...records,
  ];
  const reader = new HistoryReader(ids, emptyTranscript("t"));
  const told = [...fold(after, stateBefore(run.spec))];
  expect(told.flatMap((applied) => reader.read(applied).messages)).toMatchObject([{ content: "awake" }]);
});

it("records that are read later do not change what the transcript returned before", async () => {
  const { records } = await play({
    spec: { tools: [tool("look")] },
    replies: [{ calls: [["look", {}]] }, "one"],
  });
  const history = new History(emptyTranscript("t"), ids);
  const [first, ...rest] = fold([started({ tools: [tool("look")] }), ...records]);
  if (first !== undefined) history.read(first);
  const { transcript, trace } = history.recorded;
  for (const applied of rest) history.read(applied);
  expect([transcript.messages.length, transcript.events.length, trace]).toEqual([1, 1, []]);
  expect(history.recorded.transcript.messages).toHaveLength(4);
});
