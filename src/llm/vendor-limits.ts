/** Limits of the vendors' APIs, as the table of docs/messages-api.md shows them. */

/** Skills of a request, and of one that uses the beta of skills. */
export const MOST_SKILLS = 20;
export const MOST_SKILLS_OF_BETA = 8;
/** Bytes of all stored files that the messages of a request name. */
export const MOST_NAMED_BYTES = 20 * 1024 * 1024;
/** Bytes of all generated files in an answer. */
export const MOST_INCLUDED_BYTES = 10 * 1024 * 1024;
/** Files that Hull stores at once for an answer. */
export const MOST_FILES = 100;
/** Time for a whole answer, in ms, that of a run included: as long as the vendors' clients wait for it. */
export const WHOLE_ANSWER_MS = 600_000;
/** Time to live of a container in ms, counted from its last use. */
export const CONTAINER_TTL_MS = 30 * 24 * 3_600_000;
