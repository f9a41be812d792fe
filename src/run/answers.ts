/** Files as the API shows them: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import { about, count, digest, named, text, time } from "../answer-shape.ts";

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

/** A file that a run made or changed, as the caller sees it. */
export type ProducedFile = z.infer<typeof producedFile>;
const producedFile = z.object({
  id: about(text(), "Its id under `/files`."),
  path: about(text(), "Its path in the work folder."),
  size: count(),
  mime_type: text(),
  sha256: digest(),
});

/** The answer of a skill with workspace tools to a caller that accepts JSON. */
export type TextWithFiles = z.infer<typeof textWithFiles>;
export const textWithFiles = named(
  "TextWithFiles",
  z.object({ text: text(), files: z.readonly(z.array(producedFile)) }),
);

export type SessionFile = z.infer<typeof sessionFile>;
export const sessionFile = named(
  "SessionFile",
  z.object({ path: text(), size: count(), sha256: digest(), modified_at: time() }),
);
