/** The text with which a served llm skill answers, in a session too. */
import { utf8Length } from "../bytes.ts";
import type { Settings } from "../env.ts";
import { OutputTooLarge } from "../errors/run.ts";
import type { Manifest } from "../skill/manifest.ts";
import { checkedJson, withoutFence } from "./json.ts";
import { typeHeaders } from "./output-files.ts";

/** The model's text as the answer. @throws OutputTooLarge, OutputInvalidJson */
export function checkedText(
  settings: Pick<Settings, "max_output_bytes">,
  { output, max_output_bytes = Number.POSITIVE_INFINITY }: Manifest,
  text: string,
): string {
  const limit = Math.min(settings.max_output_bytes, max_output_bytes);
  if (utf8Length(text) > limit) throw new OutputTooLarge({ limit });
  return output === "json" ? checkedJson(withoutFence(text)) : text;
}

/** Its type. A file has its own type; this is the type of its accompanying text. */
export const textType = ({ output, output_mime }: Manifest): Record<string, string> =>
  typeHeaders(
    (output === "file" ? undefined : output_mime) ??
      (output === "json" ? "application/json" : "text/plain; charset=utf-8"),
  );
