/** The one answer of a sub-agent, however it ended. Pure. */
import * as z from "zod/mini";
import { about, count, flag, json, maybe, type Shaped, text } from "../../answer-shape.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** How a sub-agent's run ended. */
interface Ended {
  session_id: string;
  /** The result's document; absent: none. */
  result: JsonObject | undefined;
  /** The problem document of its failure; absent: it did not fail. */
  error: JsonObject | undefined;
  /** Input and output of all its calls, and of those below it. */
  tokens: number;
  token_budget: number | null;
}

type Envelope = Shaped<typeof envelopeShape>;
export const envelopeShape = () =>
  z.object({
    ok: flag(),
    status: text(),
    summary: text(),
    artifacts: z.array(json()),
    evidence_added: count(),
    tokens_used: count(),
    budget_exceeded: flag(),
    session_id: text(),
    data: maybe(json()),
    warnings: maybe(about(z.array(json()), "Those of the run's result, e.g. that the model refused.")),
    error: maybe(z.object({ category: text(), message: text(), tool: maybe(text()) })),
  });

/** The envelope. `ok` is false if the run failed, its data misses the schema, or a tool call was rejected, in this order. */
export function envelopeOf({ session_id, result = {}, error, tokens, token_budget }: Ended): Envelope {
  const artifacts = Array.isArray(result.artifacts) ? result.artifacts : [];
  const fault = faultOf(result, error);
  return {
    ok: fault === null,
    status: textOf(result.status, "error"),
    summary: textOf(result.visible_text, ""),
    artifacts,
    evidence_added: artifacts.length,
    tokens_used: tokens,
    budget_exceeded: token_budget !== null && tokens >= token_budget,
    session_id,
    ...(result.data === undefined || error !== undefined ? {} : { data: result.data }),
    ...(Array.isArray(result.warnings) ? { warnings: result.warnings } : {}),
    ...(fault === null ? {} : { error: fault }),
  };
}

function faultOf(
  { rejected_tools }: JsonObject,
  error: JsonObject | undefined,
): NonNullable<Envelope["error"]> | null {
  if (error !== undefined) {
    const { code, category = categoryOf(code), detail, tool } = error;
    return {
      category: textOf(category, "runtime"),
      message: textOf(detail, "The run failed."),
      ...(typeof tool === "string" ? { tool } : {}),
    };
  }
  const [tool] = Array.isArray(rejected_tools) ? rejected_tools : [];
  if (typeof tool !== "string") return null;
  const message = `A call of ${tool} was not allowed.`;
  return { category: "permission_denied", message, tool };
}

const categoryOf = (code: Json | undefined): string => (code === "schema_validation" ? code : "runtime");

const textOf = (value: Json | undefined, otherwise: string): string =>
  typeof value === "string" ? value : otherwise;
