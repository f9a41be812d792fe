// `npm run docs` writes this file from src/client.
/** Model calls without a skill and without a loop; models, their providers and prices. */
import type { CallRequest, CallResult, CompletionRequest, Model, ModelAliases, ModelCapabilities, ModelInfo, ModelProvider, ModelTarget, NewSoftBudget, ProviderHealth, SessionCost, SoftBudget, StructuredRequest, StructuredResult, TotalUsage } from "./api.ts";
import type { EventStream } from "./event-stream.ts";
import type { Answer, Query } from "./route.ts";
import type { CallSettings, RunSettings, Transport } from "./transport.ts";
/** Whose soft budget or cost is meant: a session's; without an id the caller's own. */
type OfSession = Query<"GET /llm/budget">;
export declare class ModelsClient {
    #private;
    constructor(transport: Transport);
    call(body: CallRequest, settings?: RunSettings): Promise<CallResult>;
    /** Leaving the stream before its end stops the call. */
    stream(body: CallRequest, settings?: RunSettings): EventStream<CallResult>;
    /** Calls a model until its answer matches a schema. */
    structured(body: StructuredRequest, settings?: RunSettings): Promise<StructuredResult>;
    /** Asks for the text between a prefix and a suffix. */
    complete(body: CompletionRequest, settings?: RunSettings): Promise<CallResult>;
    /** The provider and the model that a call without either gets. */
    info(settings?: CallSettings): Promise<ModelInfo>;
    /** All aliases; with the id of a model, or an alias, what Hull knows of the model. */
    models(id?: string, settings?: CallSettings): Promise<ModelAliases | Model>;
    /** Which model and provider a name means. */
    resolve(model: string, settings?: CallSettings): Promise<ModelTarget>;
    /** The provider that follows from a model's name. */
    infer(model: string, settings?: CallSettings): Promise<Answer<"GET /llm/infer">>;
    tier(model: string, settings?: CallSettings): Promise<Answer<"GET /llm/tier">>;
    /** A model for a target: an alias, a tier or `provider:model`. */
    pick(target: string, settings?: CallSettings): Promise<ModelTarget>;
    /** What tokens cost. */
    cost(query: Query<"GET /llm/cost">, settings?: CallSettings): Promise<Answer<"GET /llm/cost">>;
    capabilities(query: Query<"GET /llm/capabilities">, settings?: CallSettings): Promise<ModelCapabilities>;
    /** @param only `available`: those that the deployment can call */
    providers(only?: "available", settings?: CallSettings): AsyncGenerator<ModelProvider>;
    provider(name: string, settings?: CallSettings): Promise<ModelProvider>;
    /** Asks the provider whether it answers. */
    checkProvider(name: string, settings?: CallSettings): Promise<ProviderHealth>;
    /** What the caller has used of models. */
    usage(settings?: CallSettings): Promise<TotalUsage>;
    /** What a session has cost. */
    sessionCost(query?: OfSession, settings?: CallSettings): Promise<SessionCost>;
    softBudget(query?: OfSession, settings?: CallSettings): Promise<SoftBudget>;
    setSoftBudget(budget: NewSoftBudget, query?: OfSession, settings?: CallSettings): Promise<SoftBudget>;
    removeSoftBudget(query?: OfSession, settings?: CallSettings): Promise<void>;
}
export {};
