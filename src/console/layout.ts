/** The frame of every page of the console, and the headers of its answer. */
import { html, raw } from "hono/html";
import type { Api } from "./api.ts";
import SCRIPT from "./script.js?raw";
import STYLE from "./style.css?raw";
import { type Html, mark } from "./text.ts";

/** The contents of one page. */
export interface Page {
  title: string;
  body: Html;
  status?: number;
  headers?: Record<string, string>;
}

const NAV_LINKS = [
  ["/", "Skills", "invoke"],
  ["/console/runs", "Runs", "invoke"],
  ["/console/sessions", "Sessions", "invoke"],
  ["/console/approvals", "Approvals", "invoke"],
  ["/console/daemons", "Daemons", "invoke"],
  ["/console/workflows", "Workflows", "invoke"],
  ["/console/usage", "Usage", "invoke"],
  ["/console/models", "Models", "invoke"],
  ["/console/mcp", "MCP servers", "admin"],
  ["/console/keys", "Keys", "admin"],
  ["/docs", "API", "invoke"],
] as const;

/** A text that changes with the script and the stylesheet, so that browsers can cache them. */
const VERSION = mark(STYLE + SCRIPT);

/** The whole page as a response. */
export async function shownPage(
  api: Api,
  { title, body, status = 200, headers = {} }: Page,
): Promise<Response> {
  const nonce = crypto.randomUUID();
  const waiting = await api.waiting();
  const text = await html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · ${api.name}</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<link rel="stylesheet" href="/console/style.css?v=${VERSION}" nonce="${nonce}">
<script src="/console/script.js?v=${VERSION}" defer nonce="${nonce}"></script></head>
<body data-now="${Date.now()}"><a class="skip" href="#main">Skip to the content</a>
<header><strong>${api.name}</strong>
<span class="who">Tenant ${api.tenant}${signOut(api)}</span>
<nav aria-label="Console"><ul>${NAV_LINKS.filter(([, , scope]) => api.may(scope)).map(([path, name]) => navLink(api, path, name, waiting))}</ul></nav></header>
<main id="main" tabindex="-1">${body}</main>
<div id="said" role="status" class="skip"></div>
</body></html>`;
  return new Response(String(text), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": policy(nonce),
      "referrer-policy": "no-referrer",
      ...headers,
    },
  });
}

/** No inline script, no foreign content, no frame around this page. Frames show artifacts, which their route confines. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Whether a page belongs to the part of the console that this link of the navigation opens. */
const isPart = (at: string, path: string): boolean =>
  at === path ||
  (path !== "/" && at.startsWith(`${path}/`)) ||
  (path === "/" && at.startsWith("/console/skills"));

/** A link to the list from which one comes to this page; to the skills if there is none. */
export function linkAbove({ url }: Api): Html {
  const [path, name] = NAV_LINKS.find(([path]) => isPart(url.pathname, path)) ?? NAV_LINKS[0];
  return html`<a href="${path}">${name}</a>`;
}

function navLink(api: Api, path: string, name: string, waiting: number): Html {
  const here = isPart(api.url.pathname, path);
  return html`<li><a href="${path}"${here ? raw(' aria-current="page"') : ""}>${name}${path === "/console/approvals" ? html`<span id="waiting">${waiting === 0 ? "" : ` (${waiting})`}</span>` : ""}</a></li>`;
}

function signOut(api: Api): Html | "" {
  return api.signedIn ? form(api, "/console/sign-out", html`<button>Sign out</button>`, "inline") : "";
}

/** A form that changes something. @param cls classes of the form */
export function form(api: Api, action: string, fields: Html, cls = ""): Html {
  return html`<form method="post" action="${action}" class="${cls}" data-once>${ownFields(api)}${fields}</form>`;
}

/** The token that ties a form to the signed-in caller, and the id by which Hull recognises a form that is sent again. */
export function ownFields({ token }: Api): Html {
  const once = html`<input type="hidden" name="once" value="${crypto.randomUUID()}" autocomplete="off">`;
  return token === "" ? once : html`<input type="hidden" name="token" value="${token}">${once}`;
}

/** A field for the id of what the form destroys. */
export const sureField = (label: string): Html =>
  html`<div><label for="sure">${label}</label><input id="sure" name="sure" autocomplete="off" required></div>`;

/** Redirects a browser that sent a form to the page that shows the result. */
export function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
}

/** Asks for the page of a list that the address names. */
export const pageQuery = ({ url }: Api, limit = "50") => ({ limit, cursor: url.searchParams.get("cursor") });

/** A link to the next page of a list; empty if there is none. */
export function nextPage(api: Api, cursor: string | null): Html | "" {
  if (cursor === null) return "";
  const query = new URLSearchParams(api.url.searchParams);
  query.set("cursor", cursor);
  return html`<p><a href="${api.url.pathname}?${query.toString()}" rel="next">Next page</a></p>`;
}
