/** An HTTP client that costs little compared with what is measured: whole answers over kept sockets, nothing else. */
import { connect, type Socket } from "node:net";

/** Sockets that wait for a next request, by host. A server closes one that waits for some seconds. */
const idle = new Map<string, Set<Socket>>();

function taken(host: string, port: number, hostname: string): Socket {
  const kept = idle.get(host) ?? new Set();
  idle.set(host, kept);
  for (const socket of kept) {
    kept.delete(socket);
    if (socket.readable && socket.writable) return socket;
  }
  return connect(port, hostname).setNoDelay(true).setEncoding("latin1");
}

/** One POST of JSON to the end of its answer. @throws RangeError for another status than `status` */
export function leanPost(url: string, body: string, status = 200): Promise<string> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const socket = taken(host, Number(port), hostname);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let held = "";
  const fail = (): void => reject(new RangeError(`${url} closed the connection after: ${held}`));
  const read = (data: string): void => {
    held += data;
    const text = bodyOf(held);
    if (text === null) return;
    socket.off("data", read).off("error", reject).off("close", fail);
    idle.get(host)?.add(socket);
    if (Number(held.slice(9, 12)) === status) resolve(text);
    else reject(new RangeError(`${url} answered ${held}`));
  };
  socket.on("data", read).on("error", reject).on("close", fail);
  const length = Buffer.byteLength(body);
  socket.write(
    `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
  return promise;
}

/** The body of an answer, one character a byte; `null`: it has not come whole. */
function bodyOf(held: string): string | null {
  const end = held.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const head = held.slice(0, end).toLowerCase();
  const rest = held.slice(end + 4);
  const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length) ? rest.slice(0, Number(length)) : null;
  if (!rest.endsWith("0\r\n\r\n")) return null;
  let text = "";
  for (let at = 0; ; ) {
    const line = rest.indexOf("\r\n", at);
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (size === 0) return text;
    if (!(size > 0) || line + 2 + size > rest.length) return null;
    text += rest.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
}

/** Closes the sockets that are kept, so that the process can end. */
export function leanClose(): void {
  for (const sockets of idle.values()) for (const socket of sockets) socket.destroy();
  idle.clear();
}
