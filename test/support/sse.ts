/** Reads server-sent events as a client does, and notes when each arrived. */

export interface SseEvent {
  id: string;
  event: string;
  // The events' members differ by name; tests compare them as a whole.
  data: Record<string, unknown>;
  /** Unix ms. */
  at: number;
}

/** All events of a response, to its end; `seen` is told of each as it comes. */
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
  return {
    id: fields.get("id") ?? "",
    event: fields.get("event") ?? "",
    data: JSON.parse(data),
    at: Date.now(),
  };
}

/** The text of all events of one name, joined. */
export function textOf(events: readonly SseEvent[], name: "delta" | "stderr"): string {
  return events.flatMap((e) => (e.event === name ? [String(e.data.text ?? "")] : [])).join("");
}

/** The data of the events of one name. */
export function dataOf(events: readonly SseEvent[], name: string): Record<string, unknown>[] {
  return events.flatMap((e) => (e.event === name ? [e.data] : []));
}
