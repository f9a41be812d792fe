/**
 * Options and commands with which well-known programs run others, set variables of the shell, or write files elsewhere.
 * An approval of the program alone does not cover them. Pure.
 */

import type { SimpleCommand, Word } from "./shell-split.ts";

/** The words of a command that an approval has to name. */
export function runningWords([first, ...words]: readonly Word[]): Word[] {
  const program = first?.text.split("/").at(-1) ?? "";
  const rules = RUNNING.filter(([of]) => of.test(program)).map(([, what]) => what);
  if (rules.length === 0) return [];
  const command = program === "git" ? words.find(({ text }) => !text.startsWith("-"))?.text : undefined;
  rules.push(...GIT_COMMANDS.filter(([of]) => of.test(command ?? "")).map(([, what]) => what));
  const scripts = /^g?sed$/.test(program) ? sedScripts(words) : new Set<Word>();
  const programs = /^[gmn]?awk$/.test(program) ? awkPrograms(words) : new Set<Word>();
  return words.filter((word, index) => {
    if (hasSeveral(word)) return true;
    if (scripts.has(word) && !(word.plain && isHarmless(word.text))) return true;
    if (programs.has(word) && !word.plain) return true;
    if (/^(?:bsd)?tar$/.test(program) && index === 0 && /^[A-Za-z]*[IF]/.test(word.text)) return true;
    const message = command === "commit" && /^(?:-a?m|--message)$/.test(words[index - 1]?.text ?? "");
    const settled = word.open.every(({ commands, quoted }) => (message && quoted) || nameCommit(commands));
    if (!settled && !/^(?:printf|test|\[)$/.test(program)) return true;
    return rules.some((what) => what.test(word.text) || abbreviates(word.text, what));
  });
}

const RUNNING: readonly (readonly [program: RegExp, word: RegExp])[] = [
  [
    /^git$/,
    /^(?:-c.*|-p|--paginate|--config-env.*|--exec-path.*|--exec.*|-x.*|--upload-pack.*|--receive-pack.*|--ext-diff|--open-files-in-pager.*|-O.*|--output.*|-o|--git-dir.*|--work-tree.*|-C.*|--export-marks.*|--unsafe-paths|bisect|submodule|filter-branch|config|difftool|mergetool|daemon|hook|maintenance|remote-ext|merge-index|send-email|instaweb|for-each-repo)$/,
  ],
  [/^find$/, /^-(?:exec|execdir|ok|okdir|delete|fprint0?|fprintf|fls)$/],
  [
    /^(?:tar|bsdtar)$/,
    /^(?:--to-command.*|--checkpoint-action.*|--use-compress-program.*|-[A-Za-z0-9]*[IF].*|--rsh-command.*|--rmt-command.*|--info-script.*|--new-volume-script.*|--index-file.*|--volno-file.*)$/,
  ],
  [
    /^(?:rsync|scp|sftp|ssh)$/,
    /^(?:-[A-Za-z0-9]*[eoSFDEI].*|--rsh.*|--rsync-path.*|--log-file.*|--daemon.*|--config.*)$/,
  ],
  [/^sort$/, /^(?:--compress-program.*|-[bdfghiMnRrVcCmsuz]*o.*|--output.*)$/],
  [/^g?sed$/, /^-(?!(?:[nErsuzb]*e?|-quiet|-silent|-regexp-extended|-posix|-separate|-unbuffered)$)./s],
  [
    /^(?:awk|gawk|mawk|nawk)$/,
    /(?:system|\||>|@|^-(?![Fv])[A-Za-z]*[efEildopDWFv]|^--assign|^--field-separator|^--source|^--file|^--exec|^--include|^--load|^--debug|^--dump-variables|^--pretty-print|^--profile)/,
  ],
  [
    /^curl$/,
    /^(?:-[#0-46aBfgGhiIjJklLMnNpqsSvVZR]*(?:[oOKTcDe].*|[dF][^@]*@.*)|@.*|[^\s=]*=[@<].*|--output.*|--remote-name.*|--config.*|--upload-file.*|--engine.*|--dump-header.*|--cookie-jar.*|--trace.*|--stderr.*|--etag-save.*|--hsts.*|--alt-svc.*|--libcurl.*)$/s,
  ],
  [
    /^wget$/,
    /^(?:-[bcdhHkKmNpqrSvVxFEL46nij]*[OoPaeT].*|--output.*|--config.*|--use-askpass.*|--post-file.*|--body-file.*|--execute.*|--append-output.*|--directory-prefix.*|--save-cookies.*|--hsts-file.*|--warc-file.*|--rejected-log.*)$/,
  ],
  [
    /^(?:env|nice|nohup|timeout|xargs|parallel|watch|sudo|doas|su|runuser|stdbuf|setsid|setpriv|ionice|taskset|chrt|prlimit|flock|script|strace|ltrace|chroot|unshare|nsenter|busybox|command|builtin|exec|eval|source|\.|trap|hash|enable|alias|compgen)$/,
    /./s,
  ],
  [/^(?:export|declare|typeset|local|readonly|unset|read|mapfile|readarray|getopts|let)$/, /./s],
  [/^(?:printf|test|\[)$/, /^-v/],
  [/^(?:rg|ripgrep)$/, /^(?:--pre|--hostname-bin)(?:=.*)?$/s],
  [/^(?:fd|fdfind)$/, /^(?:-[A-Za-z]*[xX].*|--exec.*)$/s],
  [/^(?:ag|ack|bat|batcat)$/, /^--pager.*/],
  [/^split$/, /^--filter.*/],
  [/^(?:man|less|more|vi|vim|ex|nano|emacs)$/, /./s],
  [/^zip$/, /^(?:-[A-Za-z]*TT.*|--unzip-command.*)$/s],
];

/** Options of one command of git; elsewhere the same letters mean something else. */
const GIT_COMMANDS: readonly (readonly [command: RegExp, word: RegExp])[] = [
  [/^clone$/, /^(?:-[lsnqv46]*[cu].*|--config.*|--template.*)$/s],
  [/^init$/, /^--template.*/],
  [/^rebase$/, /^-[fiknqrvm]*x/],
  [/^grep$/, /^-[A-Za-z0-9]*O/],
  [/^(?:archive|format-patch)$/, /^-[A-Za-z0-9]*o/],
];

/** Whether the shell makes several words of one with braces, as of `{-c,x}`. Any of them may be an option. */
function hasSeveral({ text, plain }: Word): boolean {
  return !plain && text.includes("{") && /,|\.\./.test(text.slice(text.indexOf("{")));
}

/** Whether commands only print the name of a commit, as `git merge-base a b` does. It is never an option. */
function nameCommit(commands: readonly SimpleCommand[]): boolean {
  const [command, ...others] = commands;
  if (command === undefined || others.length > 0) return false;
  const [program, name, ...rest] = command.words.map(({ text, plain }) => (plain ? text : "-"));
  return (
    program === "git" &&
    /^(?:rev-parse|merge-base|describe)$/.test(name ?? "") &&
    rest.every((word) => /^(?:[^-\s]\S*|--(?:short|verify|abbrev-ref|tags|always|abbrev=\d+))$/.test(word))
  );
}

/** Whether a word is the beginning of a long option, which many programs take for the whole option. */
function abbreviates(word: string, options: RegExp): boolean {
  const name = /^--[a-z][a-z-]*/.exec(word)?.[0];
  const known = options.source.match(/--[a-z][a-z-]*/g) ?? [];
  return name !== undefined && known.some((option) => option.startsWith(name));
}

/** The words of sed that may be scripts: the first that is no option, and those after `-e`. */
function sedScripts(words: readonly Word[]): Set<Word> {
  const first = words.findIndex(({ text }) => !/^-./.test(text));
  return new Set(
    words.filter((_, index) => index === first || /^-[nErsuzb]*e$/.test(words[index - 1]?.text ?? "")),
  );
}

/** The words of awk that may be its program: those up to the first that is no option, and no value of `-F` or `-v`. */
function awkPrograms(words: readonly Word[]): Set<Word> {
  const own = words.filter((_, index) => !/^-[Fv]$/.test(words[index - 1]?.text ?? ""));
  const first = own.findIndex(({ text }) => !/^-./.test(text));
  return new Set(own.filter(({ text }, index) => (first === -1 || index <= first) && !/^-[Fv]/.test(text)));
}

/** One address, and one command that only prints or changes lines. */
const SED_STEP = (() => {
  const address = String.raw`(?:\d+|\$|/(?:[^\\/\n[]|\\.|\[\^?[^\]\\/\n]+\])*/I?)`;
  const regex = String.raw`(?:(?!\1)[^\\\n[]|\\.|\[\^?(?:(?!\1)[^\]\\\n])+\])*`;
  const text = String.raw`(?:(?!\1)[^\\\n]|\\.)*`;
  const command = String.raw`[pdDPhHgGxnNz=]|[qQl]\d*|:[A-Za-z]+|[bt] ?[A-Za-z]*|[sy]([^\w\s\\;{}])${regex}\1${text}\1[gpiIM\d]*`;
  return new RegExp(
    String.raw`[\s;{}]*(?:${address}(?:[,~]\+?${address})?\s*(?:!\s*)?)?(?:\{|(?:${command})(?=[\s;}]|$))`,
    "y",
  );
})();

/** Whether a script of sed runs no program (`e`), writes no file (`w`) and reads none. */
function isHarmless(script: string): boolean {
  const end = /[\s;{}]*$/y;
  for (let at = 0; ; ) {
    end.lastIndex = at;
    if (end.test(script)) return true;
    SED_STEP.lastIndex = at;
    if (!SED_STEP.test(script)) return false;
    at = SED_STEP.lastIndex;
  }
}
