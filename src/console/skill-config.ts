/** The tenant's configuration of a skill's tools, as forms of the skill's page. The page writes secrets and never reads them. */
import { html } from "hono/html";
import { jsonOrText } from "../skill/json-depth.ts";
import type { ConfigParam, ToolConfig } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import { form, seeOther } from "./layout.ts";
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

function toolForm(api: Api, slug: string, name: string, { params, values, sources }: ToolConfig): Html {
  const fields = params.map((one) => field(name, one, values[one.name], sources[one.name] ?? "not set"));
  return form(
    api,
    `/console/skills/${slug}/config`,
    html`<h3>${name}</h3><input type="hidden" name="tool" value="${name}">${fields}<p><button>Save</button> <span class="dim">An empty field resets its value; an empty secret stays as it is.</span></p>`,
  );
}

function field(
  of: string,
  { name, type, description = "" }: ConfigParam,
  value: unknown,
  source: string,
): Html {
  const id = `config-${of}-${name}`;
  const label = html`<label for="${id}">${name} <span class="dim">${type}, ${type === "secret" ? (value === undefined ? "not set" : "set") : source}</span></label>${description === "" ? "" : html`<small>${description}</small><br>`}`;
  if (type === "secret") {
    return html`${label}<input id="${id}" name="secret ${name}" type="password" autocomplete="off">`;
  }
  const text = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return html`${label}<input type="hidden" name="type ${name}" value="${TEXTS.includes(type) ? "text" : "json"}"><input id="${id}" name="value ${name}" value="${text}">`;
}

/** Types whose values are always texts. */
const TEXTS: readonly string[] = ["string", "text", "code", "select"];

/** Stores the values of one tool. @throws HullError for a value that its parameter does not take */
export async function saveConfig(api: Api, slug: string): Promise<Response> {
  const fields = await api.form();
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
