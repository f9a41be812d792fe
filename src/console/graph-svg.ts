/** A workflow's graph as a drawing, and as a table with the same contents. */

import { html } from "hono/html";
import type { WorkflowGraph } from "../../typed/client/api.d.ts";
import { counted } from "../plural.ts";
import { type GraphEdge, LINE, layOut, NODE_HEIGHT, NODE_WIDTH } from "./graph-layout.ts";
import { table } from "./table.ts";
import { folded, type Html, short } from "./text.ts";

export interface NodeState {
  /** A class of the stylesheet: `done`, `failed`, `runs`, `waits`, `next`. */
  cls: string;
  /** The state in words. */
  text: string;
}

/** The ids of the nodes, the entry first. */
export function nodeIds({ nodes, entry = "" }: WorkflowGraph): string[] {
  const ids = Object.keys(nodes);
  return ids.includes(entry) ? [entry, ...ids.filter((id) => id !== entry)] : ids;
}

/**
 * The graph as SVG, hidden from screen readers, since the table next to it has the same contents.
 * @param states of a run's nodes; a node without a state has not begun
 * @param taken edges that the run took, as `<from> <to>`
 */
export function graphDrawn(
  graph: WorkflowGraph,
  states: ReadonlyMap<string, NodeState> = new Map(),
  taken: ReadonlySet<string> = new Set(),
): Html {
  const edges: GraphEdge[] = (graph.edges ?? []).map(({ from, to, branch }) => ({ from, to, branch }));
  const layout = layOut(nodeIds(graph), edges);
  const lines = layout.edges.map(
    ({ from, to, path, label }) =>
      html`<path class="edge${taken.has(`${from} ${to}`) ? " taken" : ""}" d="${path}" marker-end="url(#arrow)"/>${label === null ? "" : html`<text class="branch" x="${label.x}" y="${label.y}">${short(label.text, LINE)}</text>`}`,
  );
  const boxes = layout.nodes.map(({ id, x, y }) => {
    const { cls = "", text = "" } = states.get(id) ?? {};
    const kind = graph.nodes[id]?.kind ?? "";
    return html`<a href="#node-${id}" tabindex="-1"><g class="node ${cls}" transform="translate(${x} ${y})"><title>${id}</title><rect width="${NODE_WIDTH}" height="${NODE_HEIGHT}" rx="6"/><text x="10" y="20">${short(id, LINE)}</text><text class="more" x="10" y="37">${kind}${text === "" ? "" : ` · ${text}`}</text></g></a>
`;
  });
  return html`<div class="scroll" tabindex="0"><svg class="graph" width="${layout.width}" height="${layout.height}" viewBox="0 0 ${layout.width} ${layout.height}" aria-hidden="true"><defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>${lines}${boxes}</svg></div>`;
}

/** The nodes as a table: kind, next nodes, and state in the run. */
export function nodeTable(graph: WorkflowGraph, states: ReadonlyMap<string, NodeState> | null = null): Html {
  const rows = nodeIds(graph).map((id) => {
    const { kind = "", ...rest } = graph.nodes[id] ?? {};
    const prompt = graph.nodes[id]?.prompt ?? "As JSON";
    const ways = (graph.edges ?? []).filter(({ from }) => from === id);
    const leads = ways.map(
      ({ to, branch, max_traversals }, i) =>
        html`${i === 0 ? "" : ", "}<a href="#node-${to}">${to}</a>${branch === undefined ? "" : ` on ${branch}`}${max_traversals === undefined ? "" : `, at most ${counted(max_traversals, "time")}`}`,
    );
    const state = states?.get(id);
    const shown =
      state === undefined
        ? html`<span class="dim">not started</span>`
        : html`<span class="state ${state.cls}">${state.text}</span>`;
    return [
      html`<strong>${id}</strong>${id === graph.entry ? " (entry)" : ""}`,
      kind,
      ...(states === null ? [] : [shown]),
      leads.length === 0 ? html`<span class="dim">the end</span>` : html`${leads}`,
      folded(short(prompt, 60), rest),
    ];
  });
  const columns = ["Node", "Kind", ...(states === null ? [] : ["State"]), "Leads to"];
  const ids = nodeIds(graph).map((id) => `node-${id}`);
  return table([...columns, { name: "Definition", as: "wide" }], rows, ids);
}
