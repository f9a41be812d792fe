/** Model calls without a skill and without a loop; models, their providers and prices. */
import type {
  CallRequest,
  CallResult,
  CompletionRequest,
  Model,
  ModelAliases,
  ModelCapabilities,
  ModelInfo,
  ModelProvider,
  ModelTarget,
  NewSoftBudget,
  ProviderHealth,
  SessionCost,
  SoftBudget,
  StructuredRequest,
  StructuredResult,
  TotalUsage,
} from "../../typed/client/api.d.ts";
import type { EventStream } from "./event-stream.ts";
import { executionStream } from "./executions.ts";
import type { Answer, Query } from "./route.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";

/** Whose soft budget or cost is meant: a session's; without an id the caller's own. */
type OfSession = Query<"GET /llm/budget">;

export class ModelsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  call(body: CallRequest, settings: RunSettings = {}): Promise<CallResult> {
    return this.#transport.post("POST /llm/call", { json: body }, settings);
  }

  /** Leaving the stream before its end stops the call. */
  stream(body: CallRequest, settings: RunSettings = {}): EventStream<CallResult> {
    return executionStream(
      this.#transport,
      this.#transport.posts("POST /llm/stream", { json: body }, settings),
      settings,
    );
  }

  /** Calls a model until its answer matches a schema. */
  structured(body: StructuredRequest, settings: RunSettings = {}): Promise<StructuredResult> {
    return this.#transport.post("POST /llm/structured", { json: body }, settings);
  }

  /** Asks for the text between a prefix and a suffix. */
  complete(body: CompletionRequest, settings: RunSettings = {}): Promise<CallResult> {
    return this.#transport.post("POST /llm/completion", { json: body }, settings);
  }

  /** The provider and the model that a call without either gets. */
  info(settings: CallSettings = {}): Promise<ModelInfo> {
    return this.#transport.ask("GET /llm/info", {}, settings);
  }

  /** All aliases; with the id of a model, or an alias, what Hull knows of the model. */
  models(id?: string, settings: CallSettings = {}): Promise<ModelAliases | Model> {
    return this.#transport.ask("GET /llm/models", { query: { id } }, settings);
  }

  /** Which model and provider a name means. */
  resolve(model: string, settings: CallSettings = {}): Promise<ModelTarget> {
    return this.#transport.ask("GET /llm/resolve", { query: { model } }, settings);
  }

  /** The provider that follows from a model's name. */
  infer(model: string, settings: CallSettings = {}): Promise<Answer<"GET /llm/infer">> {
    return this.#transport.ask("GET /llm/infer", { query: { model } }, settings);
  }

  tier(model: string, settings: CallSettings = {}): Promise<Answer<"GET /llm/tier">> {
    return this.#transport.ask("GET /llm/tier", { query: { model } }, settings);
  }

  /** A model for a target: an alias, a tier or `provider:model`. */
  pick(target: string, settings: CallSettings = {}): Promise<ModelTarget> {
    return this.#transport.ask("GET /llm/pick", { query: { target } }, settings);
  }

  /** What tokens cost. */
  cost(query: Query<"GET /llm/cost">, settings: CallSettings = {}): Promise<Answer<"GET /llm/cost">> {
    return this.#transport.ask("GET /llm/cost", { query }, settings);
  }

  capabilities(
    query: Query<"GET /llm/capabilities">,
    settings: CallSettings = {},
  ): Promise<ModelCapabilities> {
    return this.#transport.ask("GET /llm/capabilities", { query }, settings);
  }

  /** @param only `available`: those that the deployment can call */
  providers(only?: "available", settings: CallSettings = {}): AsyncGenerator<ModelProvider> {
    return only === undefined
      ? this.#transport.pages("GET /llm/providers", {}, settings)
      : this.#transport.pages("GET /llm/providers/available", {}, settings);
  }

  provider(name: string, settings: CallSettings = {}): Promise<ModelProvider> {
    return this.#transport.ask("GET /llm/providers/{name}", { path: { name } }, settings);
  }

  /** Asks the provider whether it answers. */
  checkProvider(name: string, settings: CallSettings = {}): Promise<ProviderHealth> {
    return this.#transport.ask("GET /llm/providers/{name}/health", { path: { name } }, settings);
  }

  /** What the caller has used of models. */
  usage(settings: CallSettings = {}): Promise<TotalUsage> {
    return this.#transport.ask("GET /llm/usage", {}, settings);
  }

  /** What a session has cost. */
  sessionCost(query: OfSession = {}, settings: CallSettings = {}): Promise<SessionCost> {
    return this.#transport.ask("GET /llm/session-cost", { query }, settings);
  }

  softBudget(query: OfSession = {}, settings: CallSettings = {}): Promise<SoftBudget> {
    return this.#transport.ask("GET /llm/budget", { query }, settings);
  }

  setSoftBudget(
    budget: NewSoftBudget,
    query: OfSession = {},
    settings: CallSettings = {},
  ): Promise<SoftBudget> {
    return this.#transport.ask("PUT /llm/budget", { query, json: budget }, settings);
  }

  removeSoftBudget(query: OfSession = {}, settings: CallSettings = {}): Promise<void> {
    return this.#transport.remove("DELETE /llm/budget", { query }, settings);
  }
}
