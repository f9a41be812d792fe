/** Many tools, like those of a large company's MCP servers; the same number always gives the same list. */
import type { Tool } from "../../src/engine/tools.ts";

const VERBS =
  "open create delete list get update send search export import archive approve cancel deploy restart assign merge".split(
    " ",
  );
const NOUNS =
  "file invoice customer order ticket report record channel message branch repository server database user account contract shipment payment calendar meeting document folder alert metric dashboard pipeline release secret policy role".split(
    " ",
  );
const SYSTEMS =
  "billing crm helpdesk warehouse mail chat wiki cloud payroll analytics security identity marketing sales research".split(
    " ",
  );

/** One eager tool, the others deferred; names are unique. About 300 characters of searched text each. */
export function manyTools(count: number): Tool[] {
  const pick = (list: readonly string[], n: number): string => list[n % list.length] ?? "";
  return Array.from({ length: count }, (_, i): Tool => {
    const verb = pick(VERBS, i);
    const noun = pick(NOUNS, Math.floor(i / VERBS.length));
    const system = pick(SYSTEMS, Math.floor(i / (VERBS.length * NOUNS.length)));
    const parameter = (description: string) => ({ type: "string", description });
    return {
      name: `${verb}_${system}_${noun}_${i}`,
      description: `Use this to ${verb} a ${noun} in the ${system} system. Returns the ${noun} as JSON, or the reason why the ${system} system refused.`,
      parameters: {
        type: "object",
        properties: {
          [`${noun}_id`]: parameter(`Identifier of the ${noun}, as the ${system} system shows it`),
          reason: parameter(`Why to ${verb} it, for the log`),
          limit: { type: "integer", description: "Most results to return, from 1 to 100" },
        },
        required: [`${noun}_id`],
      },
      ...(i === 0 ? {} : { defer_loading: true }),
    };
  });
}
