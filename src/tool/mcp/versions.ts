/**
 * Revisions of MCP that Hull supports, as server and as client. Those up to 2025-11-25 open with `initialize`; from
 * 2026-07-28 on each request states its own revision. Pure.
 */
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export const MODERN_VERSIONS = ["2026-07-28"] as const;
export const VERSIONS: readonly string[] = [...MODERN_VERSIONS, ...LEGACY_VERSIONS];

/** The prefix of the protocol's own keys in `_meta`. */
export const META = "io.modelcontextprotocol";

/** Equal to that of package.json; a test compares them. */
export const HULL_VERSION = "0.1.0";
