/** The files that a daemon may watch. Pure. */

/** Whether a path to watch leads out of the session's files. */
export const leadsOutside = (path: string): boolean => /^\/./.test(path) || path.split("/").includes("..");
