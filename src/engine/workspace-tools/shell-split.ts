/**
 * Splits a text of commands into the simple commands that bash would run, including those in substitutions. If it does
 * not understand the text completely, it returns nothing, and the caller treats the text as not allowed. The package
 * unbash, a parser of all of bash with 105 KB, recovers from what it does not understand, and splits `<(a)b`, which is one
 * word for bash, into two. Pure.
 */

export interface Word {
  /** Without its quotes. */
  text: string;
  /** The word as written. */
  raw: string;
  /** Whether the program gets exactly this text, because the shell expands nothing in it. */
  plain: boolean;
  /** Expansions of an output or of arguments that decide how the word begins, or make several words of it. */
  open: Expansion[];
}

interface Expansion {
  /** The commands whose output it is; none: it is a variable that the text itself determines. */
  commands: SimpleCommand[];
  /** Whether it is within double quotes, which make one word of it. */
  quoted: boolean;
}

export interface SimpleCommand {
  words: Word[];
  /** The variables that it sets, for its command or alone: `NAME=value` as written. */
  assigns: string[];
  /** Files that its output goes to. */
  writes: string[];
}

/** Words that begin something other than a simple command. */
const RESERVED = new Set(
  "if then else elif fi for while until do done case esac in function select time coproc ! { } [[ ]]".split(
    " ",
  ),
);
/**
 * Variables that contain words of the text itself, as `$_` contains the previous command's last one, or of the caller of
 * a skill.
 */
const FROM_TEXT = /^\$\{?#?(?:[^A-Za-z{]|BASH|ARGUMENTS\b)/;
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 10;

/** The simple commands in a text; `null`: it is not fully understood. */
export function splitCommands(text: string): SimpleCommand[] | null {
  if (text.length > MAX_LENGTH) return null;
  const commands: SimpleCommand[] = [];
  try {
    const reader = new Reader(text, commands, 0);
    reader.list(null);
    return commands;
  } catch (error) {
    if (error instanceof Unclear) return null;
    throw error;
  }
}

/** The text is not understood. */
class Unclear extends Error {
  override name = "Unclear";
}

interface Heredoc {
  end: string;
  /** Whether the shell expands nothing in it. */
  quoted: boolean;
  /** Whether tabs at the beginning of lines are ignored. */
  tabs: boolean;
}

class Reader {
  readonly #text: string;
  readonly #commands: SimpleCommand[];
  readonly #depth: number;
  #at = 0;
  #heredocs: Heredoc[] = [];

  constructor(text: string, commands: SimpleCommand[], depth: number) {
    // Bash reads carriage returns and the like as letters, but a person who looks at the text does not see them.
    if (/[\0-\x08\x0b-\x1f\x7f]/.test(text) || depth > MAX_DEPTH) throw new Unclear();
    this.#text = text;
    this.#commands = commands;
    this.#depth = depth;
  }

  get at(): number {
    return this.#at;
  }

  /** Commands up to and including the closing sign; `null`: up to the end. */
  list(close: ")" | null): void {
    for (;;) {
      this.#blanks();
      const next = this.#text[this.#at];
      if (next === undefined) {
        if (close !== null || this.#heredocs.length > 0) throw new Unclear();
        return;
      }
      if (next === close) {
        this.#at++;
        if (this.#heredocs.length > 0) throw new Unclear();
        return;
      }
      if (next === "\n") {
        this.#newline();
        continue;
      }
      this.#command(close);
      this.#separator(close);
    }
  }

  #separator(close: ")" | null): void {
    this.#blanks();
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest === "" || rest[0] === "\n" || rest[0] === close) return;
    if (rest === ";;" || rest === ";&") throw new Unclear();
    if (["&&", "||", "|&"].includes(rest)) this.#at += 2;
    else if (rest[0] === ";" || rest[0] === "|" || rest[0] === "&") this.#at++;
    else throw new Unclear();
  }

  #newline(): void {
    this.#at++;
    for (const heredoc of this.#heredocs.splice(0)) this.#heredocBody(heredoc);
  }

  #blanks(): void {
    for (;;) {
      const next = this.#text[this.#at];
      if (next === " " || next === "\t") this.#at++;
      else if (next === "\\" && this.#text[this.#at + 1] === "\n") this.#at += 2;
      else if (next === "#") {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end === -1 ? this.#text.length : end;
      } else return;
    }
  }

  #command(close: ")" | null): void {
    const command: SimpleCommand = { words: [], assigns: [], writes: [] };
    for (;;) {
      this.#blanks();
      const next = this.#text[this.#at];
      if (next === undefined || next === "\n" || next === close || ";|".includes(next)) break;
      if (next === "&" && this.#text[this.#at + 1] !== ">") break;
      if (next === "(" || next === ")") throw new Unclear();
      if (this.#redirection(command)) continue;
      const word = this.#word();
      if (command.words.length === 0 && /^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=/.test(word.raw))
        command.assigns.push(word.raw);
      else command.words.push(word);
    }
    const [first] = command.words;
    if (first !== undefined && RESERVED.has(first.raw)) throw new Unclear();
    if (first === undefined && command.assigns.length === 0 && command.writes.length === 0)
      throw new Unclear();
    this.#commands.push(command);
  }

  /** Takes a redirection, if there is one here. */
  #redirection(command: SimpleCommand): boolean {
    const found = /^(?:\d*|\{\w+\}|&)(<<<|<<-?|<>|<&|<|>>|>\||>&|>)/.exec(
      this.#text.slice(this.#at, this.#at + 64),
    );
    if (found === null) return false;
    const [whole, operator = ""] = found;
    // `<(` and `>(` are words.
    if (/^[<>]$/.test(whole) && this.#text[this.#at + 1] === "(") return false;
    if (whole.startsWith("&") && !operator.startsWith(">")) throw new Unclear();
    this.#at += whole.length;
    this.#blanks();
    const target = this.#word();
    if (target.raw === "") throw new Unclear();
    if (operator === "<<" || operator === "<<-") {
      const quoted = target.raw !== target.text;
      if (!target.plain && !quoted) throw new Unclear();
      this.#heredocs.push({ end: target.text, quoted, tabs: operator === "<<-" });
    } else if (operator.includes(">")) {
      const harmless = target.plain && target.text === "/dev/null";
      const duplicate = operator === ">&" && target.plain && /^(?:\d+|-)$/.test(target.text);
      if (!harmless && !duplicate) command.writes.push(target.raw);
    }
    return true;
  }

  #word(): Word {
    const start = this.#at;
    let text = "";
    let plain = true;
    const open: Expansion[] = [];
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || " \t\n;|&".includes(next)) break;
      if ((next === "<" || next === ">") && this.#text[this.#at + 1] === "(" && this.#at === start) {
        this.#at += 2;
        this.#nested();
        plain = false;
        continue;
      }
      if ("<>()".includes(next)) {
        if (next === "(") throw new Unclear();
        break;
      }
      if (next === "'") {
        const end = this.#text.indexOf("'", this.#at + 1);
        if (end === -1) throw new Unclear();
        text += this.#text.slice(this.#at + 1, end);
        this.#at = end + 1;
      } else if (next === '"') {
        const inner = this.#doubleQuoted(text, open);
        text += inner.text;
        plain &&= inner.plain;
      } else if (next === "\\") {
        const escaped = this.#text[this.#at + 1];
        if (escaped === undefined) throw new Unclear();
        if (escaped !== "\n") text += escaped;
        this.#at += 2;
      } else if (next === "$" || next === "`") {
        const commands = this.#expansion(false);
        if (commands !== null) open.push({ commands, quoted: false });
        plain = false;
      } else {
        // Bash makes several words of braces.
        if (next === "{") plain = false;
        text += next;
        this.#at++;
      }
    }
    return { text, raw: this.#text.slice(start, this.#at), plain, open };
  }

  /** @param before the word up to here @param open its expansions that count as such */
  #doubleQuoted(before: string, open: Expansion[]): { text: string; plain: boolean } {
    let text = "";
    let plain = true;
    this.#at++;
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined) throw new Unclear();
      if (next === '"') {
        this.#at++;
        return { text, plain };
      }
      if (next === "\\") {
        const escaped = this.#text[this.#at + 1] ?? "";
        if (escaped !== "\n") text += '$`"\\'.includes(escaped) ? escaped : `\\${escaped}`;
        this.#at += 2;
      } else if (next === "$" || next === "`") {
        const commands = this.#expansion(true);
        if (commands !== null && /^(?:-[^=]*)?$/.test(before + text)) open.push({ commands, quoted: true });
        plain = false;
      } else {
        text += next;
        this.#at++;
      }
    }
  }

  /**
   * Something that begins with `$` or a backtick. Commands in it count.
   * @returns the commands whose output it is; `null`: it is a variable of the environment, or no expansion
   */
  #expansion(quoted: boolean): SimpleCommand[] | null {
    const first = this.#commands.length;
    const rest = this.#text.slice(this.#at, this.#at + 3);
    if (rest.startsWith("`")) {
      const end = /(?:[^`\\]|\\[\s\S])*`/y;
      end.lastIndex = this.#at + 1;
      const found = end.exec(this.#text)?.[0];
      if (found === undefined) throw new Unclear();
      // Within double quotes, bash reads `\"` in backticks as a quote.
      if (quoted && found.includes('\\"')) throw new Unclear();
      this.#at += 1 + found.length;
      const inner = found.slice(0, -1).replace(/\\([\\`$])/g, "$1");
      new Reader(inner, this.#commands, this.#depth + 1).list(null);
      return this.#commands.slice(first);
    }
    // Bash removes the two before it looks at what follows the `$`.
    if (rest === "$\\\n") throw new Unclear();
    if (rest === "$((" || rest.startsWith("$[") || rest.startsWith("$'") || rest.startsWith('$"'))
      throw new Unclear();
    if (rest.startsWith("$(")) {
      this.#at += 2;
      this.#nested();
      return this.#commands.slice(first);
    }
    const variable = /\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{[#]?[A-Za-z_0-9@*]\w*\})/y;
    variable.lastIndex = this.#at;
    const found = variable.exec(this.#text)?.[0];
    if (found === undefined && rest.startsWith("${")) throw new Unclear();
    this.#at += found?.length ?? 1;
    return found !== undefined && FROM_TEXT.test(found) ? [] : null;
  }

  /** Commands up to the `)` that closes them. */
  #nested(): void {
    const inner = new Reader(this.#text.slice(this.#at), this.#commands, this.#depth + 1);
    inner.list(")");
    this.#at += inner.at;
  }

  #heredocBody({ end, quoted, tabs }: Heredoc): void {
    const lines: string[] = [];
    for (;;) {
      if (this.#at >= this.#text.length) throw new Unclear();
      const stop = this.#text.indexOf("\n", this.#at);
      const line = this.#text.slice(this.#at, stop === -1 ? this.#text.length : stop);
      this.#at = stop === -1 ? this.#text.length : stop + 1;
      // Bash joins it with the next one, which may make the end of it.
      if (!quoted && line.endsWith("\\")) throw new Unclear();
      if ((tabs ? line.replace(/^\t+/, "") : line) === end) break;
      lines.push(line);
      if (stop === -1) throw new Unclear();
    }
    if (!quoted) new Reader(lines.join("\n"), this.#commands, this.#depth + 1).#expanded();
  }

  /** A text in which only expansions count. */
  #expanded(): void {
    while (this.#at < this.#text.length) {
      const next = this.#text[this.#at];
      if (next === "\\") this.#at += 2;
      else if (next === "$" || next === "`") this.#expansion(true);
      else this.#at++;
    }
  }
}
