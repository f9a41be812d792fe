/** Follows the events of a session of a running Hull. */

import { setTimeout as sleep } from "node:timers/promises";
import { type AdminClient, eventsOf, SERVER_FLAGS } from "./admin-client.ts";
import { EventPrinter } from "./call/event-printer.ts";
import { SWITCH, usageError, VALUE } from "./command.ts";
import { writeOut } from "./terminal-text.ts";

/** Flags of the commands that show the events of a session. */
export const FOLLOW_FLAGS = { ...SERVER_FLAGS, after: VALUE, json: SWITCH };

/** @throws CommandError if it is not the number of an event */
export function eventNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw usageError("bad_arguments", `${JSON.stringify(text)} is not the number of an event.`);
}

/** Wait before a broken stream is requested again, in ms. */
const WAIT_MS = 1000;

export interface SessionEvent {
  /** Counted from 1. */
  seq: number;
  event: string;
  data: Record<string, unknown>;
}

/** The events of a session, or of a workflow run. */
type EventsRoute = "GET /sessions/{id}/events" | "GET /workflows/runs/{id}/events";

/**
 * Passes on each event until `over` says so, across broken streams. Throws `CommandError` if there is no such session
 * or no server.
 * @param after number of the last known event; `null`: only future events
 */
export async function followSession(
  server: AdminClient,
  route: EventsRoute,
  id: string,
  after: number | null,
  over: (event: SessionEvent) => boolean,
): Promise<void> {
  let seen = after ?? undefined;
  for (;;) {
    const response = await server.open(route, { path: { id }, query: { after: seen } });
    try {
      for await (const { id: place, event = "message", data } of eventsOf(response)) {
        seen = Number(place?.slice(place.lastIndexOf(":") + 1));
        if (over({ seq: seen, event, data: JSON.parse(data) })) return;
      }
    } catch {
      // The stream broke off.
    }
    await sleep(WAIT_MS);
  }
}

/**
 * Shows the events of a session that `followSession` passes on: with `json` one per line, otherwise text on stdout, and
 * tool calls and notes on stderr.
 * @param note an additional text about an event; `""`: none
 * @param over says which event is the last; absent: none is
 */
export async function tailSession(
  server: AdminClient,
  id: string,
  {
    after,
    json,
    note,
    over = () => false,
  }: {
    after: number | null;
    json: boolean;
    note: (event: SessionEvent) => string;
    over?: (event: SessionEvent) => boolean;
  },
): Promise<void> {
  const printer = new EventPrinter();
  await followSession(server, "GET /sessions/{id}/events", id, after, (received) => {
    const { event, data } = received;
    if (json) writeOut(`${JSON.stringify(received)}\n`);
    else {
      printer.print(event, data);
      if (event === "round" || event === "done") printer.print("delta", { text: "\n" });
      const said = note(received);
      if (said !== "") printer.say(said);
    }
    return over(received);
  });
}
