/** Whether executions can be kept apart on this system (programs/apart.py). */
import { program } from "./programs.ts";

/** Succeeds if they can. The arguments: the state folder, the required version of Landlock. */
export const APART_PROBE = program("apart.py", "apart_probe.py");

/** The version that keeps signals within an execution. */
export const LANDLOCK_FOR_SIGNALS = 6;
/** The version that keeps files, memory and environments apart. */
export const LANDLOCK_FOR_FILES = 2;
