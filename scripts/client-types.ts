/** Makes the types of `hullrun/client` and of the command line that follow from the API: TypeScript, from the OpenAPI document's schemas. */
import { openapiDocument } from "../src/api/document.ts";
import { eventData } from "../src/api/events.ts";
import type { OperationId } from "../src/skill/fixed-routes.ts";
import { objectOf, textOf } from "../src/skill/json.ts";
import { SHIPPED } from "../src/skill/known-providers.ts";
import type { Json, JsonObject } from "../src/skill/manifest.ts";
import { TYPED_ROUTES } from "./client-routes.ts";

/** Types that users name, and that no route takes or answers by this name. */
const NAMED = ["Problem", "CallOptions", "RunOptions"];
/** Schemas that have another name in TypeScript. */
const RENAMED: { readonly [schema: string]: string } = {
  File: "StoredFile",
  Run: "SessionRun",
  Runs: "SessionRuns",
  Event: "HullEvent",
};
/** Types with declarations of their own. */
const OWN: { readonly [schema: string]: string } = {
  Event: `/** One event of a stream. \`id\` is \`<execution or session id>:<seq>\`. */
export type HullEvent = { [name in keyof EventData]: { id: string; event: name; data: EventData[name] } }[keyof EventData];`,
};
/** In these types, a member that is `null` counts as absent. */
const OPTIONS = ["CallOptions", "RunOptions"];
/** Bodies that users name, and that have no name in the document. */
const BODIES: { readonly [id in OperationId]?: string } = {
  callModel: "CallRequest",
  callStructured: "StructuredRequest",
  completeText: "CompletionRequest",
  openSession: "NewSession",
  sendMessage: "NewMessage",
  answerToolCall: "ToolAnswer",
  spawnTask: "TaskRequest",
  runSubAgent: "SubAgentRequest",
  putWorkflow: "NewWorkflow",
};

/** The types of `typed/client/api.d.ts`. */
export function clientTypes(): string {
  const document = openapiDocument("");
  const { paths, components } = document;
  const schemas = objectOf(objectOf(components).schemas);
  const at = (value: Json | undefined): JsonObject => resolved(document, objectOf(value));
  const routes = TYPED_ROUTES.map(([id, method, path]) => {
    const operation = objectOf(objectOf(objectOf(paths)[path])[method.toLowerCase()]);
    return { id, route: `${method} ${path}`, ...declared(operation, at) };
  });
  const events = eventData();
  const known = reachable([...routes, ...events.map(([, data]) => data), ...NAMED.map(refTo)], schemas);
  /** The types of whole bodies. */
  const sent = new Set(routes.flatMap(({ id, json }) => BODIES[id] ?? bodyName(json) ?? []));
  /** The named type of which a schema has all members, as the beginning of its own type; and the schema without them. */
  const derived = (schema: JsonObject): [base: string, own: JsonObject] => {
    const base = known
      .filter((name) => hasMembersOf(schema, objectOf(schemas[name])))
      .sort((a, b) => membersOf(objectOf(schemas[b])).length - membersOf(objectOf(schemas[a])).length)[0];
    if (base === undefined) return ["", schema];
    const inherited = objectOf(objectOf(schemas[base]).properties);
    const own = Object.entries(objectOf(schema.properties)).filter(
      ([name]) => !Object.hasOwn(inherited, name),
    );
    return [`${nameOf(base)} & `, { ...schema, properties: Object.fromEntries(own) }];
  };
  const declaration = (name: string, schema: JsonObject): string => {
    const members = name === "CallOptions" ? ` & ${providerMembers(objectOf(schema.properties))}` : "";
    const [base, own] = derived(OPTIONS.includes(name) ? withNulls(schema) : schema);
    const text = typeText(own, sent.has(name) ? MAY_BE_UNDEFINED : "");
    return `${comment(schema.description, "")}export type ${name} = ${base}${text}${members};`;
  };
  const bodies = routes.flatMap(({ id, json }): [string, JsonObject][] => {
    const name = BODIES[id];
    return name === undefined || json === null ? [] : [[name, json.schema]];
  });
  const types = [
    ...known.map((name): [string, string] => [
      nameOf(name),
      OWN[name] ?? declaration(nameOf(name), objectOf(schemas[name])),
    ]),
    ...bodies.map(([name, schema]): [string, string] => [name, declaration(name, schema)]),
  ]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, text]) => text);
  const declarations = routes.map(({ id, route, ...declared }) => routeText(route, declared, BODIES[id]));
  const data = events.map(([name, schema]): string => {
    const text = comment(schema.description, "  ");
    return `${text}  ${name}: ${indent(typeText({ ...schema, description: "" }))};`;
  });
  return [
    HEAD,
    ...types,
    interfaceText("The data of each event, by the event's name.", "EventData", data),
    `${interfaceText(ROUTES, "Routes", declarations)}\n`,
  ].join("\n\n");
}

const ROUTES =
  "What each route takes and answers. `keyed`: whether it takes an `Idempotency-Key`. `later`: its answer if the run continues.";

const interfaceText = (about: string, name: string, members: readonly string[]): string =>
  `/** ${about} */\nexport interface ${name} {\n${members.join("\n")}\n}`;

/** What the document says of an operation. */
interface Declared {
  /** Names in the path. */
  path: string[];
  query: { name: string; required: boolean; schema: JsonObject; about: Json | undefined }[];
  /** `null`: it takes no JSON. */
  json: { required: boolean; schema: JsonObject } | null;
  keyed: boolean;
  /** The schema of the JSON with which it answers when it is done, and of that with 202. */
  answer: JsonObject | null;
  later: JsonObject | null;
}

/** @param at what a reference of the document means */
function declared(operation: JsonObject, at: (value: Json | undefined) => JsonObject): Declared {
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.map(at) : [];
  const jsonOf = (value: Json | undefined): JsonObject | null => {
    const media = objectOf(at(value).content)["application/json"];
    return media === undefined ? null : objectOf(objectOf(media).schema);
  };
  const { requestBody, responses } = operation;
  const answers = objectOf(responses);
  const schema = jsonOf(requestBody);
  const isOnly = Object.keys(objectOf(objectOf(requestBody).content)).length === 1;
  // Where there are several, the first is the usual one.
  const done = jsonOf(answers["200"]) ?? jsonOf(answers["201"]);
  const accepted = jsonOf(answers["202"]);
  const isLater = answers["200"] !== undefined || answers["201"] !== undefined;
  return {
    path: parameters.filter((one) => one.in === "path").map(({ name }) => textOf(name)),
    query: parameters
      .filter((one) => one.in === "query")
      .map((one) => ({
        name: textOf(one.name),
        required: one.required === true,
        schema: objectOf(one.schema),
        about: one.description,
      })),
    json: schema === null ? null : { required: objectOf(requestBody).required === true && isOnly, schema },
    keyed: parameters.some(({ name }) => name === "Idempotency-Key"),
    answer: isLater ? done : accepted,
    later: isLater ? accepted : null,
  };
}

/** Optional members of what a caller sends may be `undefined`, too: JSON leaves them out. */
const MAY_BE_UNDEFINED = " | undefined";

/** The name of the schema of a body. */
const bodyName = (json: Declared["json"]): string | undefined =>
  typeof json?.schema.$ref === "string" ? json.schema.$ref.split("/").at(-1) : undefined;

/** A route's member of `Routes`. @param named the name of the type of its body */
function routeText(
  route: string,
  { path, query, json, keyed, answer, later }: Declared,
  named: string | undefined,
): string {
  const parameters = query.map(
    ({ name, required, schema, about }) =>
      `${comment(about, "  ")}  ${name}${required ? "" : "?"}: ${typeText(schema)}${required ? "" : MAY_BE_UNDEFINED};`,
  );
  const takes = [
    ...(path.length === 0 ? [] : [`path: { ${path.map((name) => `${name}: string`).join("; ")} };`]),
    ...(query.length === 0
      ? []
      : [`query${query.some(({ required }) => required) ? "" : "?"}: {\n${parameters.join("\n")}\n};`]),
    ...(json === null
      ? []
      : [`json${json.required ? "" : "?"}: ${named ?? typeText(json.schema, MAY_BE_UNDEFINED)};`]),
  ];
  const members = [
    takes.length === 0 ? "takes: Record<never, never>;" : `takes: {\n  ${indent(takes.join("\n"))}\n};`,
    `keyed: ${keyed};`,
    `answer: ${answer === null ? "null" : typeText(answer)};`,
    ...(later === null ? [] : [`later: ${typeText(later)};`]),
  ];
  return indent(`  "${route}": {\n  ${indent(members.join("\n"))}\n};`);
}

const refTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** What a value is, if it refers to another place of the document. */
function resolved(document: JsonObject, value: JsonObject): JsonObject {
  if (typeof value.$ref !== "string") return value;
  return value.$ref
    .slice(2)
    .split("/")
    .reduce((here, name) => objectOf(here[name]), document);
}

/** The names of all schemas to which values refer, and those to which these refer. */
function reachable(values: readonly object[], schemas: JsonObject): string[] {
  const names = new Set<string>();
  const walk = (value: object): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (names.has(name)) continue;
      names.add(name);
      if (OWN[name] === undefined) walk(objectOf(schemas[name]));
    }
  };
  for (const value of values) walk(value);
  return [...names];
}

const HEAD = "// `npm run docs` writes this file from the declarations of the API.";
/**
 * If an option has a provider's name, the member is the option. Any other member with such a name has members for that
 * provider's requests alone.
 */
function providerMembers(options: JsonObject): string {
  const names = SHIPPED.names.filter((name) => !Object.hasOwn(options, name));
  const union = names.map((name) => JSON.stringify(name)).join(" | ");
  return `{ [provider in ${union}]?: Record<string, unknown> | null }`;
}

/** A schema whose members may all be `null`. */
function withNulls({ properties, allOf, ...rest }: JsonObject): JsonObject {
  if (Array.isArray(allOf)) return { ...rest, allOf: allOf.map((part) => withNulls(objectOf(part))) };
  if (properties === undefined) return rest;
  const members = Object.entries(objectOf(properties)).map(([name, member]) => {
    const { description = "" } = objectOf(member);
    return [name, { description, anyOf: [member, { type: "null" }] }];
  });
  return { ...rest, properties: Object.fromEntries(members) };
}

/** The members of an object, each with whether it is required. */
const membersOf = ({ properties, required }: JsonObject): string[] =>
  Object.entries(objectOf(properties)).map((member) =>
    JSON.stringify([...member, Array.isArray(required) && required.includes(member[0])]),
  );

/** Whether an object has all members of another one, and more. */
function hasMembersOf(schema: JsonObject, base: JsonObject): boolean {
  const has = new Set(membersOf(schema));
  const wanted = membersOf(base);
  return wanted.length > 2 && wanted.length < has.size && wanted.every((member) => has.has(member));
}

const nameOf = (schema: string): string => RENAMED[schema] ?? schema;
const indent = (text: string): string => text.replaceAll("\n", "\n  ");

function comment(text: Json | undefined, margin: string): string {
  if (typeof text !== "string" || text === "") return "";
  // The documents' links are not valid here.
  return `${margin}/** ${text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("*/", "*\\/")} */\n`;
}

/** @param absent follows the type of an optional member */
function typeText(schema: JsonObject, absent = ""): string {
  const { $ref, const: value, enum: values, anyOf, oneOf, allOf, type } = schema;
  const of = (member: Json | undefined): string => typeText(objectOf(member), absent);
  const union = (types: readonly string[]): string => Array.from(new Set(types)).join(" | ");
  if (typeof $ref === "string") return nameOf($ref.split("/").at(-1) ?? "");
  if (value !== undefined) return JSON.stringify(value);
  if (Array.isArray(values)) return union(values.map((one) => JSON.stringify(one)));
  if (Array.isArray(allOf)) {
    return allOf.map((part) => (objectOf(part).oneOf === undefined ? of(part) : `(${of(part)})`)).join(" & ");
  }
  const either = anyOf ?? oneOf;
  if (Array.isArray(either)) return union(either.map(of));
  if (Array.isArray(type)) return union(type.map((one) => of({ ...schema, type: one })));
  if (type === "array") {
    const item = schema.items === undefined ? "unknown" : of(schema.items);
    return /[|&]/.test(item) ? `(${item})[]` : `${item}[]`;
  }
  if (type === "object") return objectText(schema, of, absent);
  if (type === "integer" || type === "number") return "number";
  return type === "string" || type === "boolean" || type === "null" ? type : "unknown";
}

function objectText(schema: JsonObject, of: (member: Json | undefined) => string, absent: string): string {
  const { properties, required, additionalProperties: more } = schema;
  const needed = Array.isArray(required) ? required : [];
  const members = Object.entries(objectOf(properties)).map(([name, member]) => {
    const key = /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
    const text = comment(objectOf(member).description, "  ");
    const isNeeded = needed.includes(name);
    return `${text}  ${key}${isNeeded ? "" : "?"}: ${indent(of(member))}${isNeeded ? "" : absent};`;
  });
  const isOpen = more === undefined ? properties === undefined : more !== false;
  if (isOpen) {
    const value = members.length > 0 || more === undefined || more === true ? "unknown" : of(more);
    if (members.length === 0) return `Record<string, ${value}>`;
    members.push(`  [name: string]: ${indent(value)};`);
  }
  return members.length === 0 ? "Record<string, never>" : `{\n${members.join("\n")}\n}`;
}
