/** Routes of skills: their form, and the paths reserved for Hull. */
import { FIXED_ROUTES } from "./fixed-routes.ts";

/** Paths that no skill may take, including everything below them. There is no fixed route below any of them. */
const KEPT = [
  "/favicon.ico",
  "/agents",
  "/anthropic",
  "/openai",
  "/messages",
  "/sub-agents",
  "/mcp",
  "/usage",
  // Used by Cloudflare at the edge, and by wrangler locally.
  "/cdn-cgi",
];

const SEGMENTS = FIXED_ROUTES.map(([, , path]) => path.split("/").slice(1));

/** Paths of fixed routes below which skills may have theirs. */
const PATHS = new Set(SEGMENTS.map(([first]) => `/${first}`));

/** First segments below which there are fixed routes. `/skills/<slug>` is the skill's own. */
const PREFIXES = new Set([
  ...KEPT,
  ...SEGMENTS.flatMap(([first, below]) => (below === undefined || first === "skills" ? [] : [`/${first}`])),
]);

/** What `/skills/<slug>/` itself offers in addition to the skill. */
const SKILL_RESOURCES = new Set(
  SEGMENTS.flatMap(([first, , resource]) => (first === "skills" ? [resource] : [])),
);

/** Characters that a URL path holds unescaped (RFC 3986 `pchar` without percent-encoding) and `/`. */
const LITERAL_PATH = /^[A-Za-z0-9._~!$&'()*+,;=:@/-]*$/;

type RouteForm = { path: string } | { problem: string };

/** The exact path of a `route` field: a leading `/` added, one trailing `/` removed; or its fault. */
export function normaliseRoute(text: string): RouteForm {
  const rooted = text.startsWith("/") ? text : `/${text}`;
  const path = rooted.length > 1 && rooted.endsWith("/") ? rooted.slice(0, -1) : rooted;
  if (rooted.includes("//")) return { problem: "it contains //" };
  if (path.includes("..")) return { problem: "it contains .." };
  if (path.split("/").includes(".")) return { problem: "it contains the segment ." };
  if (/[?#]/.test(path)) return { problem: "it contains ? or #" };
  if (path.includes("%")) return { problem: "it contains percent-encoded characters" };
  if (!LITERAL_PATH.test(path)) {
    return { problem: "it contains characters that a URL path cannot hold unencoded" };
  }
  return { path };
}

/** The reserved path or prefix that a route collides with, or `null`. */
export function reservedBy(path: string): string | null {
  const [, first = "", slug, resource] = path.split("/");
  const prefix = `/${first}`;
  if (PREFIXES.has(prefix)) return prefix;
  if (PATHS.has(path)) return path;
  if (first !== "skills" || slug === undefined || resource === undefined) return null;
  return SKILL_RESOURCES.has(resource) ? `/skills/${slug}/${resource}` : null;
}

interface Claim {
  /** For messages. */
  folder: string;
  slug: string;
  route: string;
}

interface Conflict {
  code: "duplicate_slug" | "duplicate_route" | "reserved_route";
  field: "name" | "route";
  message: string;
  /** The earlier claim. */
  holder: Claim;
}

/** The owners of slugs and paths. The first claim wins. */
export class RouteTable {
  readonly #slugs = new Map<string, Claim>();
  readonly #routes = new Map<string, Claim>();
  /** Slugs whose path `/skills/<slug>` another skill's route has taken. */
  readonly #entered = new Map<string, Claim>();

  /** Adds a skill, or returns its conflict with an earlier one. */
  claim(claim: Claim): Conflict | null {
    const conflict = this.conflict(claim);
    if (conflict !== null) return conflict;
    this.#slugs.set(claim.slug, claim);
    this.#routes.set(claim.route, claim);
    const below = slugOfPath(claim.route);
    if (below !== null && below !== claim.slug && !this.#entered.has(below)) this.#entered.set(below, claim);
    return null;
  }

  /** A skill's conflict with earlier ones, or `null`. */
  conflict({ slug, route }: Claim): Conflict | null {
    const twin = this.#slugs.get(slug);
    if (twin !== undefined) {
      return {
        code: "duplicate_slug",
        field: "name",
        message: `The slug "${slug}" is already taken by the skill in ${twin.folder}.`,
        holder: twin,
      };
    }
    const same = this.#routes.get(route);
    if (same !== undefined) {
      return {
        code: "duplicate_route",
        field: "route",
        message: `The route ${route} is already taken by the skill in ${same.folder}.`,
        holder: same,
      };
    }
    const below = slugOfPath(route);
    const owner = below === null || below === slug ? undefined : this.#slugs.get(below);
    if (owner !== undefined) {
      return {
        code: "reserved_route",
        field: "route",
        message: `The route ${route} is under /skills/${owner.slug}, which belongs to the skill in ${owner.folder}.`,
        holder: owner,
      };
    }
    const intruder = this.#entered.get(slug);
    if (intruder === undefined) return null;
    return {
      code: "reserved_route",
      field: "name",
      message: `The slug "${slug}" owns /skills/${slug}, but the skill in ${intruder.folder} has the route ${intruder.route}.`,
      holder: intruder,
    };
  }
}

function slugOfPath(path: string): string | null {
  const [, skills, slug] = path.split("/");
  return skills === "skills" && slug !== undefined ? slug : null;
}
