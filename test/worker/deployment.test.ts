/** What an isolate has to know before it serves. */
import { expect, it } from "vitest";
import { Deployment } from "../../src/deployment.ts";
import type { Bindings } from "../../src/env.ts";
import { client, life, newCall, runner, textOf, withSettings, withStorage } from "./execution-world.ts";
import { stored } from "./handler-world.ts";
import { Client, mockSkill } from "./served.ts";
import { publishTools, skillTool } from "./tool-skills.ts";

const KEY = "provider-canary-0123456789";
const TOKEN = "proxy-canary-0123456789";
const PROVIDERS = '[providers.acme]\nbase_url = "https://acme.example"\nauth_env = "ACME_KEY"\n';
const PROXY =
  "---\nname: out\ndescription: Proxy\nmode: proxy\nproxy: https://up.example/x?key=${OUT_TOKEN}\nmethod: GET\n---\n";

const shown = ({ settings }: Deployment): string => settings.eventRedactor.text(`${KEY} ${TOKEN}`);

it("knows the secrets of the provider file and of the catalog once it is open, and not before both were read", async () => {
  const variables = { HULL_ENV: "local", ACME_KEY: KEY, OUT_TOKEN: TOKEN };
  const { env } = new Client({ ...variables, HULL_PROVIDERS_CONFIG: "kv:providers" });
  await env.SKILLS.delete("catalog:current");
  const deployment = new Deployment(env);
  await deployment.open(() => {});
  expect([deployment.isOpen, shown(deployment)]).toEqual([false, `${KEY} ${TOKEN}`]);
  await env.SKILLS.put("providers", PROVIDERS);
  await new Client(variables).publish({ out: PROXY, cat: mockSkill("cat") });
  await deployment.open(() => {});
  expect([deployment.isOpen, shown(deployment)]).toEqual([true, "[redacted] [redacted]"]);
});

it("is another one for another environment, and opens if nothing is published", async () => {
  const [one, other] = [new Client(), new Client()];
  expect(one.deployment).toBe(one.deployment);
  expect(one.deployment).not.toBe(other.deployment);
  await other.env.SKILLS.delete("catalog:current");
  await other.deployment.open(() => {});
  expect(other.deployment.isOpen).toBe(true);
});

/** Bindings whose registry has a catalog of a later version of Hull. */
function withLaterCatalog(): Bindings {
  const SKILLS = new Proxy(client.env.SKILLS, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (key: string, ...more: unknown[]) =>
        key === "catalog:current" ? Promise.resolve({ later: true }) : value.call(target, key, ...more);
    },
  });
  return Object.assign({}, client.env, { SKILLS });
}

it.each([
  ["the provider file", () => withSettings({ HULL_PROVIDERS_CONFIG: "kv:none" }), "setting_unreadable"],
  ["the catalog", withLaterCatalog, "catalog_unreadable"],
])("no process starts while Hull cannot read %s, which names secrets", async (_, bindings, code) => {
  const call = newCall("script");
  await withStorage(call.id, async (storage) => {
    const one = life(bindings(), storage);
    one.session.begin(call);
    expect(await textOf(one)).toContain(`"code":"${code}"`);
    expect(runner.executions.size).toBe(0);
  });
});

it("attack: no handler gets a key of the provider file, whether Hull can read the file or not", async () => {
  const module = await stored("export default async (args, ctx) => ctx.env;");
  const script = { tier: "isolate" as const, script: "scripts/peek.js", module };
  await publishTools(new Client(), { cat: [skillTool("peek", { ...script, env: ["ACME_KEY", "OPEN"] })] });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "cat__peek", arguments: {} } };
  const answered = async (HULL_PROVIDERS_CONFIG: string): Promise<string> => {
    const variables = { HULL_ENV: "local", ACME_KEY: KEY, OPEN: "free", HULL_PROVIDERS_CONFIG };
    return (await new Client(variables).post("/mcp", call)).text();
  };
  expect(await answered(PROVIDERS)).toContain(String.raw`{\"OPEN\":\"free\"}`);
  const refused = await answered("kv:none");
  expect(refused).toContain('"code":"setting_unreadable"');
  expect(refused).not.toContain(KEY);
});
