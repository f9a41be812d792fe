/** The warnings of a run's result. */
import { html } from "hono/html";
import * as z from "zod/mini";
import type { Html } from "./text.ts";

const shape = z.array(z.looseObject({ code: z.string(), message: z.string() }));

/** A note for each. @param warnings a list of a run or of a workflow's stage; anything else counts as none */
export function warningNotes(warnings: unknown): Html[] {
  const { data = [] } = shape.safeParse(warnings);
  return data.map(({ code, message }) => html`<p class="note wait"><strong>${code}</strong> ${message}</p>`);
}
