/** The wire forms of a fake provider's turn: OpenAI's completions, and both of Ollama's native endpoints. */
import { answer, type FakeAnswer, texts, usageOf } from "./fake-answers.ts";
import type { FakeRequest, FakeTurn } from "./fake-turn.ts";

let serial = 0;

export function completionAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const used = usageOf(turn);
  const pieces = texts(turn, request);
  const head = {
    id: `cmpl-fake-${++serial}`,
    object: "text_completion",
    created: Math.floor(request.at / 1000),
    model: request.body.model,
  };
  const finish_reason = turn.stop ?? "stop";
  const usage = {
    prompt_tokens: used.input,
    completion_tokens: used.output,
    total_tokens: used.input + used.output,
  };
  const chunk = (text: string, finish: string | null, delta: boolean) => {
    const choices = [{ index: 0, text, logprobs: null, finish_reason: finish }];
    return { text: `data: ${JSON.stringify({ ...head, choices })}\n\n`, delta };
  };
  const events = [
    ...pieces.map((text) => chunk(text, null, true)),
    chunk("", finish_reason, false),
    { text: `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`, delta: false },
    { text: "data: [DONE]\n\n", delta: false },
  ];
  const choices = [{ index: 0, text: pieces.join(""), logprobs: null, finish_reason }];
  return answer({ ...head, choices, usage }, events, (status) => ({
    error: { message: `fake failure ${status}`, type: "invalid_request_error", param: null, code: null },
  }));
}

/** Nanoseconds and counts of the last line. */
const stats = (turn: FakeTurn) => {
  const used = usageOf(turn);
  return {
    total_duration: 4883583458,
    load_duration: 1334875,
    prompt_eval_count: used.input,
    prompt_eval_duration: 342546000,
    eval_count: used.output,
    eval_duration: 4535599000,
  };
};

const ollamaError = (status: number) => ({ error: `fake failure ${status}` });

export function ollamaAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const head = { model: request.body.model, created_at: new Date(request.at).toISOString() };
  const pieces = texts(turn, request);
  const { reasoning } = turn;
  const tool_calls = (turn.tool_calls ?? []).map(({ id, name, arguments: args }) => ({
    ...(id === undefined ? {} : { id }),
    function: { name, arguments: args },
  }));
  const end = { done: true, done_reason: turn.stop ?? "stop", ...stats(turn) };
  const events: FakeAnswer["events"] = [];
  const emit = (message: object, more: object = { done: false }, delta = false): void => {
    const line = { ...head, message: { role: "assistant", content: "", ...message }, ...more };
    events.push({ text: `${JSON.stringify(line)}\n`, delta });
  };
  if (reasoning !== undefined) emit({ thinking: reasoning });
  for (const content of pieces) emit({ content }, undefined, true);
  if (tool_calls.length > 0) emit({ tool_calls });
  emit({}, end);
  const message = {
    role: "assistant",
    content: pieces.join(""),
    ...(reasoning === undefined ? {} : { thinking: reasoning }),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
  };
  return { ...answer({ ...head, message, ...end }, events, ollamaError), lines: true };
}

export function ollamaGenerateAnswer(turn: FakeTurn, request: FakeRequest): FakeAnswer {
  const head = { model: request.body.model, created_at: new Date(request.at).toISOString() };
  const pieces = texts(turn, request);
  const end = { done: true, done_reason: turn.stop ?? "stop", ...stats(turn) };
  const line = (response: string, more: object, delta: boolean) => ({
    text: `${JSON.stringify({ ...head, response, ...more })}\n`,
    delta,
  });
  const events = [...pieces.map((text) => line(text, { done: false }, true)), line("", end, false)];
  return { ...answer({ ...head, response: pieces.join(""), ...end }, events, ollamaError), lines: true };
}
