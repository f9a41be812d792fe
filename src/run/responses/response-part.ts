/** The parts of a response other than text and reasoning, as the run's log keeps them. */

import * as z from "zod/mini";
import { TOOL_STATUSES } from "../../engine/agent/records.ts";
import type { Block, ToolCallBlock } from "../../engine/messages.ts";
import { FAULT_CATEGORIES } from "../../engine/tool-fault.ts";
import { blockShape, toolCallShape } from "../../llm/blocks.ts";
import type { ShownResult } from "../../llm/openai-api/shell-items.ts";
import { fromJson } from "../../skill/json.ts";
import type { RunEvent } from "../events.ts";

/** A file that the response leaves in its container. */
export interface CitedFile {
  container_id: string;
  /** In the container: `cfile_…`. */
  file_id: string;
  filename: string;
}

export type ResponsePart =
  | { turn: Block[] }
  /** A call that Hull executes. */
  | { call: ToolCallBlock }
  | { result: ShownResult }
  | { files: CitedFile[] };

const partShape: z.ZodMiniType<ResponsePart> = z.lazy(() => {
  const text = z.string();
  return z.union([
    z.object({ turn: z.array(blockShape) }),
    z.object({ call: toolCallShape() }),
    z.object({
      result: z.object({
        id: text,
        name: text,
        commands: z.int(),
        stderr: z.exactOptional(text),
        content: text,
        exit_code: z.nullable(z.int()),
        error_category: z.nullable(z.catch(z.enum(FAULT_CATEGORIES), "tool_error")),
        status: z.catch(z.enum(TOOL_STATUSES), "error"),
      }),
    }),
    z.object({ files: z.array(z.object({ container_id: text, file_id: text, filename: text })) }),
  ]);
});

/** The event that carries a part. */
export const partEvent = (part: ResponsePart): RunEvent => ({ event: "response_part", data: fromJson(part) });

/** The part that an event carries. */
export const partOf = (data: unknown): ResponsePart => partShape.parse(data);
