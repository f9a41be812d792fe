/** The examples of docs/models.md, carried out: each comment says what a route then answers. */
import { parse } from "smol-toml";
import { expect, it } from "vitest";
import text from "../../docs/models.md?raw";
import { modelDefaults } from "../../src/model/registry/infer.ts";
import { layerSchema } from "../../src/model/registry/layer.ts";
import { blocks } from "../support/documents.ts";
import { Client, LOCAL } from "./served.ts";

const examples = blocks(text).filter(({ language }) => language === "toml");

/** A client of a deployment with this example: a hull.toml, a provider file, or a tenant's rules. */
async function clientWith(toml: string): Promise<Client> {
  const value = parse(toml);
  if ("provider" in value) {
    const client = new Client();
    const installed = await client.fetch("/llm/capabilities", { method: "PUT", body: toml });
    expect(installed.status).toBe(200);
    return client;
  }
  if ("providers" in value) return new Client({ ...LOCAL, HULL_PROVIDERS_CONFIG: toml });
  return new Client({ ...LOCAL, HULL_LLM: JSON.stringify(layerSchema.parse(value)) });
}

it.each(examples.map((example) => example.text))("%s", async (toml) => {
  const client = await clientWith(toml);
  const claims = Array.from(toml.matchAll(/^# GET (\S+) → (\{.*\})$/gm));
  for (const [, path = "", expected = ""] of claims) {
    const response = await client.fetch(path);
    expect([path, await response.json()]).toMatchObject([path, JSON.parse(expected)]);
  }
  if (toml.includes("model_defaults")) {
    const modelRegistry = await client.deployment.models.registry();
    expect(modelDefaults(modelRegistry, "gpt-4o-mini")).toEqual({ temperature: 0, seed: 7 });
  } else {
    expect(claims).not.toEqual([]);
  }
});
