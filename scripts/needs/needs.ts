/** Finds the programs and packages that the text and the scripts of a skill use, as far as one can see it there. */
import { builtinModules } from "node:module";
import { basename } from "node:path";
import { textCommands } from "../../src/skill/text-commands.ts";

export interface Need {
  kind: "command" | "python" | "node";
  /** For a package, the name in its import. */
  name: string;
}

/** A text file of a skill. */
interface TextFile {
  path: string;
  text: string;
}

/** Words of the shell, and programs of every system. */
const EVERYWHERE = new Set(
  [
    "if then else elif fi for while until do done case esac in function select time coproc",
    "alias bg bind break builtin caller cd command compgen complete continue declare dirs disown echo enable eval exec",
    "exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read",
    "readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait",
    "b2sum base32 base64 basename cat chgrp chmod chown chroot cksum comm cp csplit cut date dd df dir dirname du env expand expr factor fmt fold",
    "groups head hostid hostname id install join link ln logname ls md5sum mkdir mkfifo mktemp mv nice nl nohup nproc numfmt od",
    "paste pathchk pr printenv ptx readlink realpath rm rmdir seq sha1sum sha256sum sha512sum shred shuf sleep sort split stat",
    "stdbuf stty sum sync tac tail tee timeout touch tr truncate tsort tty uname unexpand uniq unlink uptime users wc who",
    "whoami yes grep egrep fgrep sed awk find xargs diff cmp tar gzip gunzip which clear ps sudo bash sh",
    // Scripts ask these about one system, and continue without them on others.
    "gtimeout nvidia-smi rocm-smi sysctl system_profiler vm_stat",
    // Programs whose command may be different each day.
    "hull claude codex",
    // Python and JavaScript in a block of shell commands, and words of zsh.
    "import from const var def class setopt unsetopt",
  ]
    .join(" ")
    .split(" "),
);

const SHELL_FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*(?:bash|sh|shell|zsh|console)\b[^\n]*\n([\s\S]*?)^[ \t]*\1/gim;
const PYTHON_FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*(?:python|py|python3)\b[^\n]*\n([\s\S]*?)^[ \t]*\1/gim;
const NODE_FENCE =
  /^[ \t]*(`{3,}|~{3,})[ \t]*(?:javascript|js|typescript|ts|mjs|jsx|tsx)\b[^\n]*\n([\s\S]*?)^[ \t]*\1/gim;

/**
 * What the text of a skill and its scripts use, sorted by kind and name, without what the skill itself contains.
 * @param text its SKILL.md
 * @param files the others
 * @param hooks the commands of its hooks
 */
export function needsOf(text: string, files: readonly TextFile[], hooks: readonly string[] = []): Need[] {
  const inText = textCommands(text).map(({ command }) => command);
  const shell = [...fenced(text, SHELL_FENCE), ...inText, ...hooks, ...ending(files, /\.(?:sh|bash)$/)];
  const python = [...fenced(text, PYTHON_FENCE), ...ending(files, /\.py$/)];
  const node = [...fenced(text, NODE_FENCE), ...ending(files, /\.(?:[cm]?js|ts)$/)];
  const parts = new Set(files.flatMap(({ path }) => path.split("/")));
  const modules = new Set(Array.from(parts, (part) => part.replace(/\.\w+$/, "")));
  const needs = new Map<string, Need>();
  const add = (kind: Need["kind"], names: Iterable<string>): void => {
    const own = kind === "command" ? parts : modules;
    for (const name of names) if (!own.has(name)) needs.set(`${kind} ${name}`, { kind, name });
  };
  add("command", commandsIn(shell));
  add("command", [...python.flatMap(pythonPrograms), ...node.flatMap(nodePrograms)].filter(isSpecial));
  add("python", python.flatMap(pythonModules));
  add("node", node.flatMap(nodePackages));
  return [...needs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, need]) => need);
}

const fenced = (text: string, fence: RegExp): string[] =>
  Array.from(text.matchAll(fence), ([, , code = ""]) => code);

const ending = (files: readonly TextFile[], suffix: RegExp): string[] =>
  files.filter(({ path }) => suffix.test(path)).map(({ text }) => text);

/**
 * Words at the beginning of commands, other than the functions that one of the scripts declares. Text in quotes or in a
 * here-document does not count.
 */
function commandsIn(scripts: readonly string[]): string[] {
  const codes = scripts.map(codeOf);
  const functions = new Set(codes.flatMap((code) => Array.from(code.matchAll(FUNCTION), ([, name]) => name)));
  return codes.flatMap((code) => wordsIn(code.replace(FUNCTION, ""))).filter((word) => !functions.has(word));
}

function codeOf(script: string): string {
  const lines = script.replace(/\\\n/g, " ").replace(/<<-?\s*(["']?)(\w+)\1[^\n]*\n[\s\S]*?^\s*\2\s*$/gm, "");
  return (
    withoutText(lines)
      // Arithmetic and regular expressions have names and marks, but no commands. The limit keeps the time linear.
      .replace(/\(\((?:[^()]|\([^()]*\))*\)\)|=~[ \t][^\n]{0,999}?(?=[ \t]\]\])/g, " ")
      // These are the patterns of a `case`.
      .replace(/(^|[ \t]in|;;)[ \t]*[^\s()$`]+(?:[ \t]*\|[ \t]*[^\s()$`]+)*\)/gm, "$1;")
  );
}

const IN_QUOTES = /"|\$\(|(?:\\[\s\S]|[^"\\$]|\$(?!\())+/y;
const OUTSIDE = /(?<=^|\s)#[^\n]*|'[^']*'|\\[\s\S]|[^#'"\\()]+|[\s\S]/y;

/** The script without comments and without what is in quotes, apart from the commands that double quotes substitute. */
function withoutText(script: string): string {
  // One entry for each open double quote (`null`), and for each substitution in one (how many parentheses are open).
  const open: (number | null)[] = [];
  let code = "";
  for (let at = 0; at < script.length; ) {
    const depth = open.at(-1);
    const pattern = depth === null ? IN_QUOTES : OUTSIDE;
    pattern.lastIndex = at;
    const [token] = pattern.exec(script) ?? [script.slice(at)];
    at += token.length;
    if (depth === null) {
      if (token === '"') open.pop();
      if (token !== "$(") continue;
      open.push(1);
      code += token;
    } else if (token === '"') {
      open.push(null);
      code += "''";
    } else {
      code += /^'./s.test(token) ? "''" : /^#./.test(token) ? "" : token;
      if (depth === undefined || (token !== "(" && token !== ")")) continue;
      open.pop();
      const rest = depth + (token === "(" ? 1 : -1);
      if (rest > 0) open.push(rest);
    }
  }
  return code;
}

function wordsIn(code: string): string[] {
  return code.split("\n").flatMap((line) =>
    line.split(/\|\|?|&&?|;|\$\(|`|\(/).flatMap((part) => {
      const words = part
        .trim()
        .replace(/^[$>]\s+/, "")
        .split(/\s+/);
      while (/^(?:\w+=\S*|if|then|else|elif|while|until|do|time|sudo|exec|nohup|!|\{)$/.test(words[0] ?? ""))
        words.shift();
      const [word = ""] = words;
      // `line-length = 100` is not shell syntax.
      return isSpecial(word) && words[1] !== "=" ? [word] : [];
    }),
  );
}

/** Whether a word can be the name of a program that not every system has. */
const isSpecial = (word: string): boolean =>
  /^[a-z][a-z0-9_.+-]*$/.test(word) && !/\.\w+$/.test(word) && !EVERYWHERE.has(word);

const FUNCTION = /^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*\(\)/gm;

/** Programs that Python starts: the first word of each call, and of each list whose second word is an option. */
function pythonPrograms(code: string): string[] {
  if (!code.includes("subprocess")) return [];
  const named = code.matchAll(
    /(?:\bsubprocess\.(?:run|Popen|call|check_call|check_output)\(\s*\[?\s*f?["']([\w.+-]+)|\[\s*["']([\w.+-]+)["']\s*,\s*f?["']-)/g,
  );
  return Array.from(named).flatMap(([, called, listed]) => called ?? listed ?? []);
}

/** Programs that Node starts. */
function nodePrograms(code: string): string[] {
  if (!code.includes("child_process")) return [];
  const named = code.matchAll(
    /(?:(?<![\w.])exec|\b(?:execSync|execFile|execFileSync|spawn|spawnSync))\(\s*["'`]([\w.+-]+)/g,
  );
  return Array.from(named).flatMap(([, name]) => name ?? []);
}

/** Top-level names of imported modules. */
function pythonModules(code: string): string[] {
  const lines = code.matchAll(
    /^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b|import[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)[ \t]*(?:$|[#;\\]))/gm,
  );
  return Array.from(lines).flatMap(([, from, list]) =>
    from !== undefined
      ? [from]
      : (list ?? "").split(",").flatMap((item) => /^\s*([A-Za-z_]\w*)/.exec(item)?.[1] ?? []),
  );
}

/** Names of imported packages. */
function nodePackages(code: string): string[] {
  const named = code.matchAll(/(?:\bfrom|\bimport|\brequire\()\s*["']([^"'\n]+)["']/g);
  return Array.from(named).flatMap(([, specifier = ""]) => {
    if (/^[./]|^node:|:/.test(specifier)) return [];
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "";
    return builtinModules.includes(name) || !/^(?:@[\w.-]+\/)?[\w.-]+$/.test(name) ? [] : [name];
  });
}

/** For people: `pdftotext`, `pypdf (Python)`. */
export function shownNeed({ kind, name }: Need): string {
  return kind === "command" ? basename(name) : `${name} (${kind === "python" ? "Python" : "Node"})`;
}
