/**
 * Revisions of MCP that Hull speaks, as server and as client. Those up to 2025-11-25 open with `initialize`; from
 * 2026-07-28 on each request says for itself which one it is of. Pure.
 */
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
export const MODERN_VERSIONS = ["2026-07-28"] as const;
export const VERSIONS: readonly string[] = [...MODERN_VERSIONS, ...LEGACY_VERSIONS];

/** What begins the keys of `_meta` that the protocol itself has. */
export const META = "io.modelcontextprotocol";

/** That of package.json; a test compares the two. */
export const HULL_VERSION = "0.1.0";
