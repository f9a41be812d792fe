/** Events of runs: their types, which follow from the shapes, and their form on the wire. */
import type * as z from "zod/mini";
import { wellFormedJson } from "../bytes.ts";
import type { EVENTS } from "./event-shapes.ts";

type Shapes = typeof EVENTS;
type Name = keyof Shapes;

/** One event of a stream, by its name. */
export type RunEvent = { [name in Name]: { event: name; data: z.infer<Shapes[name]> } }[Name];

/** The events that hold a piece of a text, or bytes instead. */
export type PieceName = {
  [name in Name]: string extends keyof z.infer<Shapes[name]>
    ? never
    : "b64" extends keyof z.infer<Shapes[name]>
      ? name
      : never;
}[Name];

/** The event of a stream that Hull itself sent. @param data as JSON text */
export const eventOf = (name: string, data: string): RunEvent =>
  JSON.parse(`{"event":${JSON.stringify(name)},"data":${data}}`);

/** After this silence in ms, a comment keeps the connection alive. */
export const HEARTBEAT_MS = 15_000;
export const HEARTBEAT = ": hb\n\n";

/** One server-sent event. @param id of an event of a run: `<run>:<seq>`, counted from 1 */
export function formatEvent(data: unknown, name?: string, id?: string): string {
  const head = `${id === undefined ? "" : `id: ${id}\n`}${name === undefined ? "" : `event: ${name}\n`}`;
  return `${head}data: ${wellFormedJson(data)}\n\n`;
}
