/** Sign-in for browsers: a form accepts an API key, and a cookie represents the key until the browser signs out. */

import { digestOf, hasKeyForm } from "../auth/api-key.ts";
import { SIGNED_IN_S } from "../auth/sign-in.ts";
import { sha256 } from "../bytes.ts";
import { BadRequest, OriginNotAllowed } from "../errors/request.ts";
import { Redactor } from "../redact.ts";
import { decodeUtf8 } from "../run/utf8.ts";
import { readBody } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { checkFormToken, isOwnPage, keysConfigured, signInCookieName, storedKey } from "./guard.ts";
import { escapeHtml, HTML_HEADERS, htmlPage } from "./html.ts";

/** Longest form, in bytes. */
const MAX_FORM_BYTES = 16 * 1024;

/** `GET /console/sign-in`: the form. */
export function showSignIn({ request }: RequestContext): Response {
  return page(signInForm(new URL(request.url).searchParams.get("next")), 200);
}

/** `POST /console/sign-in`: checks the key, and redirects to the page that required one. */
export async function signIn(context: RequestContext): Promise<Response> {
  const { request, deployment } = context;
  if (!isOwnPage(request))
    throw new OriginNotAllowed({
      origin: request.headers.get("origin"),
      always: true,
      form: "/console/sign-in",
    });
  const fields = await fieldsOf(context);
  const key = (fields.get("key") ?? "").trim();
  const next = ownPath(fields.get("next"));
  if (!(await keysConfigured(context))) return seeOther(next);
  context.redactAlso(new Redactor([key]));
  const hash = await sha256(key);
  if (!(await isKnown(context, key, hash))) {
    context.log.code = "unauthenticated";
    return page(signInForm(next, "This API key is not known here."), 401);
  }
  const sealed = await deployment.signIns.seal(hash, Date.now());
  return seeOther(next, cookie(request, sealed, SIGNED_IN_S));
}

/** `POST /console/sign-out`: ends the sign-in, so that no copy of the cookie works any more, and removes the cookie. */
export async function signOut(context: RequestContext): Promise<Response> {
  const fields = await fieldsOf(context);
  await checkFormToken(context, fields.get("token"));
  if (context.signIn !== null) await context.deployment.endedSignIns.add(context.signIn);
  return seeOther("/", cookie(context.request, "", 0));
}

/** The form for an API key. @param next path to redirect to @param wrong the fault of the last key */
export function signInForm(next: string | null, wrong?: string): string {
  const fault = wrong === undefined ? "" : `\n<p role="alert">${escapeHtml(wrong)}</p>`;
  return `<form method="post" action="/console/sign-in">${fault}
<p><label for="key">API key</label><br><input id="key" name="key" type="password" autocomplete="current-password" required autofocus></p>
<input type="hidden" name="next" value="${escapeHtml(ownPath(next))}">
<p><button>Sign in</button></p>
</form>
<p><small>The operator of this deployment makes keys with <code>hull keys add</code>. Programs send the key as <code>Authorization: Bearer &lt;key&gt;</code>.</small></p>`;
}

function page(form: string, status: number): Response {
  const body = `<h1>Sign in</h1>\n${form}`;
  const headers = { ...HTML_HEADERS, "cache-control": "no-store" };
  return new Response(htmlPage("Sign in", body), { status, headers });
}

/** A path of this origin; anything else becomes the start page. */
function ownPath(path: string | null): string {
  return path !== null && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : "/";
}

function seeOther(location: string, setCookie?: string): Response {
  const headers = new Headers({ location, "cache-control": "no-store" });
  if (setCookie !== undefined) headers.set("set-cookie", setCookie);
  return new Response(null, { status: 303, headers });
}

function cookie(request: Request, value: string, seconds: number): string {
  // Not every Safari keeps a Secure cookie that comes over plain HTTP, even from localhost.
  const secure = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  return `${signInCookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`;
}

/** @throws BadRequest, BodyTooLarge, BadEncoding */
async function fieldsOf({ request }: RequestContext): Promise<URLSearchParams> {
  const type = request.headers.get("content-type") ?? "";
  if (!type.startsWith("application/x-www-form-urlencoded"))
    throw new BadRequest({ detail: "The body has to be a form: application/x-www-form-urlencoded." });
  return new URLSearchParams(decodeUtf8(await readBody(request, MAX_FORM_BYTES), "The form"));
}

async function isKnown(context: RequestContext, key: string, hash: string): Promise<boolean> {
  if (await context.deployment.keys.isAdmin(await digestOf(key))) return true;
  return hasKeyForm(key) && (await storedKey(context, hash)) !== null;
}
