/**
 * Places the nodes and edges of a graph that is drawn from top to bottom. It is fast for every graph that Hull accepts; the
 * package @dagrejs/dagre needs many seconds for 200 nodes with 300 long edges. Pure.
 */

export interface GraphEdge {
  from: string;
  to: string;
  branch?: string | undefined;
}

/** A node by its upper left corner, an edge by its path (SVG); in pixels. */
interface Layout {
  nodes: { id: string; x: number; y: number }[];
  edges: { from: string; to: string; path: string; label: { text: string; x: number; y: number } | null }[];
  width: number;
  height: number;
}

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 46;
const ROW = 96;
const GAP = 28;
const MARGIN = 12;
/** Most characters of a node's name or a branch's name. */
export const LINE = 20;
/** Width of a letter in a branch's name, about. */
const LETTER = 7;
/** Width of the lane of an edge that passes a row. */
const LANE = 20;
/** Most places that edges take in the rows that they pass. Beyond this number, long edges go straight. */
const MAX_LANES = 2000;
/** How often the order within the rows is improved. */
const SWEEPS = 4;

/** An entry of a row: a node, or an edge that passes. */
interface Place {
  /** `null`: the entry is an edge that passes. */
  id: string | null;
  width: number;
  above: Place[];
  below: Place[];
  /** Its middle. */
  x: number;
  row: number;
}

/**
 * Lays a graph out in rows: a node is below all nodes that lead to it, and edges that lead back run at the side.
 * @param ids of the nodes, that of the entry first @param edges between these ids; others are left out
 */
export function layOut(ids: readonly string[], edges: readonly GraphEdge[]): Layout {
  const known = new Set(ids);
  const inside = edges.filter(({ from, to }) => known.has(from) && known.has(to));
  const { order, back } = walk(ids, inside);
  const rows = rowsOf(order, inside, back);
  const places = new Map(
    order.map((id): [string, Place] => [id, placeOf(id, NODE_WIDTH, rows.get(id) ?? 0)]),
  );
  const grid: Place[][] = [];
  const put = (place: Place): void => {
    grid[place.row] ??= [];
    grid[place.row]?.push(place);
  };
  for (const place of places.values()) put(place);
  const ways = new Map<GraphEdge, Place[]>();
  let lanes = 0;
  for (const edge of inside) {
    const from = places.get(edge.from);
    const to = places.get(edge.to);
    if (from === undefined || to === undefined || back.has(edge)) continue;
    const way = [from];
    for (let row = from.row + 1; row < to.row && lanes < MAX_LANES; row += 1) {
      const lane = placeOf(null, LANE, row);
      put(lane);
      way.push(lane);
      lanes += 1;
    }
    way.push(to);
    for (const [i, place] of way.entries()) {
      const next = way[i + 1];
      if (next === undefined) continue;
      place.below.push(next);
      next.above.push(place);
    }
    ways.set(edge, way);
  }
  arrange(grid);
  return drawn(grid, inside, places, ways);
}

const placeOf = (id: string | null, width: number, row: number): Place => ({
  id,
  width,
  above: [],
  below: [],
  x: 0,
  row,
});

/** The nodes, each before what it leads to, and the edges that lead back to a node above. */
function walk(
  ids: readonly string[],
  edges: readonly GraphEdge[],
): { order: string[]; back: Set<GraphEdge> } {
  const out = new Map<string, GraphEdge[]>(ids.map((id) => [id, []]));
  // The last one is visited first, so that the first one comes first in the order.
  for (const edge of edges) out.get(edge.from)?.unshift(edge);
  const back = new Set<GraphEdge>();
  const seen = new Map<string, "open" | "left">();
  const order: string[] = [];
  for (const start of ids) {
    if (seen.has(start)) continue;
    const stack = [{ id: start, next: 0 }];
    seen.set(start, "open");
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = out.get(top.id)?.[top.next];
      top.next += 1;
      if (edge === undefined) {
        seen.set(top.id, "left");
        order.unshift(top.id);
        stack.pop();
      } else if (seen.get(edge.to) === "open") back.add(edge);
      else if (!seen.has(edge.to)) {
        seen.set(edge.to, "open");
        stack.push({ id: edge.to, next: 0 });
      }
    }
  }
  return { order, back };
}

/** The row of each node: one below the lowest node that leads to it. */
function rowsOf(
  order: readonly string[],
  edges: readonly GraphEdge[],
  back: ReadonlySet<GraphEdge>,
): Map<string, number> {
  const rows = new Map(order.map((id) => [id, 0]));
  const out = new Map<string, string[]>();
  for (const edge of edges) if (!back.has(edge)) out.set(edge.from, [...(out.get(edge.from) ?? []), edge.to]);
  for (const id of order)
    for (const to of out.get(id) ?? []) rows.set(to, Math.max(rows.get(to) ?? 0, (rows.get(id) ?? 0) + 1));
  return rows;
}

/** Orders each row by its neighbours above and below, and places its entries next to each other. */
function arrange(grid: readonly Place[][]): void {
  for (const row of grid) spread(row, null);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const row of down ? grid : [...grid].reverse()) {
      const side = down ? "above" : "below";
      row.sort((a, b) => middleOf(a, side) - middleOf(b, side));
      spread(row, side);
    }
  }
}

const middleOf = (place: Place, side: "above" | "below"): number =>
  place[side].length === 0 ? place.x : place[side].reduce((sum, { x }) => sum + x, 0) / place[side].length;

/** Moves each place near the middle of its neighbours on one side, without overlaps. */
function spread(row: readonly Place[], side: "above" | "below" | null): void {
  const wanted = row.map((place) => (side === null ? 0 : middleOf(place, side)));
  let edge = Number.NEGATIVE_INFINITY;
  for (const [i, place] of row.entries()) {
    place.x = Math.max(wanted[i] ?? 0, edge + place.width / 2);
    edge = place.x + place.width / 2 + GAP;
  }
  const off = row.reduce((sum, { x }, i) => sum + x - (wanted[i] ?? 0), 0) / Math.max(1, row.length);
  for (const place of row) place.x -= off;
}

function drawn(
  grid: readonly Place[][],
  edges: readonly GraphEdge[],
  places: ReadonlyMap<string, Place>,
  ways: ReadonlyMap<GraphEdge, readonly Place[]>,
): Layout {
  const all = grid.flat();
  const left = Math.min(0, ...all.map(({ x, width }) => x - width / 2)) - MARGIN;
  const right = Math.max(0, ...all.map(({ x, width }) => x + width / 2)) - left;
  const x = (place: Place): number => Math.round(place.x - left);
  const top = (place: Place): number => MARGIN + place.row * ROW;
  let aside = 0;
  let rightEdge = right + MARGIN;
  const lines = edges.flatMap((edge): Layout["edges"] => {
    const { from, to, branch = "" } = edge;
    const source = places.get(from);
    const target = places.get(to);
    if (source === undefined || target === undefined) return [];
    const way = ways.get(edge);
    if (way === undefined) {
      aside += 1;
      const out = right + 16 + aside * 16;
      const [x1, y1] = [x(source) + NODE_WIDTH / 2, top(source) + NODE_HEIGHT / 2 + 8];
      const [x2, y2] = [x(target) + NODE_WIDTH / 2, top(target) + NODE_HEIGHT / 2 - 8];
      // A curve reaches three quarters of the way to its handles.
      const x3 = Math.round(Math.max(x1, x2) * 0.25 + out * 0.75);
      const label = { text: branch, x: x3 + 4, y: Math.round((y1 + y2) / 2) };
      rightEdge = Math.max(rightEdge, x3 + 8 + Math.min(branch.length, LINE) * LETTER);
      return [
        {
          from,
          to,
          path: `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2} ${y2}`,
          label: branch === "" ? null : label,
        },
      ];
    }
    const points = way.map((place, i): [number, number] => [
      x(place),
      place.id !== null && i === 0
        ? top(place) + NODE_HEIGHT
        : place.id === null
          ? top(place) + NODE_HEIGHT / 2
          : top(place),
    ]);
    const [[x0, y0] = [0, 0], [x1, y1] = [0, 0]] = points;
    const rest = points.slice(1).map(([px, py], i) => {
      const [, before] = points[i] ?? [0, 0];
      const middle = Math.round((before + py) / 2);
      return `C${points[i]?.[0] ?? 0} ${middle} ${px} ${middle} ${px} ${py}`;
    });
    const label = { text: branch, x: Math.round((x0 + x1) / 2) + 4, y: Math.round((y0 + y1) / 2) };
    return [{ from, to, path: `M${x0} ${y0}${rest.join("")}`, label: branch === "" ? null : label }];
  });
  return {
    nodes: Array.from(places, ([id, place]) => ({ id, x: x(place) - NODE_WIDTH / 2, y: top(place) })),
    edges: lines,
    width: Math.ceil(rightEdge),
    height: grid.length * ROW - (ROW - NODE_HEIGHT) + 2 * MARGIN,
  };
}
