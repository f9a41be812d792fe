/** What pages show of a problem document in addition to its title and detail. */
import { html } from "hono/html";
import * as z from "zod/mini";
import type { Html } from "./text.ts";

const members = z.looseObject({
  detail: z.string(),
  errors: z.catch(z.array(z.looseObject({ message: z.string() })), []),
  stderr: z.catch(z.string(), ""),
  stdout: z.catch(z.string(), ""),
});
const place = z.looseObject({ path: z.optional(z.string()), pointer: z.optional(z.string()) });

/** The faults of an input, by their places, and what a failed program printed. @param problem a problem document */
export function problemMembers(problem: unknown): Html {
  const { detail, errors, stderr, stdout } = members.parse(problem);
  const faults = errors
    .filter(({ message }) => !detail.includes(message))
    .map((fault) => {
      const { path = "", pointer = path } = place.parse(fault);
      return html`<li>${pointer === "" ? "" : html`<code>${pointer}</code>: `}${fault.message}</li>`;
    });
  const printed = (name: string, text: string): Html | "" =>
    text === "" ? "" : html`<h2>${name}</h2><pre tabindex="0">${text}</pre>`;
  return html`${faults.length === 0 ? "" : html`<ul>${faults}</ul>`}${printed("Error output", stderr)}${printed("Output", stdout)}`;
}
