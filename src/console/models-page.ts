/** `/console/models`: providers, whether their keys are set, their models and the features of these. */
import { html } from "hono/html";
import type { Model, ModelProvider } from "../../typed/client/api.d.ts";
import { type Api, asked } from "./api.ts";
import { textOf, typedIn } from "./fields.ts";
import { form, type Page, shownPage } from "./layout.ts";
import { facts, optionList, table } from "./table.ts";
import { count, folded, type Html, money } from "./text.ts";

export async function modelsPage(api: Api): Promise<Page> {
  const model = api.url.searchParams.get("model") ?? "";
  const [{ data }, known, one] = await Promise.all([
    asked(api, "listProviders"),
    asked(api, "listModels"),
    model === "" ? null : asked(api, "listModels", { query: { id: model } }),
  ]);
  const aliases = "data" in known ? known.data : [];
  const usable = data.filter(({ available }) => available);
  // A server on this machine counts as configured, whether or not it runs.
  const isRemote = ({ base_url }: ModelProvider): boolean =>
    base_url !== null && !base_url.includes("//localhost");
  const first = usable.find(isRemote)?.name ?? "mock";
  return {
    title: "Models",
    body: html`<h1>Models</h1><h2>Providers</h2>
${table(
  ["Provider", "State", "Protocol", "Default model", "Check"],
  data.map((provider) => cells(api, provider)),
)}
<h2>Models by alias</h2>
<form method="get" action="/console/models" class="row"><div><label for="model">Alias or model</label><input id="model" name="model" value="${model}" list="aliases"><datalist id="aliases">${aliases.map((alias) => html`<option value="${alias}"></option>`)}</datalist></div><button>Show the model</button></form>
${one === null || "data" in one ? html`<ul class="chips">${aliases.map((alias) => html`<li><a href="/console/models?model=${encodeURIComponent(alias)}">${alias}</a></li>`)}</ul>` : modelFacts(one)}
<h2>Test call</h2>${form(
      api,
      "/console/models/call",
      html`<div><label for="provider">Provider</label><select id="provider" name="provider">${optionList(
        usable.map(({ name }) => name),
        first,
      )}</select></div><div><label for="asked">Model, or empty for the default</label><input id="asked" name="model"></div><div><label for="prompt">Prompt</label><input id="prompt" name="prompt" value="Say hello." required></div><button>Call</button>`,
      "row",
    )}`,
  };
}

function modelFacts({ id, provider, tier, tool_format, ...known }: Model): Html {
  const { capabilities, context_window, price, retires_at } = known;
  const unknown = html`<span class="dim">unknown</span>`;
  return html`<h3><code>${id}</code></h3>${facts([
    ["Provider", provider],
    ["Tier", tier],
    ["Calls tools in", tool_format === "native" ? "the provider's own format" : "text"],
    ["Context window", context_window === null ? unknown : `${count(context_window)} tokens`],
    ["Price of a million tokens", price === null ? unknown : html`${priceShown(price)}`],
    retires_at === null ? null : ["Retires on", retires_at],
  ])}
${table(
  ["Capability", "Value"],
  Object.entries(capabilities).map(([name, value]) => [
    html`<code>${name}</code>`,
    value === null ? unknown : capability(value),
  ]),
)}`;
}

function priceShown(price: NonNullable<Model["price"]>): string {
  const parts = [`${money(price.in)} in`, `${money(price.out)} out`];
  if (price.cache_read !== undefined) parts.push(`${money(price.cache_read)} read from the cache`);
  if (price.cache_write !== undefined) parts.push(`${money(price.cache_write)} written to the cache`);
  const { above } = price;
  const more =
    above === undefined
      ? ""
      : `; above ${count(above.tokens)} tokens ${money(above.in)} in, ${money(above.out)} out`;
  return `${parts.join(", ")}${more}`;
}

function capability(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "none" : value.join(", ");
}

function cells(
  api: Api,
  { name, protocol, auth_env, default_model, available }: ModelProvider,
): (Html | string)[] {
  const variables = auth_env.map((one, i) => html`${i === 0 ? "" : " or "}<code>${one}</code>`);
  const state = !available
    ? html`<span class="dim">set ${variables}</span>`
    : auth_env.length === 0
      ? "needs no key"
      : html`<span class="state good">configured</span>`;
  const check = html`<button aria-label="Check ${name}">Check</button>`;
  return [
    name,
    state,
    protocol,
    default_model ?? "",
    available ? form(api, `/console/models/${name}/check`, check, "inline") : "",
  ];
}

/** Checks that a provider answers and takes the key. */
export async function checkProvider(api: Api, _: FormData, name: string): Promise<Response> {
  const { valid, message } = await asked(api, "checkProvider", { params: { name } });
  return shownPage(api, {
    title: `Check of ${name}`,
    body: html`<h1>Check of ${name}</h1><p class="note ${valid ? "" : "bad"}">${valid ? "It can be used." : "It cannot be used."} ${message}</p><p><a href="/console/models">Models</a></p>`,
  });
}

/** Makes one call and shows its whole answer. */
export async function testCall(api: Api, fields: FormData): Promise<Response> {
  const provider = textOf(fields, "provider");
  const options = { provider, model: textOf(fields, "model") || undefined, max_tokens: 200 };
  const answer = await asked(api, "callModel", { json: { prompt: typedIn(fields, "prompt"), options } });
  return shownPage(api, {
    title: "Test call",
    body: html`<h1>Answer of ${provider}</h1><pre tabindex="0">${answer.text ?? ""}</pre>${folded("The whole result", answer)}<p><a href="/console/models">Models</a></p>`,
  });
}
