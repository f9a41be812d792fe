/** A server-sent event of Anthropic's streams, whose name is its type. */
export const formatted = (event: object): string =>
  `event: ${"type" in event ? event.type : "message"}\ndata: ${JSON.stringify(event)}\n\n`;
