/** Findings as commands of a workflow of GitHub Actions, which shows them at their lines. */
import { relative } from "node:path";
import type { Diagnostic } from "../src/skill/manifest.ts";

type Finding = Pick<Diagnostic, "level" | "code" | "line" | "column" | "message" | "hint"> & {
  /** Absolute, or relative to the working directory. */
  file: string;
};

const COMMANDS = { error: "error", warning: "warning", info: "notice" } as const;

/** @param env of the process; outside of such a workflow there are no commands */
export function annotations(found: readonly Finding[], env: NodeJS.ProcessEnv): string {
  if (env.GITHUB_ACTIONS !== "true") return "";
  return found
    .map(({ level, code, file, line, column, message, hint = "" }) => {
      const path = relative(env.GITHUB_WORKSPACE ?? process.cwd(), file);
      const properties = Object.entries({ file: path, line, col: column, title: code });
      const given = properties.flatMap(([name, value]) =>
        value === undefined ? [] : [`${name}=${escaped(String(value), /[%\r\n:,]/g)}`],
      );
      return `::${COMMANDS[level]} ${given.join(",")}::${escaped(`${message} ${hint}`.trim(), /[%\r\n]/g)}\n`;
    })
    .join("");
}

const escaped = (text: string, signs: RegExp): string =>
  text.replace(signs, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
