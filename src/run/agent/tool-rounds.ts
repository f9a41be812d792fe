/** Rounds of tools of a served skill whose manifest names no number. */
const TOOL_ROUNDS = 10;
/** The same for a run with workspace tools: work on files takes more rounds than an answer. */
const ROUNDS_WITH_FILES = 50;

/**
 * The rounds of tools after which a call of a served skill may only answer.
 * @param stated `max_tool_rounds` of its manifest
 * @param files whether its run has workspace tools
 */
export const toolRounds = (stated: number | undefined, files: boolean): number =>
  stated ?? (files ? ROUNDS_WITH_FILES : TOOL_ROUNDS);
