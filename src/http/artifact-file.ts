/** An artifact's content as a file: for downloads, and for clients that keep no artifacts. */
import { fromBase64, wellFormedJson } from "../bytes.ts";
import type { Artifact, ArtifactType } from "../engine/artifact.ts";
import type { Redactor } from "../redact.ts";

/** Media type and file ending of text artifacts. */
const TEXT_FORMS: { [type in ArtifactType]: readonly [mime: string, ending: string] } = {
  code: ["text/plain", "txt"],
  html: ["text/html", "html"],
  markdown: ["text/markdown", "md"],
  svg: ["image/svg+xml", "svg"],
  mermaid: ["text/plain", "mmd"],
  react: ["text/plain", "tsx"],
  image: ["text/uri-list", "txt"],
  custom: ["text/plain", "txt"],
  document: ["text/plain", "txt"],
};

/** After a rollback, an artifact may have a type of a later version of Hull. */
const textForm = (type: string): readonly [mime: string, ending: string] =>
  Object.entries(TEXT_FORMS).find(([known]) => known === type)?.[1] ?? TEXT_FORMS.custom;

/** @param redactor cuts secrets out of text */
export function artifactFile(
  { id, type, content, metadata }: Pick<Artifact, "id" | "type" | "content" | "metadata">,
  redactor: Redactor,
) {
  const data = typeof content === "string" ? dataUrl(content) : null;
  const [mime, ending] = typeof content === "string" ? textForm(type) : ["application/json", "json"];
  const text = typeof content === "string" ? content : wellFormedJson(redactor.json(content));
  const { fileName } = metadata;
  return {
    mime: data?.mime ?? (mime === "application/json" ? mime : `${mime}; charset=utf-8`),
    filename: typeof fileName === "string" && fileName !== "" ? fileName : `${id}.${data?.ending ?? ending}`,
    bytes: data?.bytes ?? new Uint8Array(new TextEncoder().encode(redactor.text(text))),
  };
}

/** The content of a Base64 `data:` URL (RFC 2397). */
function dataUrl(content: string): { mime: string; ending: string; bytes: Uint8Array<ArrayBuffer> } | null {
  const [, mime, base64] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/i.exec(content) ?? [];
  if (mime === undefined || base64 === undefined || base64.length % 4 !== 0) return null;
  const bytes = new Uint8Array(fromBase64(base64));
  return { mime, ending: mime.split("/")[1]?.replace(/\+.*$/, "") ?? "bin", bytes };
}
