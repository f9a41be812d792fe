/** `/docs`: the API's reference, from its OpenAPI document. */

import { html } from "hono/html";
import * as z from "zod/mini";
import { type Api, asked } from "./api.ts";
import type { Page } from "./layout.ts";
import type { Html } from "./text.ts";

const parameter = z.looseObject({
  name: z.optional(z.string()),
  in: z.optional(z.string()),
  description: z.optional(z.string()),
  $ref: z.optional(z.string()),
});
const operation = z.looseObject({
  operationId: z.optional(z.string()),
  summary: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
  parameters: z.optional(z.array(parameter)),
  requestBody: z.optional(z.looseObject({ content: z.optional(z.record(z.string(), z.unknown())) })),
  security: z.optional(z.array(z.record(z.string(), z.array(z.string())))),
});

const METHODS: readonly string[] = ["get", "post", "put", "delete", "patch"];

interface Operation {
  method: string;
  path: string;
  about: z.infer<typeof operation>;
}

export async function referencePage(api: Api): Promise<Page> {
  const { paths } = await asked(api, "openapi");
  const words = (api.url.searchParams.get("q") ?? "").toLowerCase().split(/\s+/);
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, value]): Operation[] => {
      const read = METHODS.includes(method) ? operation.safeParse(value) : null;
      return read?.success === true ? [{ method: method.toUpperCase(), path, about: read.data }] : [];
    }),
  );
  const found = all.filter(({ method, path, about }) => {
    const text = `${method} ${path} ${about.summary ?? ""} ${about.operationId ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return {
    title: "API",
    body: html`<h1>API</h1>
<p><a href="/openapi.json">The OpenAPI document</a>, <a href="/docs/reader">a reader that sends requests</a>. Programs send a key as <code>Authorization: Bearer &lt;key&gt;</code>.</p>
<form method="get" action="/docs" class="row" role="search"><div><label for="q">Search</label><input id="q" name="q" type="search" value="${words.join(" ")}" data-filter="operations"></div><button>Search</button></form>
${found.length === 0 ? html`<p>No operation matches. <a href="/docs">Show all</a>.</p>` : html`<p class="dim">Operations: <span id="operations-number">${found.length}</span></p><ul id="operations" class="flow">${found.map((one) => item(api, one))}</ul>`}`,
  };
}

function item(api: Api, one: Operation): Html {
  const { method, path, about } = one;
  const { summary = "", parameters = [], requestBody, tags = [], security = [] } = about;
  const scope = security.flatMap((way) => Object.values(way).flat())[0];
  const types = Object.keys(requestBody?.content ?? {});
  return html`<li><details><summary><code>${method} ${path}</code> ${summary}</summary>
<p class="dim">${tags.join(", ")}. ${security.length === 0 ? "No key." : scope === undefined ? "Any key." : `Scope ${scope}.`}${types.length === 0 ? "" : ` Takes ${types.join(" or ")}.`}</p>
${parameters.length === 0 ? "" : html`<ul>${parameters.map((given) => html`<li><code>${nameOf(given)}</code> ${given.in ?? ""} ${given.description ?? ""}</li>`)}</ul>`}
<pre tabindex="0">${curl(api, one)}</pre></details></li>
`;
}

/** A shared parameter has the name of its definition. */
const nameOf = ({ name, $ref = "" }: z.infer<typeof parameter>): string =>
  name ?? $ref.split("/").at(-1) ?? "";

function curl({ url }: Api, { method, path, about }: Operation): string {
  const types = Object.keys(about.requestBody?.content ?? {});
  const type = types.find((one) => one === "application/json") ?? types[0];
  const body =
    type === undefined
      ? ""
      : type === "application/json"
        ? " --json '{}'"
        : type === "multipart/form-data"
          ? " -F file=@your-file"
          : ` -H 'content-type: ${type}' --data-binary @your-file`;
  const key = (about.security ?? []).length === 0 ? "" : " -H 'authorization: Bearer <key>'";
  return `curl -X ${method} '${url.origin}${path}'${key}${body}`;
}
