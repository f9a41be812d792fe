/** A request with a thousand Skill Tools, built in this process: reading them, and what is sent to each kind of provider. */
import { WIRES } from "../../src/model/call.ts";
import { Findings } from "../../src/skill/findings.ts";
import { readToolsJson } from "../../src/skill/tools-json/read.ts";
import { request, target } from "../fixtures/wires/fixture.ts";
import { manyTools } from "../support/many-tools.ts";
import { ms, type Row, row } from "./row.ts";

const COUNT = 1000;
/** Most ms. */
const LIMIT = 5;
const PROVIDERS = [
  ["anthropic", "anthropic"],
  ["openai", "openai-chat"],
  ["openai", "openai-responses"],
] as const;

/** @param rounds requests per provider */
export async function skillToolRows(rounds: number): Promise<Row[]> {
  const declared = manyTools(COUNT).map(({ name, description, parameters }) => ({
    name,
    description,
    parameters: parameters.properties,
  }));
  const text = JSON.stringify(declared);
  const readAll = () => readToolsJson(new Findings("bench", "tools.json"), text, { keyVariables: [] });
  const { tools } = readAll();
  if (tools.length !== COUNT) throw new RangeError(`only ${tools.length} tools were read`);
  const read = median(rounds, readAll);
  const parsed = median(rounds, () => JSON.parse(text));
  return [
    row(
      `a tools.json of ${COUNT} tools: p50 over JSON.parse`,
      ms(parsed),
      ms(read),
      read - parsed,
      Number.POSITIVE_INFINITY,
      ms,
    ),
    ...PROVIDERS.map(([provider, protocol]) => {
      const wanted = target(provider, protocol, "m");
      const made = median(rounds, () => {
        const definitions = tools.map(({ name, description, parameters }) => ({
          name,
          description,
          parameters,
        }));
        const asked = { ...request("hi"), tools: definitions };
        return JSON.stringify(WIRES[protocol].body(asked, wanted, true));
      });
      const plain = median(rounds, () => JSON.stringify(tools));
      const title = `a request with ${COUNT} Skill Tools for ${protocol}: p50, beside JSON.stringify of them`;
      return row(title, ms(plain), ms(made), made, LIMIT, ms);
    }),
  ];
}

function median(rounds: number, work: () => unknown): number {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const begun = performance.now();
    work();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN;
}

if (import.meta.main) console.table(await skillToolRows(60));
