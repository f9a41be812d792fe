/** Files as the API shows them: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import { count, digest, named, text, time } from "../answer-shape.ts";

/** A file that a client uploaded or a run produced. */
export type FileDocument = z.infer<typeof fileShape>;
export const fileShape = named(
  "File",
  z.object({
    id: z.string().check(z.regex(/^file_[0-9a-f]{32}$/)),
    filename: z.nullable(text()),
    mime: text(),
    size: count(),
    sha256: digest(),
    created_at: time(),
    expires_at: time(),
  }),
);

/** A file of a session. */
export type SessionFile = z.infer<typeof sessionFile>;
export const sessionFile = named(
  "SessionFile",
  z.object({ path: text(), size: count(), sha256: digest(), modified_at: time() }),
);
