/**
 * `npm run docs`: writes the pages and tables of docs/, and the JSON Schemas of assets/, that follow from the code. A
 * test fails if one of them is out of date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openapiDocument } from "../src/api/document.ts";
import { eventData } from "../src/api/events.ts";
import { manifestRows, manifestSchema, toolRows, toolsSchema } from "../src/api/field-tables.ts";
import { OPERATIONS } from "../src/api/fixed-routes.ts";
import type { Operation } from "../src/api/operation.ts";
import { optionGroups } from "../src/api/options.ts";
import { wordsOf } from "../src/api/shape-schema.ts";
import { RUN_STATUSES, STATUS_TERMS } from "../src/engine/run-status.ts";
import { SKILLS_BETA } from "../src/llm/container-params.ts";
import {
  CONTAINER_TTL_MS,
  MOST_FILES,
  MOST_INCLUDED_BYTES,
  MOST_NAMED_BYTES,
  MOST_SKILLS,
  MOST_SKILLS_OF_BETA,
} from "../src/llm/vendor-limits.ts";
import { apiNames, PROTOCOLS } from "../src/model/protocols.ts";
import { FIXED_ROUTES, type RouteScope } from "../src/skill/fixed-routes.ts";
import { objectOf, textOf } from "../src/skill/json.ts";
import type { Json, JsonObject } from "../src/skill/manifest.ts";
import { servingSettings } from "../src/skill/serving-settings.ts";
import { CLIENT_TYPES, clientModule } from "./client-module.ts";
import { clientTypes } from "./client-types.ts";
import { settingRows, settingsSchema } from "./settings-table.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const NOTE = "<!-- `npm run docs` writes this page from the code. -->";

/** Pages that are generated as a whole. */
const PAGES: Record<string, () => string> = {
  "docs/options.md": optionsPage,
  "docs/events.md": eventsPage,
  "assets/docs/skill.schema.json": () => `${JSON.stringify(manifestSchema(), null, 2)}\n`,
  "assets/docs/tools.schema.json": () => `${JSON.stringify(toolsSchema(), null, 2)}\n`,
  "assets/docs/hull.schema.json": () => `${JSON.stringify(settingsSchema(), null, 2)}\n`,
};

/** Tables within pages, between `<!-- name: … -->` and `<!-- /name -->`. */
const TABLES: [path: string, name: string, table: () => string][] = [
  ["docs/http.md", "routes", routeTables],
  ["docs/manifest.md", "fields", manifestTable],
  ["docs/tools.md", "keys", toolTable],
  ["docs/runs.md", "statuses", statusTable],
  ["docs/messages-api.md", "limits", limitTable],
  ["docs/cli.md", "settings", () => markdownTable(["Key", "Takes", "Default", "Meaning"], settingRows())],
];

/** Rows of tables, by the code in their first cell. */
const ROWS: [path: string, cells: () => readonly [string, ...string[]]][] = [["docs/models.md", apiRow]];

/** Every generated document in its correct form, by path. */
export function generatedDocuments(): Map<string, string> {
  const documents = new Map(Object.entries(PAGES).map(([path, page]) => [path, page()]));
  for (const [path, name, table] of TABLES) {
    const page = documents.get(path) ?? readFileSync(join(ROOT, path), "utf8");
    const between = new RegExp(`(<!-- ${name}:[^\\n]*-->\\n)[\\s\\S]*?(<!-- /${name} -->)`);
    documents.set(
      path,
      page.replace(between, (_, begin, end) => `${begin}\n${table()}\n\n${end}`),
    );
  }
  for (const [path, cells] of ROWS) {
    const page = documents.get(path) ?? readFileSync(join(ROOT, path), "utf8");
    const row = cells();
    const begin = `| ${row[0]} |`;
    const lines = page.split("\n");
    const at = lines.findIndex((line) => line.startsWith(begin));
    if (at === -1) throw new Error(`${path} has no row that begins with "${begin}". Add one to its table.`);
    lines[at] = markdownRow(row);
    documents.set(path, lines.join("\n"));
  }
  return documents;
}

/** The wires that a provider may have. */
function apiRow(): [string, ...string[]] {
  const names = PROTOCOLS.map((protocol) => {
    const [name, ...others] = apiNames(protocol).map((one) => `\`${one}\``);
    return others.length === 0 ? name : `${name} (${others.join(", ")})`;
  });
  return ["`api`", "by `chat_endpoint`", `the wire: ${names.join(", ")}`];
}

/** The package's client, by path: its module and its types. */
export function generatedClient(): Map<string, string> {
  return new Map([[CLIENT_TYPES, clientTypes()], ...clientModule(ROOT)]);
}

function statusTable(): string {
  const rows = RUN_STATUSES.map((status) => {
    const { waits, outcome = "done", why } = STATUS_TERMS[status];
    return [`\`${status}\``, waits === true ? "" : `\`${outcome}\``, why];
  });
  return markdownTable(["`status`", "Outcome", "Meaning"], rows);
}

const DAY_MS = 24 * 3_600_000;
const mebibytes = (bytes: number): string => `${bytes / (1024 * 1024)} MiB`;

function limitTable(): string {
  const limits = servingSettings().limits.parse(undefined);
  const setting = (name: keyof typeof limits): string =>
    `\`limits.${name}\` of hull.toml, ${limits[name] / 1000} s unless set`;
  return markdownTable(
    ["What", "Limit"],
    [
      [
        "skills of a request",
        `${MOST_SKILLS}; ${MOST_SKILLS_OF_BETA} with Anthropic's beta \`${SKILLS_BETA}\``,
      ],
      ["stored files that the messages of a request name, together", mebibytes(MOST_NAMED_BYTES)],
      ["`_litellm_generated_files` of an answer, together", mebibytes(MOST_INCLUDED_BYTES)],
      ["files of a call that Hull stores for the user", String(MOST_FILES)],
      ["time of a call of code", setting("code_timeout_ms")],
      ["time of an answer of `/v1/messages` before it pauses", setting("answer_ms")],
      ["life of a container after its last use", `${CONTAINER_TTL_MS / DAY_MS} days`],
    ],
  );
}

function manifestTable(): string {
  const rows = manifestRows().map(({ name, takes, otherwise, modes, text: meaning }) => [
    `\`${name}\``,
    takes,
    otherwise,
    modes.join(", ") || "all",
    meaning,
  ]);
  return markdownTable(["Field", "Takes", "Default", "Modes", "Meaning"], rows);
}

function toolTable(): string {
  const rows = toolRows().map(({ name, takes, otherwise, text: meaning }) => [
    `\`${name}\``,
    takes,
    otherwise,
    meaning,
  ]);
  return markdownTable(["Key", "Takes", "Default", "Meaning"], rows);
}

/** Headings of the tables of routes, and links to more. */
const TAGS: [tag: Operation["tag"], heading: string, more: string][] = [
  [
    "skills",
    "Skills",
    "[Input](#input-of-a-run), [answers](#answer-of-a-run), [MCP](mcp.md), [configuration](configuration.md).",
  ],
  ["files", "Files", "[Files](#files) of calls, and [files of sessions](session-files.md)."],
  [
    "models",
    "Models and runs",
    "[Model calls and runs](#model-calls-and-runs), [models.md](models.md), [transcripts.md](transcripts.md), [mocks](testing.md#mocks).",
  ],
  [
    "sessions",
    "Sessions, daemons, tasks and workflows",
    "[sessions.md](sessions.md), [daemons.md](daemons.md), [tasks.md](tasks.md), [workflows.md](workflows.md).",
  ],
  ["spending", "Spending", "[budgets.md](budgets.md)."],
  ["publishing", "Publishing", "[Uploaded skills](#uploaded-skills), [versions](#versions)."],
  ["operation", "Operation", "[Keys and tenants](#keys-and-tenants)."],
];

const SCOPES: { [scope in RouteScope]: string } = {
  open: "open",
  any: "any",
  own: "invoke, or none",
  invoke: "invoke",
  publish: "publish",
  admin: "admin",
};

/** Above this number of characters the names of a body's fields say less than its page does. */
const MOST_FIELDS = 400;

function routeTables(): string {
  const document = openapiDocument("");
  const at = (value: Json | undefined): JsonObject => {
    const schema = objectOf(value);
    const path = typeof schema.$ref === "string" ? schema.$ref.slice(2).split("/") : [];
    return path.length === 0 ? schema : path.reduce((here, name) => objectOf(here[name]), document);
  };
  const takes = ({ parameters, body }: Operation): string => {
    const named = (parameters ?? []).map(at).filter((parameter) => parameter.in === "query");
    const content = Object.entries(objectOf(body?.content));
    const bodies = content.map(([type, media]) => {
      const schema = at(objectOf(media).schema);
      const fields = wordsOf(schema);
      if (type !== "application/json") return type === "*/*" ? "any body" : `\`${type}\``;
      return schema.allOf === undefined
        ? fields === "object" || fields.length > MOST_FIELDS
          ? "JSON"
          : fields
        : "[options](options.md#daemons)";
    });
    return [...named.map((parameter) => `\`?${textOf(parameter.name)}\``), bodies.join(" or ")]
      .filter((part) => part !== "" && part !== "`{}`")
      .join(", ");
  };
  const tables = TAGS.map(([tag, heading, more]) => {
    const rows = FIXED_ROUTES.filter(([id]) => OPERATIONS[id].tag === tag).map(
      ([id, method, path, scope]) => {
        const shown = path.replace(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
        return [`\`${method} ${shown}\``, SCOPES[scope], takes(OPERATIONS[id]), OPERATIONS[id].summary];
      },
    );
    return `### ${heading}\n\n${more}\n\n${markdownTable(["Route", "Scope", "Takes", "Does"], rows)}`;
  });
  return tables.join("\n\n");
}

const OPTIONS = `# Options

${NOTE}

\`options\` is the object that says how Hull calls a model, runs an agent, or keeps a daemon.

| Request | Takes |
|---|---|
| \`POST /llm/call\`, \`/llm/stream\`, \`/llm/structured\`, \`/llm/completion\` | [options of model calls](#model-calls) |
| \`POST /runs\`, \`POST /sessions/{id}/runs\` | these, and [options of runs](#runs) |
| \`POST /daemons\` | these, and [the fields of daemons](#daemons), all in one flat body |

\`\`\`bash
export HULL_URL=http://localhost:3000
curl -X POST "$HULL_URL/llm/call" -d '{
  "prompt": "Name a colour.",
  "options": {"provider": "mock", "max_tokens": 100, "llm_retries": 1}
}'
\`\`\`

- For an unknown option, or one of the wrong type, Hull answers 422 \`input_invalid\` with its path. A value that Hull cannot use is 400
  \`invalid_request\` with the name of the option.
- \`null\` counts as absent, inside an option too.
- The option with a provider's name holds members for the requests to that provider alone, see
  [models.md](models.md#further-parameters-for-a-provider).
- If an option has no effect, because of other options or because the provider does not take it, the result has the warning
  \`option_ignored\`.
`;

function optionsPage(): string {
  const { calls, runs, daemons } = optionGroups();
  const table = ({ title, options }: (typeof calls)[number]): string => {
    const rows = options.map(({ name, schema, text }) => {
      const fallback =
        text.otherwise ?? (text.default === undefined ? "–" : `\`${JSON.stringify(text.default)}\``);
      return [`\`${name}\``, wordsOf(schema), fallback, text.text];
    });
    return `### ${title}\n\n${markdownTable(["Option", "Type", "Default", "Meaning"], rows)}`;
  };
  const part = (title: string, groups: typeof calls): string =>
    `## ${title}\n\n${groups.map(table).join("\n\n")}\n`;
  return [OPTIONS, part("Model calls", calls), part("Runs", runs), part("Daemons", daemons)].join("\n");
}

const EVENTS = `# Events

${NOTE}

A stream is a response of type \`text/event-stream\`. Each event has an \`id\` (\`<execution or session id>:<seq>\`), a name, and one
JSON object as its \`data\`. \`done\` is always the last event of a call or run. After 15 s of silence Hull sends the comment \`: hb\`.

| Stream | Request | After a disconnect |
|---|---|---|
| a call of a skill | \`?stream=1\` or \`Accept: text/event-stream\` | \`GET /executions/{id}/events\`, with an \`Idempotency-Key\` or \`Prefer: respond-async\` |
| a model call | the same on \`/llm/call\`, \`/llm/structured\`, \`/llm/completion\`; \`/llm/stream\` always | the same |
| \`POST /runs\` | the same | the same |
| a run of a session | the same on \`POST /sessions/{id}/runs\` | \`GET /sessions/{id}/runs/{run}/events\`, or \`GET /sessions/{id}/events\`, which never ends by itself |
| a daemon | | \`GET /sessions/{id}/events\` with the daemon's id |
| a workflow run | the same on \`POST /workflows/execute\` | \`GET /workflows/runs/{id}/events\` |

\`Last-Event-ID\` or \`?after=\` names the last event that a client has. A model call sends \`start\`, \`thought\`, \`delta\`, \`error\`
and \`done\`, and \`round\` where Hull asks the model again; \`/llm/structured\` sends neither \`delta\` nor \`round\`. New event
names may be added: ignore those that you do not know.

\`\`\`bash
export HULL_URL=http://localhost:3000
curl -N -X POST "$HULL_URL/llm/stream" -d '{"prompt": "Hello.", "options": {"provider": "mock"}}'
\`\`\`
`;

function eventsPage(): string {
  const sections = eventData().map(([name, schema]) => {
    const { description = "", required, additionalProperties } = schema;
    const needed = Array.isArray(required) ? required : [];
    const rows = Object.entries(objectOf(schema.properties)).map(([field, value]) => {
      const member = objectOf(value);
      const always = needed.includes(field) ? "" : "?";
      return [`\`${field}${always}\``, wordsOf(member), textOf(member.description)];
    });
    const more = isOpen(additionalProperties) ? "\n\nFurther members depend on what ended." : "";
    return `## ${name}\n\n${textOf(description)}\n\n${markdownTable(["Field", "Type", "Meaning"], rows)}${more}\n`;
  });
  return [EVENTS, ...sections].join("\n");
}

const isOpen = (additional: Json | undefined): boolean =>
  additional === true || (additional !== undefined && Object.keys(objectOf(additional)).length === 0);

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [markdownRow(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(markdownRow)].join("\n");
}

const markdownRow = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`.replace(/(?<! ) +\|/g, " |");

if (import.meta.main) {
  // The module is made from the types, which must exist first.
  const types = join(ROOT, CLIENT_TYPES);
  if (readIfThere(types) !== clientTypes()) writeFileSync(types, clientTypes());
  for (const [path, page] of [...generatedDocuments(), ...generatedClient()]) {
    const file = join(ROOT, path);
    const before = readIfThere(file);
    if (before !== page) writeFileSync(file, page);
    console.log(`${path}${before === page ? "" : " (changed)"}`);
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
