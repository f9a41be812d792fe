/** One HTTP response that follows a frame log, at the pace of its reader. */
import type { ServerResponse } from "node:http";
import { encodeFrame, FRAME, HEARTBEAT_MS } from "../src/tool/protocol.ts";
import type { FrameLog } from "./frame-log.ts";

const HEARTBEAT = encodeFrame(FRAME.heartbeat, new Uint8Array(0));

/**
 * The head and the first frames wait this long for more, so that the output of a short process goes out in one write and
 * wakes its reader once.
 */
const FIRST_WRITE_MS = 4;

/**
 * Sends `log` from `offset` to its end. `onGone` is called once, with whether the reader left before the log was
 * complete. Everything appended in one turn of the event loop goes out in one write; heartbeats go only between frames.
 */
export function attach(
  log: FrameLog,
  response: ServerResponse,
  offset: number,
  onGone: (early: boolean) => void,
): void {
  if (response.closed) {
    onGone(true);
    return;
  }
  let position = offset;
  let busy = false;
  let closed = false;
  log.retain();

  const heartbeat = setTimeout(() => {
    if (!busy && position === log.size) response.write(HEARTBEAT);
    heartbeat.refresh();
  }, HEARTBEAT_MS);

  const send = (bytes: Uint8Array): void => {
    position += bytes.length;
    heartbeat.refresh();
    if (response.write(bytes)) return;
    busy = true;
    response.once("drain", () => {
      busy = false;
      pump();
    });
  };

  const pump = (): void => {
    while (!busy && !closed) {
      const next = log.read(position);
      if (next === null) {
        if (log.complete) response.end();
        else if (!response.headersSent) response.flushHeaders();
        return;
      }
      if (next instanceof Promise) {
        busy = true;
        next.then(
          (bytes) => {
            busy = false;
            send(bytes);
            pump();
          },
          () => response.destroy(),
        );
      } else if (log.complete && position + next.length === log.size) {
        position = log.size;
        response.end(next);
        return;
      } else {
        send(next);
      }
    }
  };

  let begun = log.complete;
  const begin = (): void => {
    begun = true;
    pump();
  };
  const first = setTimeout(begin, FIRST_WRITE_MS);
  const unsubscribe = log.subscribe(() => {
    if (begun) pump();
    else if (log.complete) begin();
  });
  response.once("close", () => {
    closed = true;
    clearTimeout(heartbeat);
    clearTimeout(first);
    unsubscribe();
    log.release();
    onGone(!response.writableFinished);
  });
  response.writeHead(200, { "content-type": "application/octet-stream" });
  if (begun) setImmediate(pump);
}
