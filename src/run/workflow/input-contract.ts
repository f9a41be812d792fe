/** Checks the artifacts that a node reads against the schema of its input contract. Pure. */
import type { WorkflowArtifact } from "../../engine/workflow/artifacts.ts";
import type { Node } from "../../engine/workflow/graph.ts";
import { readSchema } from "../../llm/schema.ts";
import { schemaErrors } from "../../llm/validate.ts";
import { memo } from "../../memo.ts";
import { jsonOrText } from "../../skill/json-depth.ts";

/**
 * The fault of the first artifact that does not match; `null`: all match. An artifact without data is checked as the
 * JSON value of its text, or as the text itself.
 * @throws InvalidRequest if the schema cannot be used
 */
export function inputFault({ id, input_contract }: Node, inputs: readonly WorkflowArtifact[]): string | null {
  const fault = input_contract === undefined ? null : faultsIn(inputs)(input_contract);
  return fault && `The node "${id}" needs artifacts that fit its input_contract.schema, and ${fault}`;
}

/** By the artifacts, since all items of a map ask for the same ones. */
const faultsIn = memo((inputs: readonly WorkflowArtifact[]) =>
  memo(({ schema: given }: NonNullable<Node["input_contract"]>): string | null => {
    if (given === undefined) return null;
    const schema = readSchema(given, "input_contract.schema");
    for (const { data, text, title } of inputs) {
      const [first] = schemaErrors(schema, data ?? jsonOrText(text ?? ""));
      if (first !== undefined) return `"${title}" does not: ${first}`;
    }
    return null;
  }),
);
