/**
 * Spans of runs. Workers observability gets them (https://developers.cloudflare.com/workers/observability/traces/) and
 * nests them by the async context in which they are opened. With `HULL_TRACE` the log line of the request or the
 * execution has them too. A platform trace ends with its call, so a run that outlives its call, such as an execution,
 * has its spans only in the log. If neither is wanted, a span costs one check.
 */
import { tracing } from "cloudflare:workers";
import { toHullError } from "../errors.ts";
import type { RunContext, SpanNote } from "./context.ts";

export type Attributes = Omit<SpanNote, "name" | "at_ms" | "duration_ms">;

/** An open span. Attributes are computed only if the span is recorded. */
export interface OpenSpan {
  set(attributes: () => Attributes): void;
}

const UNWANTED: OpenSpan = { set() {} };

/** The most spans of one log line, whose size is limited. */
const MAX_NOTES = 200;

/** Whether the platform traces what runs now. Each answer makes an object of the platform, so a request asks once. */
export const isTraced = (): boolean => tracing.getActiveSpan()?.isTraced === true;

/** Does work in a span of its own. If the work fails, the span gets only the error's code. */
export function inSpan<T>(
  context: RunContext,
  name: string,
  attributes: () => Attributes,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  const { traced = isTraced() } = context;
  if (!traced && context.spans === undefined) return work(UNWANTED);
  const carryOut = async (span: Span | null): Promise<T> => {
    const note = begin(context, name);
    const set = (more: Attributes): void => {
      span?.setAttributes(more);
      Object.assign(note.attributes, more);
    };
    set(attributes());
    try {
      return await work({ set: (more) => set(more()) });
    } catch (error) {
      set({ "error.type": toHullError(error).code });
      span?.setStatus({ code: "error" });
      throw error;
    } finally {
      note.end();
    }
  };
  return traced ? tracing.enterSpan(name, carryOut) : carryOut(null);
}

/** Opens a span that ends in another place. The returned function ends it; later calls do nothing. */
export function openSpan(context: RunContext, name: string): (attributes?: Attributes) => void {
  const { traced = isTraced() } = context;
  const span = traced ? tracing.startSpan(name) : null;
  if (span === null && context.spans === undefined) return () => {};
  const note = begin(context, name);
  let open = true;
  return (attributes = {}) => {
    if (!open) return;
    open = false;
    span?.setAttributes(attributes).end();
    Object.assign(note.attributes, attributes);
    note.end();
  };
}

function begin(context: RunContext, name: string): { attributes: Attributes; end(): void } {
  const begun = Date.now();
  const attributes: Attributes = {};
  return {
    attributes,
    end() {
      const { spans, startedAt } = context;
      if (spans === undefined) return;
      const at_ms = begun - startedAt;
      if (spans.length >= MAX_NOTES) {
        // A span that encloses others ends after them, and says more than the last of them.
        if (at_ms > (spans.at(-1)?.at_ms ?? 0)) return;
        spans.pop();
      }
      spans.push({ name, at_ms, duration_ms: Date.now() - begun, ...attributes });
    },
  };
}
