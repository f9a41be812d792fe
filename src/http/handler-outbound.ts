/** The exit for requests of handlers in isolates. */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings } from "../env.ts";
import { fetchOutside, type OutboundProps } from "../tool/outbound.ts";

export class HandlerOutbound extends WorkerEntrypoint<Bindings, OutboundProps> {
  override fetch(request: Request): Promise<Response> {
    return fetchOutside(request, this.ctx.props);
  }
}
