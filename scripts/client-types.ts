/** Makes the types of `hullrun/client` that follow from the API: TypeScript, from the OpenAPI document's schemas. */
import { openapiDocument } from "../src/api/document.ts";
import { eventData } from "../src/api/events.ts";
import { objectOf } from "../src/skill/json.ts";
import { SHIPPED } from "../src/skill/known-providers.ts";
import type { Json, JsonObject } from "../src/skill/manifest.ts";

/** Schemas of the document that clients name; schemas that they refer to are included. */
const NAMED = [
  "Problem Card Execution File CallOptions RunOptions RunRequest RunResult CallResult",
  "StructuredResult Session SessionMessages Sessions Delivered CompactRequest CompactedSession",
  "Artifacts Artifact Approval Approvals ApprovalDecision IndexedRun IndexedRuns RunAccepted Run SessionRunResult Runs",
  "DaemonRequest Daemon Daemons DaemonSnapshot SessionFile SessionFiles",
].flatMap((names) => names.split(" "));
/** Those that have another name in TypeScript. */
const RENAMED: { readonly [schema: string]: string } = {
  File: "StoredFile",
  Run: "SessionRun",
  Runs: "SessionRuns",
};
/** In these types, a member that is `null` counts as absent. */
const OPTIONS = ["CallOptions", "RunOptions"];
/** Bodies of operations without a name in the document. */
const BODIES: { readonly [name: string]: string } = {
  CallRequest: "/llm/call",
  StructuredRequest: "/llm/structured",
  NewSession: "/sessions",
  NewMessage: "/sessions/{id}/messages",
  ToolAnswer: "/sessions/{id}/tool-results",
};

/** The types of `typed/client/api.d.ts`. */
export function clientTypes(): string {
  const document = openapiDocument("");
  const schemas = objectOf(objectOf(document.components).schemas);
  const made = new Map<string, string>();
  const add = (name: string): void => {
    const typed = nameOf(name);
    if (made.has(typed)) return;
    made.set(typed, "");
    made.set(typed, declaration(typed, objectOf(schemas[name])));
  };
  /** The type of a schema; adds the schemas that it refers to. */
  const typeOf = (schema: JsonObject): string =>
    typeText(schema, (name) => {
      add(name);
      return nameOf(name);
    });
  const declaration = (name: string, schema: JsonObject): string => {
    const members = name === "CallOptions" ? ` & ${providerMembers(objectOf(schema.properties))}` : "";
    const [base, own] = derived(OPTIONS.includes(name) ? withNulls(schema) : schema);
    return `${comment(schema.description, "")}export type ${name} = ${base}${typeOf(own)}${members};`;
  };
  /** The named type of which a schema has all members, as the beginning of its own type; and the schema without them. */
  const derived = (schema: JsonObject): [base: string, own: JsonObject] => {
    const base = NAMED.filter((name) => hasMembersOf(schema, objectOf(schemas[name]))).sort(
      (a, b) => membersOf(objectOf(schemas[b])).length - membersOf(objectOf(schemas[a])).length,
    )[0];
    if (base === undefined) return ["", schema];
    const known = objectOf(objectOf(schemas[base]).properties);
    const own = Object.entries(objectOf(schema.properties)).filter(([name]) => !Object.hasOwn(known, name));
    return [`${nameOf(base)} & `, { ...schema, properties: Object.fromEntries(own) }];
  };
  for (const name of NAMED) add(name);
  for (const [name, path] of Object.entries(BODIES)) {
    const { requestBody } = objectOf(objectOf(objectOf(document.paths)[path]).post);
    const media = objectOf(objectOf(objectOf(requestBody).content)["application/json"]);
    made.set(name, declaration(name, objectOf(media.schema)));
  }
  const events = eventData().map(([name, data]): string => {
    const text = comment(data.description, "  ");
    return `${text}  ${name}: ${indent(typeOf({ ...data, description: "" }))};`;
  });
  const sorted = [...made].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  return `${HEAD}\n${sorted.join("\n\n")}\n\n/** The data of each event, by the event's name. */\nexport interface EventData {\n${events.join("\n")}\n}\n`;
}

const HEAD = `// \`npm run docs\` writes this file from the schemas of the API.
`;
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

/** @param named the type for a reference */
function typeText(schema: JsonObject, named: (schema: string) => string): string {
  const { $ref, const: value, enum: values, anyOf, oneOf, allOf, type } = schema;
  const of = (member: Json | undefined): string => typeText(objectOf(member), named);
  const union = (types: readonly string[]): string => Array.from(new Set(types)).join(" | ");
  if (typeof $ref === "string") return named($ref.split("/").at(-1) ?? "");
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
  if (type === "object") return objectText(schema, of);
  if (type === "integer" || type === "number") return "number";
  return type === "string" || type === "boolean" || type === "null" ? type : "unknown";
}

function objectText(schema: JsonObject, of: (member: Json | undefined) => string): string {
  const { properties, required, additionalProperties: more } = schema;
  const needed = Array.isArray(required) ? required : [];
  const members = Object.entries(objectOf(properties)).map(([name, member]) => {
    const key = /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
    const text = comment(objectOf(member).description, "  ");
    return `${text}  ${key}${needed.includes(name) ? "" : "?"}: ${indent(of(member))};`;
  });
  const isOpen = more === undefined ? properties === undefined : more !== false;
  if (isOpen) {
    const value = members.length > 0 || more === undefined || more === true ? "unknown" : of(more);
    if (members.length === 0) return `Record<string, ${value}>`;
    members.push(`  [name: string]: ${indent(value)};`);
  }
  return members.length === 0 ? "Record<string, never>" : `{\n${members.join("\n")}\n}`;
}
