/**
 * Checks the rules of the architecture (docs/architecture.md): who may import whom, file sizes, and forbidden patterns
 * in source.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

interface Violation {
  file: string;
  line: number;
  message: string;
  /** Reported, but the check passes. */
  warning?: true;
}

/** Above this, a file probably has a second concept: a warning, since only a reader can judge. */
const MANY_LINES = 600;
/** Generated types of the API, which parts of src may import although the file is elsewhere. */
const CLIENT_TYPES = "typed/client/api.d.ts";
/**
 * Files whose exports need no import: tests, commands, which the command line loads by name, and what the package gives to
 * its users.
 */
const NOT_BY_IMPORT = /^(?:test|typed|src\/typed|scripts\/commands)\/|^src\/client\/client\.ts$/;
const CHECKED = ["src", "container", "scripts", "test"];

const parts = (names: string): string[] => names.split(" ");
/** What each part of src may import in addition to itself: parts, or single files. Everything may use `VOCABULARY`. */
const VOCABULARY = parts(
  "answer-shape bytes memo at-most asked-again cut lazily recent plural list-page errors secrets redact log env variables derived-key",
);
const MAY_IMPORT: Record<string, readonly string[]> = {
  "answer-shape": ["src/skill/json.ts", "src/skill/manifest.ts"],
  errors: ["plural", "cut"],
  plural: [],
  "list-page": [],
  secrets: [],
  bytes: [],
  memo: [],
  "at-most": [],
  "asked-again": ["errors"],
  cut: [],
  lazily: [],
  recent: ["log"],
  "derived-key": ["bytes"],
  redact: ["bytes", "memo", "secrets"],
  log: ["redact"],
  variables: ["memo"],
  env: [
    ...parts("errors secrets redact log variables"),
    "src/model/mock/mock.ts",
    "src/model/registry/layer.ts",
    "src/skill/json-depth.ts",
    "src/skill/placeholder.ts",
    "src/skill/serving-settings.ts",
    ...["ledger", "conversation"].map((folder) => `src/session/${folder}/rpc.ts`),
  ],
  database: ["memo", "env", "list-page"],
  "row-collector": ["log"],
  deployment: [
    ...parts("env log row-collector errors recent auth registry model tool"),
    "src/run/handler/isolate-names.ts",
    "src/run/metrics.ts",
    "src/session/ledger/rpc.ts",
    "src/session/index-row.ts",
  ],
  skill: VOCABULARY,
  auth: [...VOCABULARY, "database"],
  registry: [...VOCABULARY, "database", "skill"],
  engine: [...VOCABULARY, "skill"],
  model: [
    ...VOCABULARY,
    "database",
    "skill",
    "src/engine/messages.ts",
    "src/engine/stop-reason.ts",
    "src/engine/fault.ts",
    "src/engine/text-tools/contract.ts",
    "src/engine/usd.ts",
  ],
  tool: [
    ...VOCABULARY,
    "skill",
    "src/engine/messages.ts",
    "src/engine/agent/records.ts",
    "src/engine/arguments.ts",
    "src/engine/tool-fault.ts",
    "src/engine/tool-result.ts",
    "src/model/frames.ts",
  ],
  llm: [...VOCABULARY, "skill", "engine", "model"],
  run: [
    ...VOCABULARY,
    ...parts("deployment skill registry engine model tool llm"),
    "src/session/conversation/answers.ts",
    ...["ledger", "conversation"].map((folder) => `src/session/${folder}/rpc.ts`),
  ],
  session: [
    ...VOCABULARY,
    ...parts("deployment database row-collector skill registry engine model tool llm run"),
  ],
  // Of the API's answers only the types that clients have.
  console: [
    ...VOCABULARY,
    "skill",
    CLIENT_TYPES,
    "src/engine/run-status.ts",
    "src/session/ledger/rpc.ts",
    "src/session/run-entry.ts",
  ],
  http: [
    ...VOCABULARY,
    ...parts("deployment auth skill registry engine model tool llm run session console api"),
  ],
  // The documented request and response shapes: shapes of other parts, never their code.
  api: [
    ...VOCABULARY,
    ...parts("skill engine llm"),
    "src/auth/api-key.ts",
    "src/model/health.ts",
    "src/model/mock/mock.ts",
    "src/model/mock/read.ts",
    "src/model/protocols.ts",
    "src/registry/answers.ts",
    "src/run/answers.ts",
    "src/run/event-shapes.ts",
    "src/run/files-document.ts",
    "src/run/request-bodies.ts",
    "src/run/task/bodies.ts",
    "src/run/agent/option-shapes.ts",
    // The shapes of answers: types, and the lists of words in them.
    "src/run/task/envelope.ts",
    "src/run/task/handle.ts",
    "src/session/conversation/answers.ts",
    "src/session/daemon/answers.ts",
    "src/session/workflow/listed.ts",
    "src/session/daemon/listed.ts",
    "src/session/session-entry.ts",
    "src/session/run-entry.ts",
  ],
  typed: ["skill"],
  // Code for browsers and elsewhere: it knows the API, and nothing about its implementation.
  client: [CLIENT_TYPES],
  worker: ["http", "session", "errors", "env"],
  scripts: [
    ...parts("bytes plural errors secrets variables redact cut memo recent api skill typed registry"),
    CLIENT_TYPES,
    "src/client/route.ts",
    "src/client/repeat.ts",
    "src/auth/api-key.ts",
    "src/tool/protocol.ts",
    "src/tool/mcp/address.ts",
    ...[
      "registry.ts",
      "definition.ts",
      "known.ts",
      "layer.ts",
      "matrix.ts",
      "merge-layers.ts",
      "provider-setup.ts",
      "retirements.ts",
    ].map((file) => `src/model/registry/${file}`),
    "src/engine/fault.ts",
    "src/engine/messages.ts",
    "src/engine/run-status.ts",
    "src/session/run-entry.ts",
    "src/engine/workflow/skill-file.ts",
    "src/llm/container-params.ts",
    "src/llm/vendor-limits.ts",
    "src/model/mock/mock.ts",
    "src/model/mock/mock-from-turn.ts",
    "src/model/mock/read.ts",
    ...[
      "base-url.ts",
      "call.ts",
      "capabilities.ts",
      "cassette.ts",
      "exchange.ts",
      "protocols.ts",
      "providers.ts",
      "proxy.ts",
    ].map((file) => `src/model/${file}`),
  ],
  container: [
    "src/bytes.ts",
    "src/cut.ts",
    "src/skill/tar.ts",
    "src/tool/protocol.ts",
    "src/tool/workspace-path.ts",
    "src/tool/multipart-reader.ts",
    "src/tool/public-host.ts",
    "src/secrets.ts",
  ],
};

const WORD = /[\w$]+/g;
/** A file that spreads a namespace takes from it what the operations of the routes are called. */
const SPREAD_NAMESPACE = /import \* as (\w+) from "([^"]+)";(?=[\s\S]*\.\.\.\1\b)/g;
const EXPORTED_VALUE = /^export (?:async )?(?:function\*?|const|let|class) (\w+)/gm;
const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) (\w+)/;

interface Import {
  specifier: string;
  line: number;
}

/** All violations in a checkout, sorted by file and line. */
export function checkArchitecture(root: string): Violation[] {
  const files = CHECKED.flatMap((dir) => (existsSync(join(root, dir)) ? sourceFiles(join(root, dir)) : []));
  const sources = new Map(files.map((file) => [relative(root, file), readFileSync(file, "utf8")]));
  const imports = new Map(Array.from(sources, ([file, text]) => [file, importsOf(text)]));
  const violations: Violation[] = [];
  for (const [file, text] of sources) {
    violations.push(...checkText(file, text));
    for (const { specifier, line } of imports.get(file) ?? []) {
      const message = checkImport(file, specifier, sources);
      if (message !== null) violations.push({ file, line, message });
    }
  }
  violations.push(...findCycles(imports), ...findUnusedExports(sources, imports), ...findOverridden(sources));
  return violations.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1));
}

function sourceFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : sourceFiles(join(dir, entry.name));
    return /\.(?:ts|mjs)$/.test(entry.name) ? [join(dir, entry.name)] : [];
  });
}

/**
 * The part of the architecture that a file belongs to: its folder under src, the name of a file directly in src, or its
 * top folder.
 */
function partOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  return top === "src" ? second.replace(/\.ts$/, "") : top;
}

function checkImport(file: string, specifier: string, sources: ReadonlyMap<string, string>): string | null {
  const part = partOf(file);
  if (!specifier.startsWith(".")) return checkPackage(file, part, specifier);
  const [path = ""] = specifier.split("?raw");
  const named = join(dirname(file), path);
  // Whoever uses the database may import the text of its tables.
  const target = named.startsWith("migrations/") ? "src/database.ts" : named;
  // A module may import any other file only as text.
  if (path === specifier && !/\.(?:ts|mjs|json)$/.test(named))
    return `import ${specifier} without its extension`;
  if (isBarrel(sources.get(target) ?? "")) return `import of the barrel file ${target}`;
  if (part === "test" || partOf(target) === part) return null;
  const inside = target.startsWith("src/") || target === CLIENT_TYPES;
  if (file.startsWith("src/") && !inside) return `src may not import ${target}`;
  if (!inside && part !== "container") return null;
  const allowed = MAY_IMPORT[part];
  if (allowed === undefined) return `${part} has no place in the import rules of scripts/architecture.ts`;
  return allowed.includes(partOf(target)) || allowed.includes(target)
    ? null
    : `${part} may not import ${target}`;
}

function checkPackage(file: string, part: string, specifier: string): string | null {
  if (!file.startsWith("src/")) return null;
  if (/^node:(?:fs|child_process)/.test(specifier)) return `${specifier} does not exist at the edge`;
  const pure = part === "engine" || part === "skill";
  if (pure && /^(?:cloudflare:|node:|hono)/.test(specifier))
    return `${part} is pure and may not import ${specifier}`;
  if (specifier === "yaml" && !file.startsWith("src/skill/frontmatter/"))
    return "yaml is evaluated in src/skill/frontmatter only";
  return null;
}

function isBarrel(text: string): boolean {
  const code = stripComments(text).trim();
  return (
    code !== "" &&
    code.replace(/export\s+(?:type\s+)?(?:\*|\{[^}]*\})[^;]*\sfrom\s+["'][^"']+["'];?/g, "").trim() === ""
  );
}

interface Rule {
  pattern: RegExp;
  message: string;
  /** The files that it is for; absent: all. */
  files?: RegExp;
}

/** What not even a comment or a text may contain. */
const FORBIDDEN_EVERYWHERE: Rule[] = [
  { pattern: /@ts-(?:ignore|nocheck|expect-error)|biome-ignore/, message: "a comment silences a checker" },
  { pattern: /\b(?:TO[D]O|FIX[M]E)\b/, message: "unfinished work belongs in an issue" },
];
const FORBIDDEN_CODE: Rule[] = [
  {
    pattern: /\bas (?:any|never|unknown as)\b|[:<,|(]\s*any\b(?=\s*[[\]>,;)=|{]|$)/,
    message: "any, or a cast that silences the compiler",
  },
  // The pattern tries each place of a long run of such characters, and reads the rest of the run each time.
  {
    files: /^(?!test\/)/,
    pattern:
      /(?<=[=(,:[!&|?{};]\s*)\/(?:\[(?:\\.|[^\]\\])+\]|\\[^bB]|[^\\[\](){}^$|/*+?.])(?:[+*]|\{\d+,\})\??(?!\/|\(\?:[^()]*\)\*\/)(?:\\.|\[(?:\\.|[^\]\\])+\]|[^/\\[])+\/(?![a-z]*y)/,
    message: "a pattern that begins with a repetition takes quadratic time; put (?<!…) before it",
  },
  {
    files: /^(?!test\/)/,
    pattern: /\/\^\\s[+*](?:\\.|\[(?:\\.|[^\]\\])+\]|[^/\\[])*\/[a-z]*m/,
    message: "^\\s* passes the ends of lines, which takes quadratic time; write ^[ \\t]*",
  },
  {
    files: /^src\//,
    pattern: /\bthrow new Error\(/,
    message: "bare Error; use the vocabulary of errors.ts or a named class",
  },
  {
    // A handler's own output is the exception: its isolate passes that on.
    files: /^src\/(?!log\.ts$|typed\/handler\.ts$).*\.ts$/,
    pattern: /(?<![.\w])console\s*[.[]/,
    message: "a line of the log passes the redactor; use src/log.ts",
  },
  {
    files: /^src\/http\//,
    pattern: /\bResponse\.json\(|new Response\(JSON\.stringify\(/,
    message: "an answer may hold half a surrogate pair; use jsonAnswer of src/http/json.ts",
  },
  {
    files: /^src\/engine\//,
    pattern: /(?<![.\w])fetch\(|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bcrypto\.randomUUID\b/,
    message: "the engine is pure",
  },
];

/** A variable, a collection that begins empty and is not declared constant, or an instance of some class. */
const KEPT: Rule[] = [
  /^(?:export )?(?:let|var) /,
  /^\s+(?:private )?static (?!readonly |async |\w+\()/,
  /^(?:export )?const \w+(?:: (?!Readonly|readonly)(?:[^=]|=>)*)? = (?:new (?:Weak)?(?:Map|Set)\b(?:<.*>)?\(\)|\[\]);/,
  /^(?:export )?const \w+(?:: [^=]*)? = new (?!Map\b|Set\b|WeakMap\b|WeakSet\b|TextEncoder|TextDecoder|Uint8Array|RegExp)/,
].map((pattern) => ({
  pattern,
  message: "a module keeps something; what an isolate learns is a field of Deployment",
}));
/** Modules with state, and why it does not belong to a deployment. */
const KEEPS: Record<string, string> = {
  "src/deployment.ts": "the deployments themselves",
  "src/tool/isolate/harness.mjs": "what the loops of an isolate took, which it counts for itself",
  "src/tool/isolate/hook-harness.mjs": "the foreign module of an isolate, once it is loaded",
  "src/http/body.ts": "the reader of a request's body, which lives as long as the request",
  "src/typed/located.ts": "where definitions stand, in the process that reads one skill at build time",
};

function checkText(file: string, text: string): Violation[] {
  const violations: Violation[] = [];
  const count = text.replace(/\n$/, "").split("\n").length;
  if (count > MANY_LINES) {
    const message = `${count} lines; above ${MANY_LINES} look for a second concept`;
    violations.push({ file, line: count, message, warning: true });
  }
  const find = (source: string, rules: readonly Rule[]) => {
    const own = rules.filter(({ files }) => files?.test(file) !== false);
    for (const [i, line] of source.split("\n").entries()) {
      for (const { pattern, message } of own)
        if (pattern.test(line)) violations.push({ file, line: i + 1, message });
    }
  };
  // These rules name what they forbid, so they do not apply to this file.
  if (file !== "scripts/architecture.ts" && file !== "test/unit/scripts/architecture.test.ts") {
    find(text, FORBIDDEN_EVERYWHERE);
    find(stripStrings(stripComments(text)), FORBIDDEN_CODE);
    if (file.startsWith("src/") && !Object.hasOwn(KEEPS, file)) find(blankTexts(text), KEPT);
    for (const { start } of spreadLiterals(text)) {
      const line = text.slice(0, start).split("\n").length;
      violations.push({ file, line, message: "a literal is spread into a literal; write its parts there" });
    }
  }
  return violations;
}

const SPECIFIER = /(?:from|import\s*\(|import)\s*["']([^"']+)["']/y;

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const { index } of blankTexts(text).matchAll(/(?<=^|[;\s])(?:from|import)\b/g)) {
    SPECIFIER.lastIndex = index;
    const specifier = SPECIFIER.exec(text)?.[1];
    if (specifier === undefined) continue;
    found.push({ specifier, line: text.slice(0, SPECIFIER.lastIndex).split("\n").length });
  }
  return found;
}

/** Replaces comments by blanks, so that line numbers stay. Strings are respected. */
function stripComments(text: string): string {
  return text.replace(
    /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (part) => (part.startsWith("/") ? part.replace(/[^\n]/g, " ") : part),
  );
}

/** Empties ordinary strings; template literals stay, since they contain code. */
function stripStrings(text: string): string {
  return text.replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, '""');
}

/** Strings, regular expressions, comments, the beginning of a template, a brace. */
const TEXT_OR_BRACE =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?<=[=(,:[!&|?{};]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[`{}]/g;
const TEMPLATE_PART = /(?:\\[\s\S]|(?!\$\{)[^`\\])*(?:`|\$\{)/y;

/** Replaces texts and comments by blanks of the same length; the code inside templates stays. */
function blankTexts(text: string): string {
  const blank = (part: string): string => part.replace(/[^\n]/g, " ");
  /** For each open brace, whether it belongs to a template. */
  const braces: boolean[] = [];
  let code = "";
  let at = 0;
  while (at < text.length) {
    TEXT_OR_BRACE.lastIndex = at;
    const token = TEXT_OR_BRACE.exec(text);
    if (token === null) break;
    code += text.slice(at, token.index);
    at = TEXT_OR_BRACE.lastIndex;
    const closesCode = token[0] === "}" && braces.pop() === true;
    if (token[0] === "{") braces.push(false);
    code += token[0] === "{" || (token[0] === "}" && !closesCode) ? token[0] : blank(token[0]);
    if (token[0] !== "`" && !closesCode) continue;
    TEMPLATE_PART.lastIndex = at;
    const part = TEMPLATE_PART.exec(text)?.[0] ?? "";
    if (part.endsWith("{")) braces.push(true);
    code += blank(part);
    at += part.length;
  }
  return code + text.slice(at);
}

/** Literals that are spread without need: `...{ a, b }` and `...[a, b]`, but not `...[a, b].map(f)`. */
function* spreadLiterals(text: string): Generator<{ start: number; end: number }> {
  const code = blankTexts(text);
  for (const { index: start } of code.matchAll(/\.\.\.(?=[{[])/g)) {
    let end = start + 3;
    let depth = 0;
    do {
      if (/[{[(]/.test(code.charAt(end))) depth++;
      if (/[}\])]/.test(code.charAt(end))) depth--;
      end++;
    } while (depth > 0 && end < code.length);
    // The following text distinguishes a whole literal from the beginning of an expression, and from a parameter's
    // pattern.
    if (/^\s*[,}\])](?!\s*(?:=>|:))/.test(code.slice(end))) yield { start, end };
  }
}

/** The text without such spreads: their parts replace the spread literal. The formatter does the rest. */
export function withoutSpreadLiterals(text: string): string {
  for (const { start, end } of spreadLiterals(text)) {
    const parts = text.slice(start + 4, end - 1).replace(/^\s+|,?\s*$/g, "");
    const rest = text.slice(end).replace(parts === "" ? /^\s*,/ : "", "");
    return withoutSpreadLiterals(text.slice(0, start) + parts + rest);
  }
  return text;
}

/** One violation per import that closes a cycle. */
function findCycles(imports: ReadonlyMap<string, Import[]>): Violation[] {
  const violations: Violation[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    done.add(file);
    for (const { specifier, line } of imports.get(file) ?? []) {
      if (!specifier.startsWith(".")) continue;
      const target = join(dirname(file), specifier);
      const start = [...path, file].indexOf(target);
      if (start >= 0) {
        const circle = [...path.slice(start), file, target].join(" → ");
        violations.push({ file, line, message: `import circle: ${circle}` });
      } else if (!done.has(target) && imports.has(target)) {
        visit(target, [...path, file]);
      }
    }
  };
  for (const file of imports.keys()) if (!done.has(file)) visit(file, []);
  return violations;
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  if (process.argv.includes("--fix")) {
    for (const file of CHECKED.flatMap((dir) => sourceFiles(join(root, dir)))) {
      const text = readFileSync(file, "utf8");
      const fixed = withoutSpreadLiterals(text);
      if (fixed !== text) writeFileSync(file, fixed);
    }
  }
  const violations = checkArchitecture(root);
  for (const { file, line, message, warning } of violations)
    process.stderr.write(`${file}:${line} ${warning === true ? "warning: " : ""}${message}\n`);
  process.exitCode = violations.every(({ warning }) => warning === true) ? 0 : 1;
}

/** One violation per name that two modules export which one file spreads: the module spread last would win silently. */
function findOverridden(sources: ReadonlyMap<string, string>): Violation[] {
  const violations: Violation[] = [];
  for (const [file, text] of sources) {
    const from = new Map<string, string>();
    for (const { 2: specifier = "", index } of text.matchAll(SPREAD_NAMESPACE)) {
      const line = text.slice(0, index).split("\n").length;
      const target = join(dirname(file), specifier);
      for (const [, name = ""] of (sources.get(target) ?? "").matchAll(EXPORTED_VALUE)) {
        const first = from.get(name);
        if (first !== undefined)
          violations.push({ file, line, message: `${first} and ${target} both export ${name}; rename one` });
        from.set(name, target);
      }
    }
  }
  return violations;
}

/**
 * One violation per exported declaration whose name occurs in none of the files that import its own. A file that spreads
 * a whole module into its handlers uses the operations' names.
 */
function findUnusedExports(
  sources: ReadonlyMap<string, string>,
  imports: ReadonlyMap<string, Import[]>,
): Violation[] {
  /** The words of all files that import a file. */
  const words = new Map<string, Set<string>>();
  const operations = sources.get("src/skill/fixed-routes.ts")?.match(WORD) ?? [];
  for (const [file, text] of sources) {
    const own = text.match(WORD) ?? [];
    const spread = new Set(Array.from(text.matchAll(SPREAD_NAMESPACE), ([, , specifier]) => specifier));
    for (const { specifier } of imports.get(file) ?? []) {
      const target = join(dirname(file), specifier);
      const used = words.get(target) ?? new Set();
      for (const word of spread.has(specifier) ? [...own, ...operations] : own) used.add(word);
      words.set(target, used);
    }
  }
  const violations: Violation[] = [];
  for (const [file, text] of sources) {
    if (NOT_BY_IMPORT.test(file)) continue;
    for (const [i, line] of blankTexts(text).split("\n").entries()) {
      const name = EXPORT.exec(line)?.[1];
      if (name !== undefined && words.get(file)?.has(name) !== true)
        violations.push({ file, line: i + 1, message: `nobody uses ${name}; it need not be exported` });
    }
  }
  return violations;
}
