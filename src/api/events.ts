/** Events of streams, as schemas and for their page in docs/. */
import type * as z from "zod/mini";
import { EVENTS } from "../run/event-shapes.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { ref, TEXT } from "./openapi-parts.ts";
import { schemaOf } from "./shape-schema.ts";

/** Every event by name: the schema of its `data`. */
export function eventData(): [name: string, data: JsonObject][] {
  return Object.entries(EVENTS).map(([name, shape]: [string, z.core.$ZodType]) => [name, schemaOf(shape)]);
}

/** `components/schemas` of events: `event.<name>` each, `Event` for any of them, `Events` for a stream. */
export function eventSchemas(): JsonObject {
  const all = eventData();
  const each = all.map(([name, { description = name, ...data }]): [string, JsonObject] => [
    `event.${name}`,
    {
      type: "object",
      description,
      required: ["id", "event", "data"],
      properties: { id: TEXT, event: { const: name }, data },
    },
  ]);
  return {
    ...Object.fromEntries(each),
    Event: {
      description: "One server-sent event. `id` is `<execution or session id>:<seq>`.",
      oneOf: each.map(([name]) => ref("schemas", name)),
    },
    Events: {
      type: "string",
      description:
        "Server-sent events, `done` always last. Each `data` is one JSON object on one line; `: hb` is a comment that keeps the connection alive.",
      contentMediaType: "text/event-stream",
      contentSchema: { type: "array", items: ref("schemas", "Event") },
    },
  };
}
