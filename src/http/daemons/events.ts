/** `POST /daemons/:id/events`: with a key, or with the daemon's signature. */
import { wellFormedJson } from "../../bytes.ts";
import { InputInvalid } from "../../errors/request.ts";
import { decodeUtf8 } from "../../run/utf8.ts";
import { exactJson } from "../../skill/exact-json.ts";
import type { Json } from "../../skill/manifest.ts";
import { checkCoding, MAX_JSON_BYTES, parseJson, readBody } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { guard, sentKey } from "../guard.ts";
import { isJson, typeOf } from "../media-type.ts";
import { checkRate } from "../rate.ts";
import type { Handler } from "../routes.ts";
import { requestName, sessionOf, shownNow } from "../sessions/object.ts";
import { type SignedCall, signedCall } from "./webhook.ts";

/** Answers 202 when the event is stored. This route has no guard, since it decides itself who may call. */
export const sendEvent: Handler = async (context, { id = "" }) => {
  const signed = await admitted(context, id);
  await checkRate(context);
  const body = signed?.body ?? (await eventBody(context));
  const payload = payloadOf(context.request, decodeUtf8(body, "The body"));
  const request =
    signed === null || signed.name === null
      ? await requestName(context, payload)
      : { name: `webhook ${signed.name}`, hash: "" };
  const daemon = sessionOf(context, id);
  return shownNow(context, await daemon.ask("trigger", { payload, request }), 202);
};

/** Admits the call by its key or its signature; `null` if by its key. */
async function admitted(context: RequestContext, id: string): Promise<SignedCall | null> {
  const keyed = sentKey(context.request) !== null || context.admitted !== null;
  const signed = !keyed ? await signedCall(context, id, () => eventBody(context)) : null;
  if (signed === null) await guard(context, "invoke");
  else context.admit({ tenant: signed.tenant, key_id: null, scopes: ["invoke"], operator: false });
  return signed;
}

/** @throws UnsupportedMediaType for a compressed body, as its text is the event */
async function eventBody({ request }: RequestContext): Promise<Uint8Array<ArrayBuffer>> {
  checkCoding(request);
  return readBody(request, MAX_JSON_BYTES);
}

/**
 * The event: JSON as its value, any other text unchanged. JSON whose numbers a double would change is a text, too: the
 * model then reads all their digits.
 * @throws InputInvalid
 */
function payloadOf(sent: Request, text: string): Json {
  const type = typeOf(sent);
  const json = type === "" || isJson(type);
  const payload = json && text.trim() !== "" ? parseJson(text) : text;
  if (payload !== "" && payload !== null) {
    const exact = exactJson(payload, text);
    return exact === wellFormedJson(payload) ? payload : exact;
  }
  throw new InputInvalid({ reason: "The event is empty. Send JSON other than null, or text." });
}
