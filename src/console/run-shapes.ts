/** How pages name runs and their states. */
import { html } from "hono/html";
import type { RunEntry } from "../session/run-entry.ts";
import type { Html } from "./text.ts";

const COLOURS: Readonly<Record<string, string>> = {
  done: "good",
  completed: "good",
  error: "bad",
  failed: "bad",
  stuck: "bad",
  watchdog: "bad",
  budget_exhausted: "bad",
  stopped: "dim",
  waiting: "wait",
  paused: "wait",
  awaiting_approval: "wait",
  awaiting_tool: "wait",
};

/** A state as a label. */
export function stateLabel(state: string): Html {
  return html`<span class="state ${COLOURS[state] ?? ""}">${state.replaceAll("_", " ")}</span>`;
}

const REASONS: Readonly<Record<string, string>> = {
  running: "It is running.",
  done: "It ended because the model had nothing more to do.",
  idle: "It waits for an event, a message or its next time.",
  awaiting_tool: "It waits for its client to answer a tool call.",
  awaiting_approval: "It waits for a person to decide about a tool call.",
  stuck: "It ended because the model went on writing text instead of acting, after max_nudges reminders.",
  budget_exhausted: "It ended because its budget of model calls, tokens or money was used up.",
  watchdog: "It ended because nothing woke it for too long.",
  failed: "It ended without a successful call of a tool that it requires.",
  cancelled: "It ended because somebody cancelled it.",
};

/** Why a run ended, or why it waits, in one sentence. */
export function reason(run: Pick<RunEntry, "kind" | "state" | "code" | "settled_at">): string {
  const { kind, state, code } = run;
  if (code !== null && state !== "cancelled" && state !== "budget_exhausted")
    return `It ended with the error ${code}.`;
  // The skill may be a script.
  if (kind === "call" && state === "done") return "It ended with an answer.";
  if (state === "idle" && isOver(run)) return "It ended because its daemon was stopped while it was idle.";
  return REASONS[state] ?? "It ended.";
}

/** Whether nothing more will happen. */
export const isOver = ({ settled_at }: Pick<RunEntry, "settled_at">): boolean => settled_at !== null;

/** The page of a run; workflow runs have a different kind of page. */
export const pathOf = ({ id, kind }: Pick<RunEntry, "id" | "kind">): string =>
  kind === "workflow" ? `/console/workflows/runs/${id}` : `/console/runs/${id}`;

/** Calls of these operations have the operation's name in place of a skill's. So do operations with a slash in the name. */
const OPERATIONS: readonly string[] = ["runs", "messages", "responses"];

/** What a run executes, with a link to it. */
export function runName({ name, session, kind }: Pick<RunEntry, "name" | "session" | "kind">): Html {
  if (kind === "workflow") return html`${name ?? kind}`;
  if (session !== null) {
    const of = name === null ? "" : html`<a href="/console/skills/${name}">${name}</a>, `;
    return html`${of}<a class="id" href="/console/sessions/${session}">${session}</a>`;
  }
  if (name === null) return html`${kind}`;
  return name.includes("/") || OPERATIONS.includes(name)
    ? html`${name}`
    : html`<a href="/console/skills/${name}">${name}</a>`;
}
