/** The wire forms of a fake provider's turn, in the protocols of Anthropic and OpenAI. */
import type { FakeRequest, FakeTurn } from "./fake-turn.ts";

export interface FakeAnswer {
  /** The unstreamed document. */
  whole: object;
  /** Server-sent events; `delta`: it carries text. */
  events: { text: string; delta: boolean }[];
  /** Index of the last event that carries text; -1 if none does. */
  lastDelta: number;
  /** The events are lines of JSON. */
  lines?: true;
  error(status: number): object;
}

let serial = 0;

/** The text, and its pieces; an echo if the turn contains nothing else. */
export function texts(turn: FakeTurn, request: FakeRequest): string[] {
  const silent = turn.tool_calls !== undefined || turn.refusal !== undefined || turn.searches !== undefined;
  const text = turn.text ?? (silent ? [] : request.text);
  return typeof text === "string" ? [text] : text;
}

export const usageOf = (turn: FakeTurn) => ({
  input: 10,
  output: 5,
  cache_read: 0,
  cache_write: 0,
  ...turn.usage,
});

export function answer(whole: object, events: FakeAnswer["events"], error: FakeAnswer["error"]): FakeAnswer {
  return { whole, events, lastDelta: events.findLastIndex((event) => event.delta), error };
}

export function anthropicAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const id = `msg_fake_${++serial}`;
  const used = usageOf(turn);
  const pieces = texts(turn, request);
  const calls = (turn.tool_calls ?? []).map((call, n) => ({
    id: call.id ?? `toolu_fake_${serial}_${n}`,
    name: call.name,
    input: typeof call.arguments === "string" ? {} : call.arguments,
    json: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }));
  const refused = turn.refusal !== undefined;
  const stop = turn.stop ?? (refused ? "refusal" : calls.length > 0 ? "tool_use" : "end_turn");
  const stop_details = refused ? { type: "refusal", category: null, explanation: turn.refusal } : null;
  const message = { id, type: "message", role: "assistant", model: request.body.model, stop_sequence: null };
  const input = {
    input_tokens: used.input,
    cache_read_input_tokens: used.cache_read,
    cache_creation_input_tokens: used.cache_write,
  };
  const events: FakeAnswer["events"] = [];
  const emit = (type: string, data: object, delta = false): void => {
    events.push({ text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`, delta });
  };
  let index = -1;
  const block = (content_block: object, deltas: object[], delta = false): void => {
    emit("content_block_start", { index: ++index, content_block });
    for (const item of deltas) emit("content_block_delta", { index, delta: item }, delta);
    emit("content_block_stop", { index });
  };
  emit("message_start", {
    message: { ...message, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } },
  });
  emit("ping", {});
  const { reasoning } = turn;
  if (reasoning !== undefined) {
    block({ type: "thinking", thinking: "", signature: "" }, [
      { type: "thinking_delta", thinking: reasoning },
      { type: "signature_delta", signature: `sig:${reasoning}` },
    ]);
  }
  const searches = (turn.searches ?? []).flatMap(({ id: given, query, found }, n) => {
    const tool_use_id = given ?? `srvtoolu_fake_${serial}_${n}`;
    const tool_references = found.map((tool_name) => ({ type: "tool_reference", tool_name }));
    const input = { query };
    return [
      { type: "server_tool_use", id: tool_use_id, name: "tool_search_tool_bm25", input },
      {
        type: "tool_search_tool_result",
        tool_use_id,
        content: { type: "tool_search_tool_search_result", tool_references },
      },
    ];
  });
  for (const search of searches) {
    if (search.input === undefined) block(search, []);
    else {
      const partial_json = JSON.stringify(search.input);
      block({ ...search, input: {} }, [{ type: "input_json_delta", partial_json }]);
    }
  }
  if (pieces.length > 0) {
    const deltas = pieces.map((text) => ({ type: "text_delta", text }));
    block({ type: "text", text: "" }, deltas, true);
  }
  for (const call of calls) {
    const half = Math.ceil(call.json.length / 2);
    const parts = ["", call.json.slice(0, half), call.json.slice(half)];
    const deltas = parts.map((partial_json) => ({ type: "input_json_delta", partial_json }));
    block({ type: "tool_use", id: call.id, name: call.name, input: {} }, deltas);
  }
  emit("message_delta", {
    delta: { stop_reason: stop, stop_details, stop_sequence: null },
    usage: { output_tokens: used.output },
  });
  emit("message_stop", {});
  const content = [
    ...(reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: reasoning, signature: `sig:${reasoning}` }]),
    ...searches,
    ...(pieces.length > 0 ? [{ type: "text", text: pieces.join("") }] : []),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
  ];
  const usage = { ...input, output_tokens: used.output };
  const whole = { ...message, content, stop_reason: stop, stop_details, usage };
  return answer(whole, events, (status) => ({
    type: "error",
    error: { type: ANTHROPIC_ERRORS.get(status) ?? "api_error", message: `fake failure ${status}` },
  }));
}

const ANTHROPIC_ERRORS = new Map([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [529, "overloaded_error"],
]);

export function openAiAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const id = `chatcmpl-fake-${++serial}`;
  const used = usageOf(turn);
  const pieces = texts(turn, request);
  const tool_calls = (turn.tool_calls ?? []).map((call, n) => ({
    id: call.id ?? `call_fake_${serial}_${n}`,
    type: "function",
    function: {
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  const finish_reason = turn.stop ?? (tool_calls.length > 0 ? "tool_calls" : "stop");
  const usage = {
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
    prompt_tokens_details: { cached_tokens: used.cache_read },
  };
  const created = Math.floor(request.at / 1000);
  const { reasoning, refusal } = turn;
  const events: FakeAnswer["events"] = [];
  const head = { id, object: "chat.completion.chunk", created, model: request.body.model };
  const includeUsage = JSON.stringify(request.body.stream_options ?? {}).includes('"include_usage":true');
  const send = (chunk: object, delta = false): void => {
    const data = { ...head, ...(includeUsage ? { usage: null } : {}), ...chunk };
    events.push({ text: `data: ${JSON.stringify(data)}\n\n`, delta });
  };
  const emit = (delta: object, isText = false, finish: string | null = null): void =>
    send({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] }, isText);
  emit({ role: "assistant", content: tool_calls.length > 0 ? null : "" });
  if (reasoning !== undefined) emit({ reasoning_content: reasoning });
  for (const content of pieces) emit({ content }, true);
  if (refusal !== undefined) emit({ refusal });
  const searches = (turn.searches ?? []).flatMap(({ id: given, query, found }, n) => {
    const id = given ?? `call_search_${serial}_${n}`;
    const tools = found.map((name) => ({ type: "function", function: { name } }));
    return [
      { id, type: "tool_search_call", arguments: { query } },
      { type: "tool_search_output", call_id: id, tools },
    ];
  });
  for (const [n, search] of searches.entries()) emit({ tool_calls: [{ index: n, ...search }] });
  for (const [n, call] of tool_calls.entries()) {
    const index = searches.length + n;
    const { name, arguments: json } = call.function;
    const half = Math.ceil(json.length / 2);
    emit({ tool_calls: [{ index, id: call.id, type: "function", function: { name, arguments: "" } }] });
    for (const piece of [json.slice(0, half), json.slice(half)]) {
      emit({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  emit({}, false, finish_reason);
  if (includeUsage) send({ choices: [], usage });
  events.push({ text: "data: [DONE]\n\n", delta: false });
  const message = {
    role: "assistant",
    content: pieces.length > 0 ? pieces.join("") : null,
    refusal: refusal ?? null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(tool_calls.length + searches.length > 0 ? { tool_calls: [...searches, ...tool_calls] } : {}),
  };
  const whole = {
    id,
    object: "chat.completion",
    created,
    model: request.body.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage,
  };
  return answer(whole, events, (status) => ({
    error: {
      message: `fake failure ${status}`,
      type: status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error",
      param: null,
      code: null,
    },
  }));
}
