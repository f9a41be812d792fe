/** TOML in the Worker. Import it lazily: most deployments never read any there. */
import { parse, TomlError } from "smol-toml";

type ParsedToml = { ok: true; value: unknown } | { ok: false; line: number; column: number; reason: string };

export function parseToml(text: string): ParsedToml {
  try {
    return { ok: true, value: parse(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [message = ""] = error.message.split("\n");
    return {
      ok: false,
      line: error.line,
      column: error.column,
      reason: message.replace(/^Invalid TOML document: /, ""),
    };
  }
}
