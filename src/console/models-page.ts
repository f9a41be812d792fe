/** `/console/models`: providers, whether their keys are set, their models and the features of these. */
import { html } from "hono/html";
import type { Provider } from "./answers.ts";
import { type Api, asked } from "./api.ts";
import { form, type Page, shownPage } from "./layout.ts";
import { optionList, table } from "./table.ts";
import { type Html, pretty } from "./text.ts";

export async function modelsPage(api: Api): Promise<Page> {
  const model = api.url.searchParams.get("model") ?? "";
  const [{ data }, known] = await Promise.all([asked(api, "listProviders"), asked(api, "listModels")]);
  const one = model === "" ? null : await asked(api, "listModels", { query: { id: model } });
  const usable = data.filter(({ available }) => available);
  // A server on this machine counts as configured, whether or not it runs.
  const isRemote = ({ base_url }: Provider): boolean =>
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
<form method="get" action="/console/models" class="row"><div><label for="model">Alias or model</label><input id="model" name="model" value="${model}" list="aliases"><datalist id="aliases">${known.data.map((alias) => html`<option value="${alias}"></option>`)}</datalist></div><button>Show capabilities</button></form>
${one === null ? html`<ul class="chips">${known.data.map((alias) => html`<li><a href="/console/models?model=${encodeURIComponent(alias)}">${alias}</a></li>`)}</ul>` : html`<pre tabindex="0">${pretty(one)}</pre>`}
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

function cells(
  api: Api,
  { name, protocol, auth_env, default_model, available }: Provider,
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
export async function checkProvider(api: Api, name: string): Promise<Response> {
  await api.form();
  const { valid, message } = await asked(api, "checkProvider", { params: { name } });
  return shownPage(api, {
    title: `Check of ${name}`,
    body: html`<h1>Check of ${name}</h1><p class="note ${valid ? "" : "bad"}">${valid ? "It can be used." : "It cannot be used."} ${message}</p><p><a href="/console/models">Models</a></p>`,
  });
}

/** Makes one call and shows its whole answer. */
export async function testCall(api: Api): Promise<Response> {
  const fields = await api.form();
  const text = (name: string): string => String(fields.get(name) ?? "").trim();
  const options = {
    provider: text("provider"),
    ...(text("model") === "" ? {} : { model: text("model") }),
    max_tokens: 200,
  };
  const answer = await asked(api, "callModel", {
    json: { prompt: text("prompt"), options },
  });
  return shownPage(api, {
    title: "Test call",
    body: html`<h1>Answer of ${options.provider}</h1><pre tabindex="0">${answer.text ?? ""}</pre><details><summary>The whole result</summary><pre tabindex="0">${pretty(answer)}</pre></details><p><a href="/console/models">Models</a></p>`,
  });
}
