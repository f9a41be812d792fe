/** Stores a skill at a vendor if the client wants that: forwards the upload with the key of this deployment. */
import { textWithin } from "../../../bytes.ts";
import { ProviderNotConfigured, ProviderUnreachable } from "../../../errors/provider.ts";
import { BadRequest } from "../../../errors/request.ts";
import { join } from "../../../model/base-url.ts";
import { failureOfStatus } from "../../../model/failure.ts";
import { cutOff, unusable } from "../../../model/provider-document.ts";
import { addressOf } from "../../../model/providers.ts";
import { protocolOf } from "../../../model/registry/provider-setup.ts";
import { llmError } from "../../../run/llm-problem.ts";
import { isObject } from "../../../skill/json.ts";
import { parsedJson } from "../../../skill/json-depth.ts";
import type { RequestContext } from "../../context.ts";
import { jsonNow } from "../../page.ts";

/** Vendors that store skills, by the name that clients give them. */
export const VENDORS: readonly string[] = ["anthropic", "openai", "azure"];
/** Time for an upload at the vendor, in ms. */
const TIMEOUT_MS = 120_000;
/** Limit of the vendor's answer, which describes the skill. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_ERROR = 10_000;
/** LiteLLM's clients use the beta without its header, so Hull sends the header for them. */
const BETA = { "anthropic-version": "2023-06-01", "anthropic-beta": "skills-2025-10-02" };

/** An upload as the client sent it; file names include their folders. */
interface VendorUpload {
  files: readonly { name: string; bytes: Uint8Array<ArrayBuffer> }[];
  fields: ReadonlyMap<string, string>;
}

/**
 * Stores a skill at a vendor and returns the vendor's answer.
 * @throws BadRequest if this deployment cannot reach the vendor; the vendor's refusals, by their category
 */
export async function storeAtVendor(
  context: RequestContext,
  provider: string,
  { files, fields }: VendorUpload,
): Promise<Response> {
  const { read } = context.settings;
  const { providers } = await context.modelRegistry();
  const definition = providers.get(provider);
  const refused = (why: string): Error => {
    const detail = `Skills cannot be stored at "${provider}": ${why}. Leave custom_llm_provider out, or send litellm_proxy, to store them here.`;
    return new BadRequest({ detail, param: "custom_llm_provider" });
  };
  if (definition === undefined) throw refused("this deployment has no such provider");
  const protocol = protocolOf(provider, definition, read);
  const address = addressIn(() => addressOf(provider, definition, read, { protocol }));
  if (address === null) throw refused("this deployment has no key for it");
  const form = new FormData();
  for (const name of ["display_name", "display_title"]) {
    const value = fields.get(name);
    if (value !== undefined) form.append(name, value);
  }
  for (const { name, bytes } of files) form.append("files[]", new File([bytes], name), name);
  const headers = { ...address.headers, ...(protocol === "anthropic" ? BETA : {}) };
  const signal = AbortSignal.any([context.request.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const url = join(address.base, "/skills");
  const asked = { provider, model: "skills" };
  // The vendor's skill has no id that a second attempt could find.
  await context.beforeEffects();
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: form,
    redirect: "manual",
    signal,
  }).catch(() => {
    throw llmError(new ProviderUnreachable({ ...asked, cause: "the upload was not answered" }), context);
  });
  const text = await textWithin(response.body, MAX_ANSWER_BYTES).catch(() => {
    throw llmError(cutOff(asked, "it broke off"), context);
  });
  if (text === null) throw llmError(unusable(asked, `it is longer than ${MAX_ANSWER_BYTES} bytes`), context);
  const answer = parsedJson(text);
  if (response.ok && isObject(answer)) return jsonNow(context.redacted(answer));
  const { variable } = address;
  const status = response.ok || response.status < 400 ? 502 : response.status;
  const failure = failureOfStatus({ ...asked, variable, status, text: text.slice(0, MAX_ERROR) });
  throw llmError(failure.error, context);
}

/** `null`: the deployment has no key. */
function addressIn(address: () => ReturnType<typeof addressOf>): ReturnType<typeof addressOf> | null {
  try {
    return address();
  } catch (error) {
    if (error instanceof ProviderNotConfigured) return null;
    throw error;
  }
}
