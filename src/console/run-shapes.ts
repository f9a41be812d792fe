/** How pages name runs and their states. */
import { html } from "hono/html";
import type { IndexedRun } from "../../typed/client/api.d.ts";
import { STATUS_TERMS } from "../engine/run-status.ts";
import type { Html } from "./text.ts";

/** What a state of a run says; those of other things have only a colour. */
const STATES: Readonly<Record<string, { tone?: string; why?: string }>> = {
  ...STATUS_TERMS,
  completed: { tone: "good" },
  stopped: { tone: "dim" },
  waiting: { tone: "wait" },
  paused: { tone: "wait" },
};

/** A state as a label. */
export function stateLabel(state: string): Html {
  return html`<span class="state ${STATES[state]?.tone ?? ""}">${state.replaceAll("_", " ")}</span>`;
}

/** Why a run ended, or why it waits, in one sentence. */
export function reason(run: Pick<IndexedRun, "kind" | "state" | "code" | "settled_at">): string {
  const { kind, state, code } = run;
  if (code !== null && state !== "cancelled" && state !== "budget_exhausted")
    return `It ended with the error ${code}.`;
  // The skill may be a script.
  if (kind === "call" && state === "done") return "It ended with an answer.";
  if (state === "idle" && isOver(run)) return "It ended because its daemon was stopped while it was idle.";
  return STATES[state]?.why ?? "It ended.";
}

/** Whether nothing more will happen. */
export const isOver = ({ settled_at }: Pick<IndexedRun, "settled_at">): boolean => settled_at !== null;

/** The page of a run; workflow runs have a different kind of page. */
export const pathOf = ({ id, kind }: Pick<IndexedRun, "id" | "kind">): string =>
  kind === "workflow" ? `/console/workflows/runs/${id}` : `/console/runs/${id}`;

/** Calls of these operations have the operation's name in place of a skill's. So do operations with a slash in the name. */
const OPERATIONS: readonly string[] = ["runs", "messages", "responses"];

/** What a run executes, with a link to it. */
export function runName({
  name,
  session,
  kind,
}: Pick<IndexedRun, "name" | "session"> & { kind: string }): Html {
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
