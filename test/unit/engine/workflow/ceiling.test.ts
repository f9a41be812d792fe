/** What a policy of a graph may ask for below a ceiling. */
import { expect, it } from "vitest";
import { validateGraph } from "../../../../src/engine/workflow/validate.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { graphOf } from "../../../support/workflow-graphs.ts";

it.each<[what: string, ceiling: JsonObject, beyond: JsonObject, excess: string]>([
  ["a tool", { tools: ["read"] }, { tools: ["read", "exec"] }, "the tool exec is not among read"],
  [
    "a level",
    { side_effect_level: "read_only" },
    { side_effect_level: "network" },
    "side_effect_level network is above read_only",
  ],
  [
    "a folder",
    { workspace_roots: ["src"] },
    { workspace_roots: ["src/a", "docs"] },
    "the folder docs is outside of src",
  ],
  [
    "an operation of a capability",
    { capabilities: { net: ["get"] } },
    { capabilities: { net: ["get", "post"] } },
    "the capability net.post is not allowed",
  ],
  ["a depth", { recursion_limit: 1 }, { recursion_limit: 2 }, "recursion_limit 2 is above 1"],
])(
  "%s beyond the ceiling is an error of each node, the ceiling itself is none",
  (_, ceiling, beyond, excess) => {
    const errorsOf = (capability_policy: JsonObject) =>
      validateGraph(graphOf({ nodes: { a: {} }, capability_policy }), ceiling).errors;
    const message = `The node "a" asks for more than the ceiling: ${excess}.`;
    expect(errorsOf(beyond)).toEqual([{ path: "nodes.a.capability_policy", node: "a", message }]);
    expect(errorsOf(ceiling)).toEqual([]);
  },
);
