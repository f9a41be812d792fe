/** The way out of isolates that may use the network: an entrypoint of this Worker (`src/http/handler-outbound.ts`). */
import { exports } from "cloudflare:workers";
import { Internal } from "../../errors.ts";
import type { NetworkNeed } from "../../skill/manifest.ts";

/** A way out to these hosts. Where it leads is checked there, request by request. */
export function outboundOf(network: NonNullable<NetworkNeed>): Fetcher {
  const entrypoint: unknown = Reflect.get(exports, "HandlerOutbound");
  if (!isEntrypoint(entrypoint)) throw new Internal({ cause: "the Worker exports no HandlerOutbound" });
  return entrypoint({ props: { hosts: network.hosts } });
}

type Entrypoint = (options: { props: { hosts: string[] | null } }) => Fetcher;

const isEntrypoint = (value: unknown): value is Entrypoint => typeof value === "function";
