/** What an isolate has to know before it serves. */
import { expect, it } from "vitest";
import { Deployment } from "../../src/deployment.ts";
import { Client, mockSkill } from "./served.ts";

const KEY = "provider-canary-0123456789";
const TOKEN = "proxy-canary-0123456789";
const PROVIDERS = '[providers.acme]\nbase_url = "https://acme.example"\nauth_env = "ACME_KEY"\n';
const PROXY =
  "---\nname: out\ndescription: Proxy\nmode: proxy\nproxy: https://up.example/x?key=${OUT_TOKEN}\nmethod: GET\n---\n";

const shown = ({ settings }: Deployment): string => settings.eventRedactor.text(`${KEY} ${TOKEN}`);

it("knows the secrets of the provider file and of the catalog once it is open, and not before both were read", async () => {
  const variables = { HULL_ENV: "local", ACME_KEY: KEY, OUT_TOKEN: TOKEN };
  const client = new Client({ ...variables, HULL_PROVIDERS_CONFIG: "kv:providers" });
  const deployment = new Deployment(client.env);
  await deployment.open(() => {});
  expect([deployment.isOpen, shown(deployment)]).toEqual([false, `${KEY} ${TOKEN}`]);
  await client.env.SKILLS.put("providers", PROVIDERS);
  await new Client(variables).publish({ out: PROXY, cat: mockSkill("cat") });
  await deployment.open(() => {});
  expect([deployment.isOpen, shown(deployment)]).toEqual([true, "[redacted] [redacted]"]);
});

it("is another one for another environment, and opens where nothing is published", async () => {
  const [one, other] = [new Client(), new Client()];
  expect(one.deployment).toBe(one.deployment);
  expect(one.deployment).not.toBe(other.deployment);
  await other.env.SKILLS.delete("catalog:current");
  await other.deployment.open(() => {});
  expect(other.deployment.isOpen).toBe(true);
});
