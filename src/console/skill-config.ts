/** The tenant's configuration of a skill's tools, as forms of the skill's page, which never reads a secret. */
import { html } from "hono/html";
import * as z from "zod/mini";
import type { ConfigParam } from "../../typed/client/api.d.ts";
import { jsonOrText } from "../skill/json-depth.ts";
import type { Answer } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import { form, seeOther } from "./layout.ts";
import { optionList } from "./table.ts";
import type { Html } from "./text.ts";

/** Forms for the tools that can be configured; empty if the key may not configure them, or there are none. */
export async function configForms(api: Api, slug: string): Promise<Html | ""> {
  if (!api.may("publish")) return "";
  const { tools } = await asked(api, "getConfig", { params: { slug } });
  const forms = Object.entries(tools).flatMap(([name, shown]) =>
    shown.params.length === 0 ? [] : [toolForm(api, slug, name, shown)],
  );
  return forms.length === 0 ? "" : html`<h2>Configuration</h2>${forms}`;
}

function toolForm(
  api: Api,
  slug: string,
  name: string,
  { params, values, sources }: Answer<"getConfig">["tools"][string],
): Html {
  const fields = params.map((one) => field(name, one, values[one.name], sources[one.name] ?? DEFAULT));
  return form(
    api,
    `/console/skills/${slug}/config`,
    html`<h3>${name}</h3><input type="hidden" name="tool" value="${name}">${fields}<p><button>Save</button> <span class="dim">An empty field resets its value; an empty secret stays as it is.</span></p>`,
  );
}

/** The source of a value that nobody has set. */
const DEFAULT = "default";

function field(of: string, param: ConfigParam, value: unknown, source: string): Html {
  const { name, type, displayName = name, description = "", unit } = param;
  const id = `config-${of}-${name}`;
  const kind = [...(displayName === name ? [] : [name]), unit ?? type];
  const known = type === "secret" ? isSet(value) : source !== DEFAULT;
  const input =
    type === "secret"
      ? html`<input id="${id}" name="secret ${name}" type="password" autocomplete="off">`
      : valueField(id, param, known ? textOf(value) : "", known ? "" : textOf(value));
  return html`<label for="${id}">${displayName} <span class="dim">${[...kind, known ? "set" : "not set"].join(", ")}</span></label>${description === "" ? "" : html`<small>${description}</small><br>`}${input}`;
}

const isSet = (value: unknown): boolean => z.object({ set: z.literal(true) }).safeParse(value).success;

const textOf = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** The input for a value. @param otherwise the value that counts if the input stays empty, as far as the page knows it */
function valueField(id: string, { name, type, options }: ConfigParam, text: string, otherwise: string): Html {
  const kind = html`<input type="hidden" name="type ${name}" value="${TEXTS.includes(type) ? "text" : "json"}">`;
  const choices = type === "select" ? options : type === "boolean" ? ["true", "false"] : undefined;
  const named = html`id="${id}" name="value ${name}"`;
  if (choices !== undefined)
    return html`${kind}<select ${named}>${optionList(choices, text, otherwise === "" ? DEFAULT : `${DEFAULT}: ${otherwise}`)}</select>`;
  if (type === "text" || type === "code")
    return html`${kind}<textarea ${named} class="${type}" placeholder="${otherwise}">${`\n${text}`}</textarea>`;
  return html`${kind}<input ${named} value="${text}" placeholder="${otherwise}">`;
}

/** Types whose values are always texts. */
const TEXTS: readonly string[] = ["string", "text", "code", "select"];

/** Stores the values of one tool. @throws HullError for a value that its parameter does not take */
export async function saveConfig(api: Api, fields: FormData, slug: string): Promise<Response> {
  const values: Record<string, unknown> = {};
  for (const [key, given] of fields) {
    const [kind, name = ""] = key.split(" ");
    const text = String(given);
    if (kind === "secret" && text !== "") values[name] = text;
    if (kind !== "value") continue;
    const asText = fields.get(`type ${name}`) === "text";
    values[name] = text === "" ? null : asText ? text : jsonOrText(text);
  }
  const tools = { [String(fields.get("tool") ?? "")]: values };
  await api.ask("putConfig", { params: { slug }, json: { tools } });
  return seeOther(`/console/skills/${slug}`);
}
