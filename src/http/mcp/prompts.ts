/** Skills as MCP prompts: the body, followed by what the user adds. */
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { type Exchange, listedSkills, skillOf, staleMeta } from "./exchange.ts";
import { invalidParams, type Outcome } from "./message.ts";

/** `prompts/list`. */
export const listPrompts = (exchange: Exchange, params: JsonObject): Promise<Outcome> =>
  listedSkills(exchange, params, "prompts", ({ card, record: { manifest } }) => [
    {
      name: manifest.slug,
      title: manifest.name,
      description: manifest.description,
      arguments: [{ name: "input", description: "What the skill is asked.", required: false }],
      ...staleMeta(card),
    },
  ]);

/** `prompts/get`. */
export async function getPrompt(exchange: Exchange, params: JsonObject): Promise<Outcome> {
  const { name, arguments: given = {} } = params;
  if (typeof name !== "string" || !isObject(given)) {
    return invalidParams("prompts/get takes a name, and arguments by name.");
  }
  const { input = "", ...further } = given;
  const [unknown] = Object.keys(further);
  if (unknown !== undefined) return invalidParams(`The prompt has no argument "${unknown}".`);
  if (typeof input !== "string") return invalidParams('The argument "input" must be a string.');
  const served = await skillOf(exchange, name);
  if (served === null) return invalidParams(`Unknown prompt: ${name}`);
  const { manifest, body } = served.record;
  const text = [body, input].filter((part) => part !== "").join("\n\n");
  const messages = [{ role: "user", content: { type: "text", text } }];
  return { result: { description: manifest.description, messages } };
}
