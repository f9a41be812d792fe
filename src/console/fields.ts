/** Reads the fields of a form. */
import { firstOf } from "../cut.ts";
import { BadRequest } from "../errors/request.ts";
import { parsedJson } from "../skill/json-depth.ts";

/** The text of a field, without spaces around it; empty if the form lacks it. */
export const textOf = (fields: FormData, name: string): string => String(fields.get(name) ?? "").trim();

/** The text of a field as it was typed. @throws BadRequest if it is blank */
export function typedIn(fields: FormData, name: string): string {
  const text = String(fields.get(name) ?? "");
  if (text.trim() === "")
    throw new BadRequest({
      detail: `The field ${name} is blank. Write something there, then send the form.`,
    });
  return text;
}

/** Checks that the user typed the id of what the form destroys (`sureField`). @throws BadRequest */
export function checkSure(fields: FormData, id: string, to: string): void {
  if (textOf(fields, "sure") !== id) throw new BadRequest({ detail: `Type ${id} to ${to}.` });
}

/** The value of a field as JSON; `undefined`: it is empty. @throws BadRequest for any other text */
export function jsonOf(fields: FormData, name: string): unknown {
  const text = textOf(fields, name);
  if (text === "") return undefined;
  const value = parsedJson(text);
  if (value !== undefined) return value;
  throw new BadRequest({ detail: `The field ${name} takes JSON, which this is not: ${firstOf(text, 80)}` });
}
