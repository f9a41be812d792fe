/** The answer of a run that made several files. */
import * as z from "zod/mini";

/** A file that a run made: with its content if all files together are small, else with its URL. */
export const producedFile = () =>
  z.object({
    filename: z.string(),
    mime: z.string(),
    size: z.number(),
    sha256: z.string(),
    dataBase64: z.exactOptional(z.string()),
    url: z.exactOptional(z.string()),
  });

/** `note`: what the script printed in addition; empty: nothing. */
export type FilesDocument = z.infer<ReturnType<typeof filesDocument>>;
export const filesDocument = () => z.object({ note: z.string(), files: z.array(producedFile()) });
