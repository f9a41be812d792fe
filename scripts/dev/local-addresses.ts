/** Host names, ports and addresses on which a local Hull listens. */

import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { CommandError, EXIT, usageError } from "../command.ts";
import { isSystemError, reasonOf } from "../system-error.ts";

/** Addresses that only this machine reaches. */
export const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);

const bracketed = (name: string): string => (name.includes(":") ? `[${name}]` : name);

/**
 * The host names in requests to a listening address: its own, or if it stands for all addresses, that of each network
 * interface, in the form of `Host`, which has no zone (RFC 9110, section 4.2). No page can make another site's name resolve to a written-out address.
 */
export function hostNamesOf(host: string): string[] {
  if (LOOPBACK.has(host)) return [];
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const bound = host === "0.0.0.0" || host === "::" ? all.map(({ address }) => address) : [host];
  return bound.map((name) => name.toLowerCase().replace(/%.*$/, "")).map(bracketed);
}

export function originOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The port of the flag `--port`, else that of `HULL_PORT`, else `fallback`. @throws CommandError (exit 2) */
export function portOf(flag: string | undefined, variable: string | undefined, fallback: number): number {
  const text = flag ?? variable;
  if (text === undefined || text === "") return fallback;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65535) return port;
  throw usageError(
    "bad_port",
    `${flag === undefined ? "HULL_PORT" : "--port"}: "${text}" is not a port from 0 to 65535.`,
  );
}

/**
 * Below the ports that systems give to outgoing connections; such a connection could take a free port before the server
 * listens on it.
 */
const LOWEST_PORT = 20_000;
const HIGHEST_PORT = 32_700;
/** How many of these ports a process tries. Processes that start together try other ones, since their ids differ. */
const TRIED = 8;

/** The port itself if it is free, any free one for 0. @throws CommandError (exit 4) if it is in use */
export async function freePort(host: string, port: number): Promise<number> {
  const first = LOWEST_PORT + ((process.pid * TRIED) % (HIGHEST_PORT - LOWEST_PORT));
  const begin = Math.floor(Math.random() * TRIED);
  for (let tries = 0; port === 0 && tries < TRIED; tries += 1) {
    const wanted = first + ((begin + tries) % TRIED);
    const free = await listenable(host, wanted).catch(() => null);
    if (free !== null) return free;
  }
  return listenable(host, port);
}

async function listenable(host: string, port: number): Promise<number> {
  const probe = createServer();
  try {
    const free = await listenOn(probe, host, port);
    await new Promise((resolve) => probe.close(resolve));
    return free;
  } catch (error) {
    const code = isSystemError(error) ? (error.code ?? "") : "";
    const inUse = code === "EADDRINUSE";
    const what = inUse ? `Port ${port} is in use.` : `Cannot listen on ${host}:${port}: ${reasonOf(error)}.`;
    const hint = ["EADDRNOTAVAIL", "ENOTFOUND"].includes(code)
      ? "Name an address of this machine as --host: 127.0.0.1 for itself alone, 0.0.0.0 for all of its addresses."
      : `Choose another one, e.g. --port ${port + 1}, or 0 for any free one.`;
    throw new CommandError(EXIT.unreachable, "port_in_use", what, hint);
  }
}

/** Makes a server listen; returns its port, which the system chooses for 0. @throws the system's error */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Ends a server with all of its connections. */
export async function endServer(server: HttpServer): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
