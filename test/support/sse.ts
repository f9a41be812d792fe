/**
 * Reads server-sent events as a client does, checks that Hull's own events match the documents, and records when each
 * arrived.
 */
import { EVENTS } from "../../src/run/event-shapes.ts";

export interface SseEvent {
  id: string;
  event: string;
  // The events' members differ by name; tests compare them as a whole.
  data: Record<string, unknown>;
  /** Unix ms. */
  at: number;
}

/** All events of a response, to its end; `seen` is called with each as it arrives. */
export async function readEvents(
  response: Response,
  seen: (event: SseEvent) => void = () => {},
): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const event = parse(text.slice(0, end));
      text = text.slice(end + 2);
      if (event === null) continue;
      events.push(event);
      seen(event);
    }
  }
  return events;
}

function parse(block: string): SseEvent | null {
  const fields = new Map(
    block.split("\n").map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  const data = fields.get("data");
  if (data === undefined) return null;
  const id = fields.get("id") ?? "";
  const event = fields.get("event") ?? "";
  // Other ids are those of an upstream.
  if (/^[A-Za-z0-9._:-]+:\d+$/.test(id)) checkEvent(event, JSON.parse(data));
  return { id, event, data: JSON.parse(data), at: Date.now() };
}

const isKnown = (name: string): name is keyof typeof EVENTS => Object.hasOwn(EVENTS, name);

/** @throws where a client that knows the documented events would not know this one */
export function checkEvent(name: string, data: object): void {
  const fault = faultOf(name, data);
  if (fault !== null) throw new Error(`event ${name} ${fault}: ${JSON.stringify(data).slice(0, 500)}`);
}

function faultOf(name: string, data: object): string | null {
  if (!isKnown(name)) return "is not documented";
  const parsed = EVENTS[name].safeParse(data);
  if (!parsed.success) return JSON.stringify(parsed.error.issues);
  const unknown = Object.keys(data).filter((key) => !Object.hasOwn(parsed.data, key));
  return unknown.length === 0 ? null : `has the undocumented ${unknown.join(", ")}`;
}

/** The text of all events of one name, joined. */
export function textOf(events: readonly SseEvent[], name: "delta" | "stderr" | "thought"): string {
  return events.flatMap((e) => (e.event === name ? [String(e.data.text ?? "")] : [])).join("");
}

/** The data of the events of one name. */
export function dataOf(events: readonly SseEvent[], name: string): Record<string, unknown>[] {
  return events.flatMap((e) => (e.event === name ? [e.data] : []));
}
