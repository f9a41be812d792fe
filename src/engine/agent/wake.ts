/** What a wake makes of a daemon's run (agent-runtime.md §10.1). Pure. */
import type { RunState } from "./state.ts";

/** Of what a daemon said and did it remembers so much: it may live for ever. */
const KEPT_CHARACTERS = 128 * 1024;
const KEPT_CALLS = 1000;
const KEPT_FEEDBACK = 100;

/** It begins anew: what counts within a turn, and what it does again at each wake, does not add up over wakes. */
export function wokenRun(run: RunState): RunState {
  return {
    ...run,
    ...{ stage: "open", status: "running", wakeIterations: 0, textOnly: 0, loop: {} },
    texts: latestTexts(run.texts),
    tools_used: run.tools_used.slice(-KEPT_CALLS),
    feedback: run.feedback.slice(-KEPT_FEEDBACK),
  };
}

function latestTexts(texts: readonly string[]): string[] {
  let characters = 0;
  const from = texts.findLastIndex((text) => {
    characters += text.length;
    return characters > KEPT_CHARACTERS;
  });
  return texts.slice(from + 1);
}
