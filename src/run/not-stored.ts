/** Files that an answer lacks. If they cannot be stored, this must not cost a finished answer: it is sent with a warning. */
import { askedAgain } from "../asked-again.ts";
import type { Warning } from "../engine/messages.ts";
import { StorageQuotaExceeded } from "../errors/request.ts";
import { isFault, toHullError } from "../errors.ts";
import { MOST_FILES } from "../llm/vendor-limits.ts";
import { logFault } from "../log.ts";
import { counted } from "../plural.ts";
import type { RunContext } from "./context.ts";

/** The code of the warning. */
export const NOT_STORED = "files_not_stored";

/** A file that is not stored. */
export interface NotStored {
  path: string;
  /** The tenant's storage is full. Otherwise R2 or D1 failed again. */
  full: boolean;
}

/** Stores a file of a finished answer. @param store safe to repeat @throws HullError unless the storage is at fault */
export async function storedOrNot<T>(
  context: RunContext,
  path: string,
  store: () => Promise<T>,
): Promise<T | NotStored> {
  try {
    return await askedAgain(store);
  } catch (error) {
    if (StorageQuotaExceeded.matches(error)) return { path, full: true };
    if (!isFault(toHullError(error))) throw error;
    logFault(context, { event: "file_not_stored", path }, error);
    return { path, full: false };
  }
}

/** The warnings of an answer about the files that it lacks. @param beyond number of files beyond `MOST_FILES`; 0 or less: none */
export function notStored(missing: readonly NotStored[], beyond: number): Warning[] {
  const lacking = (full: boolean, why: string): Warning[] => {
    const paths = missing.filter((file) => file.full === full).map(({ path }) => path);
    const message = `${why}, so the answer lacks these files: ${paths.join(", ")}.`;
    return paths.length === 0 ? [] : [{ code: NOT_STORED, message }];
  };
  return [
    ...lacking(true, "The tenant's storage is full (limits.max_stored_bytes in hull.toml)"),
    ...lacking(false, "The storage did not answer"),
    ...(beyond <= 0 ? [] : [{ code: NOT_STORED, message: tooMany(beyond) }]),
  ];
}

const tooMany = (beyond: number): string =>
  `Hull gives at most ${MOST_FILES} files at once, so the answer lacks ${counted(beyond, "other")}.`;
