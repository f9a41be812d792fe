/**
 * The network access of handlers whose tools list hosts. Such handlers run in a network that has only a loopback, where
 * a gateway (programs/gateway.py) leads to this HTTP proxy. Each call has its own password, which determines the hosts
 * that it may reach. Names that resolve to private addresses are refused, as for isolates.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect, isIPv6, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import * as z from "zod/mini";
import { hostFault } from "../src/tool/public-host.ts";
import { reasonOf } from "./log.ts";

/** Port of the gateway in each network that has only a loopback (programs/gateway.py). */
export const GATEWAY_PORT = 3128;
/** A connection that is silent for this long is closed. */
const IDLE_MS = 120_000;
/** The variables that clients and programs read; Node's own fetch also needs a switch. */
const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/** The loopback of their network leads nowhere else: a process reaches its own servers there without the proxy. */
const OWN_HOSTS = "localhost,127.0.0.1,::1";
const OWN_NAMES = ["NO_PROXY", "no_proxy"];

const passShape = z.object({ hosts: z.array(z.string()), until: z.number() });

/** Why a request is refused, with its status. */
class NoRoute extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class EgressProxy {
  readonly #key = randomBytes(32);
  readonly #server: Server;
  /** The machine's own proxy, if the environment names one. */
  readonly #beyond: URL | null;

  private constructor(beyond: URL | null) {
    this.#beyond = beyond;
    this.#server = createServer((asked, answer) => void this.#request(asked, answer));
    this.#server.on("connect", (asked, socket, head) => void this.#connect(asked, socket, head));
  }

  /** Listens at this path, whose folder decides who can reach it. @param environment of the runner */
  static async open(path: string, environment: NodeJS.ProcessEnv): Promise<EgressProxy> {
    const proxy = environment.HTTPS_PROXY ?? environment.https_proxy ?? "";
    const way = new EgressProxy(URL.canParse(proxy) ? new URL(proxy) : null);
    way.#server.listen(path);
    await once(way.#server, "listening");
    return way;
  }

  /** Variables for a process that may ask these hosts for this long. */
  variables(hosts: readonly string[], ms: number): { [name: string]: string } {
    const pass = Buffer.from(JSON.stringify({ hosts, until: Date.now() + ms })).toString("base64url");
    const url = `http://hull:${pass}.${this.#mac(pass)}@127.0.0.1:${GATEWAY_PORT}`;
    return {
      NODE_USE_ENV_PROXY: "1",
      ...Object.fromEntries(NAMES.map((name) => [name, url])),
      ...Object.fromEntries(OWN_NAMES.map((name) => [name, OWN_HOSTS])),
    };
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #connect(asked: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      const url = new URL(`https://${asked.url}`);
      const port = Number(/:(\d+)$/.exec(asked.url ?? "")?.[1] ?? 443);
      const far = await this.#reach(await this.#permitted(asked, url), port);
      join(far, socket);
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      far.write(head);
    } catch (error) {
      const { status, text } = refusal(error);
      const head = `HTTP/1.1 ${status} Refused\r\n${status === 407 ? AUTHENTICATE : ""}content-length: ${Buffer.byteLength(text)}`;
      socket.end(`${head}\r\n\r\n${text}`);
    }
  }

  async #request(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    try {
      const url = new URL(asked.url ?? "");
      const address = await this.#permitted(asked, url);
      const { "proxy-authorization": _, "proxy-connection": __, ...headers } = asked.headers;
      const to =
        this.#beyond === null
          ? { host: address, port: url.port || 80, path: `${url.pathname}${url.search}` }
          : { host: this.#beyond.hostname, port: this.#beyond.port, path: url.href };
      const far = request({
        ...to,
        method: asked.method,
        headers: { ...headers, host: url.host },
        timeout: IDLE_MS,
      });
      far.once("timeout", () => far.destroy());
      far.once("response", (response) => passOn(response, answer));
      far.once("upgrade", (_, socket) => {
        socket.destroy();
        refuse(answer, new NoRoute(502, "The host switched to another protocol; use CONNECT for that."));
      });
      answer.once("close", () => far.destroy());
      far.once("error", (error) => refuse(answer, new NoRoute(502, reasonOf(error))));
      asked.pipe(far);
    } catch (error) {
      refuse(answer, error);
    }
  }

  /** The address to connect to. @throws NoRoute */
  async #permitted(asked: IncomingMessage, url: URL): Promise<string> {
    const hosts = this.#hostsOf(asked.headers["proxy-authorization"]);
    const fault = hostFault(url, hosts);
    if (fault !== null) throw new NoRoute(403, `The host ${url.hostname} ${fault}.`);
    // The machine's own proxy resolves the name, so it must check where the name leads.
    if (this.#beyond !== null) return url.hostname;
    const found = await lookup(url.hostname, { all: true }).catch(() => []);
    const open = found.find(({ address }) => hostFault(new URL(`http://${inUrl(address)}`), null) === null);
    if (open !== undefined) return open.address;
    throw new NoRoute(found.length === 0 ? 502 : 403, `The host ${url.hostname} has no public address.`);
  }

  /** @throws NoRoute */
  #hostsOf(header: string | undefined): string[] {
    const [, password = ""] = Buffer.from(header?.replace(/^Basic /i, "") ?? "", "base64")
      .toString()
      .split(":");
    const [pass = "", mac = ""] = password.split(".");
    const genuine = Buffer.from(this.#mac(pass));
    const same = genuine.length === mac.length && timingSafeEqual(genuine, Buffer.from(mac));
    const said = same ? passShape.parse(JSON.parse(Buffer.from(pass, "base64url").toString())) : null;
    if (said === null || said.until < Date.now())
      throw new NoRoute(407, "Send the password of your call: the proxy's address in HTTP_PROXY has it.");
    return said.hosts;
  }

  #mac(pass: string): string {
    return createHmac("sha256", this.#key).update(pass).digest("base64url");
  }

  /** A connection to the host, through the machine's own proxy if there is one. @throws NoRoute */
  #reach(host: string, port: number): Promise<Socket> {
    const beyond = this.#beyond;
    if (beyond === null)
      return new Promise((resolve, reject) => {
        const far = connect({ host, port }, () => resolve(far));
        far.once("error", (error) => reject(new NoRoute(502, reasonOf(error))));
      });
    return new Promise((resolve, reject) => {
      const name = `${host}:${port}`;
      const login = Buffer.from(decodeURIComponent(`${beyond.username}:${beyond.password}`)).toString(
        "base64",
      );
      const headers = {
        host: name,
        ...(beyond.username === "" ? {} : { "proxy-authorization": `Basic ${login}` }),
      };
      const { hostname, port: at } = beyond;
      request({ host: hostname, port: at, method: "CONNECT", path: name, headers })
        .once("connect", ({ statusCode }, far, head) => {
          if (statusCode !== 200) {
            far.destroy();
            reject(new NoRoute(502, `The machine's proxy answered ${statusCode}.`));
            return;
          }
          far.unshift(head);
          resolve(far);
        })
        .once("error", (error) => reject(new NoRoute(502, reasonOf(error))))
        .end();
    });
  }
}

/** Passes a host's answer on, its trailers too. The host may send anything that Node can read. */
function passOn(response: IncomingMessage, answer: ServerResponse): void {
  // Node writes this header only before chunks, and throws before anything else.
  const { trailer: _, ...headers } = response.headers;
  try {
    answer.writeHead(response.statusCode ?? 502, headers);
  } catch (error) {
    response.destroy();
    refuse(answer, new NoRoute(502, reasonOf(error)));
    return;
  }
  response.once("end", () => answer.addTrailers(response.trailers));
  // If one side breaks off, so does the other.
  pipeline(response, answer, () => {});
}

const AUTHENTICATE = 'proxy-authenticate: Basic realm="hull"\r\n';
const inUrl = (address: string): string => (isIPv6(address) ? `[${address}]` : address);

function join(far: Socket, near: Duplex): void {
  far.setTimeout(IDLE_MS, () => far.destroy());
  far.on("error", () => near.destroy());
  far.once("close", () => near.destroy());
  near.once("close", () => far.destroy());
  far.pipe(near);
  near.pipe(far);
}

function refusal(error: unknown): { status: number; text: string } {
  if (error instanceof NoRoute) return { status: error.status, text: `${error.message}\n` };
  return { status: 400, text: "The proxy cannot pass this request on.\n" };
}

function refuse(answer: ServerResponse, error: unknown): void {
  const { status, text } = refusal(error);
  if (answer.headersSent) answer.destroy();
  else
    answer.writeHead(status, status === 407 ? { "proxy-authenticate": 'Basic realm="hull"' } : {}).end(text);
}
