/** The wire form of a fake provider's turn in OpenAI's Responses endpoint. */
import { answer, type FakeAnswer, texts, usageOf } from "./fake-answers.ts";
import type { FakeRequest, FakeTurn } from "./fake-turn.ts";

let serial = 0;

type Item = { id: string; type: string; [member: string]: unknown };

export function responsesAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const id = `resp_fake_${++serial}`;
  const used = usageOf(turn);
  const pieces = texts(turn, request);
  const events: FakeAnswer["events"] = [];
  const emit = (type: string, data: object, delta = false): void => {
    const event = { type, sequence_number: events.length, ...data };
    events.push({ text: `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`, delta });
  };
  const head = {
    id,
    object: "response",
    created_at: Math.floor(request.at / 1000),
    model: request.body.model,
    error: null,
    incomplete_details: null,
    instructions: request.body.instructions ?? null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    tool_choice: request.body.tool_choice ?? "auto",
    tools: request.body.tools ?? [],
  };
  const begun = { ...head, status: "in_progress", output: [], usage: null };
  emit("response.created", { response: begun });
  emit("response.in_progress", { response: begun });
  const output: Item[] = [];
  const add = (empty: Item, whole: Item, between: (place: object) => void): void => {
    const output_index = output.length;
    emit("response.output_item.added", { output_index, item: empty });
    between({ output_index, item_id: whole.id });
    emit("response.output_item.done", { output_index, item: whole });
    output.push(whole);
  };
  const { reasoning, refusal } = turn;
  if (reasoning !== undefined) {
    const item = { id: `rs_${serial}`, type: "reasoning", encrypted_content: `enc:${reasoning}` };
    const part = { type: "summary_text", text: reasoning };
    add({ ...item, summary: [] }, { ...item, summary: [part] }, (place) => {
      const at = { ...place, summary_index: 0 };
      emit("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
      emit("response.reasoning_summary_text.delta", { ...at, delta: reasoning });
      emit("response.reasoning_summary_text.done", { ...at, text: reasoning });
      emit("response.reasoning_summary_part.done", { ...at, part });
    });
  }
  for (const [n, { query, found }] of (turn.searches ?? []).entries()) {
    const common = { call_id: null, execution: "server", status: "completed" };
    const call = { id: `tsc_${serial}_${n}`, type: "tool_search_call", ...common, arguments: { query } };
    add(call, call, () => undefined);
    const tools = found.map((name) => ({ type: "function", name, parameters: {}, strict: false }));
    const result = { id: `tso_${serial}_${n}`, type: "tool_search_output", ...common, tools };
    add(result, result, () => undefined);
  }
  const parts = [
    ...(pieces.length > 0
      ? [{ type: "output_text", text: pieces.join(""), annotations: [], logprobs: [] }]
      : []),
    ...(refusal === undefined ? [] : [{ type: "refusal", refusal }]),
  ];
  if (parts.length > 0) {
    const message = { id: `msg_${serial}`, type: "message", role: "assistant" };
    const empty = { ...message, status: "in_progress", content: [] };
    add(empty, { ...message, status: "completed", content: parts }, (place) => {
      for (const [content_index, part] of parts.entries()) {
        const at = { ...place, content_index };
        const blank = part.type === "refusal" ? { refusal: "" } : { text: "" };
        emit("response.content_part.added", { ...at, part: { ...part, ...blank } });
        if (part.type === "refusal") {
          emit("response.refusal.delta", { ...at, delta: refusal });
          emit("response.refusal.done", { ...at, refusal });
        } else {
          for (const delta of pieces)
            emit("response.output_text.delta", { ...at, delta, logprobs: [] }, true);
          emit("response.output_text.done", { ...at, text: pieces.join(""), logprobs: [] });
        }
        emit("response.content_part.done", { ...at, part });
      }
    });
  }
  for (const [n, { id: given, name, arguments: args }] of (turn.tool_calls ?? []).entries()) {
    const json = typeof args === "string" ? args : JSON.stringify(args);
    const item = {
      id: `fc_${serial}_${n}`,
      type: "function_call",
      call_id: given ?? `call_fake_${serial}_${n}`,
      name,
    };
    add(
      { ...item, arguments: "", status: "in_progress" },
      { ...item, arguments: json, status: "completed" },
      (place) => {
        const half = Math.ceil(json.length / 2);
        for (const delta of [json.slice(0, half), json.slice(half)]) {
          emit("response.function_call_arguments.delta", { ...place, delta });
        }
        emit("response.function_call_arguments.done", { ...place, name, arguments: json });
      },
    );
  }
  const stopped =
    turn.stop === undefined || turn.stop === "completed"
      ? { status: "completed" }
      : { status: "incomplete", incomplete_details: { reason: turn.stop } };
  const whole = {
    ...head,
    ...stopped,
    output,
    usage: {
      input_tokens: used.input,
      input_tokens_details: { cached_tokens: used.cache_read, cache_write_tokens: used.cache_write },
      output_tokens: used.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: used.input + used.output,
    },
  };
  emit(`response.${stopped.status}`, { response: whole });
  return answer(whole, events, (status) => ({
    error: { message: `fake failure ${status}`, type: "invalid_request_error", param: null, code: null },
  }));
}
