/** Faults of a file that a user wrote, as editors and problem matchers read them. */
import { type Position, placeText } from "../src/skill/tree.ts";
import { CommandError, type ExitCode } from "./command.ts";

export interface FileFault extends Partial<Position> {
  /** Dotted, of a value; empty: none is meant. */
  path: string;
  message: string;
  hint?: string;
}

/** The failure of a command because of a file. `message` has the place of each fault. */
export class FileError extends CommandError {
  /** What `--json` shows of each fault. */
  override readonly errors: readonly (FileFault & { file: string })[];

  /**
   * @param file its name, relative to the working directory
   * @param hint for all faults; by default that of the only one
   */
  constructor(exit: ExitCode, code: string, file: string, faults: readonly FileFault[], hint?: string) {
    const [only, ...others] = faults;
    const common = hint ?? (others.length === 0 ? only?.hint : undefined);
    super(exit, code, faults.map((fault) => lineOf(file, fault, common)).join("\n"), common);
    this.errors = faults.map((fault) => ({ file, ...fault }));
  }
}

/** `<file>:<line>:<column>: error: <path>: <message>`, with a hint that is not the common one. */
function lineOf(file: string, fault: FileFault, common: string | undefined): string {
  const { hint } = fault;
  const remedy = hint === undefined || hint === common ? "" : ` ${hint}`;
  return `${placeText(file, fault)}: error: ${faultText(fault)}${remedy}`;
}

/** The message, and before it a path that it does not name. */
export const faultText = ({ path, message }: FileFault): string =>
  message.includes(path) ? message : `${path}: ${message}`;
