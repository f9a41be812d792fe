/** The routes below `/v1` that keep skills and files, in the dialects of the vendors' clients. */
import type { JsonObject } from "../manifest.ts";
import { json, NO_MATCH, type Operation, type Operations } from "./operation.ts";
import { answer, BINARY, inPath, query, ref, TEXT } from "./parts.ts";

const id = inPath("id");
const version = inPath("version");
const LIST = [
  query("limit", "Items per page.", { type: "integer", minimum: 0, maximum: 10_000, default: 20 }),
  query("page", "Anthropic: `next_page` of the page before.", TEXT),
  query("after", "OpenAI: id of the last item of the page before.", TEXT),
  query("order", "OpenAI: by time.", { enum: ["asc", "desc"] }),
];
const ZIP = { "application/zip": { schema: BINARY } };

const form = (properties: JsonObject): JsonObject => ({
  required: true,
  content: { "multipart/form-data": { schema: { type: "object", properties } } },
});
const SKILL_FORM = form({
  "files[]": { type: "array", items: BINARY },
  display_name: TEXT,
  display_title: TEXT,
  default: TEXT,
});

/** One that answers JSON, unless it says otherwise. */
const operation = (
  of: Pick<Operation, "id" | "summary" | "scope"> & Partial<Operation>,
  tag: Operation["tag"] = "skills",
): Operation => ({
  tag,
  answers: { 200: answer("In the client's dialect", json({ type: "object" })) },
  vendor: true,
  ...of,
});

const read = (name: string, summary: string, parameters: JsonObject[] = [id]): Operation =>
  operation({ id: name, summary, scope: "invoke", parameters });
const write = (name: string, summary: string, more: Partial<Operation> = {}): Operation =>
  operation({ id: name, summary, scope: "publish", parameters: [id], ...more });
const ranged = [NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")];
const bytes = (content: JsonObject): Operation["answers"] => ({
  200: answer("The bytes", content),
  206: answer("A range of them", content),
  304: answer("Unchanged", null),
});

export const V1_OPERATIONS: Operations = {
  "/v1/skills": {
    get: read("listStoredSkills", "The tenant's stored skills", LIST),
    post: write("createStoredSkill", "Stores a skill: its files or a zip", {
      parameters: [],
      body: SKILL_FORM,
    }),
  },
  "/v1/skills/{id}": {
    get: read("getStoredSkill", "A stored skill"),
    post: write("updateStoredSkill", "OpenAI: chooses the default version", {
      body: { required: true, content: json({ type: "object", properties: { default_version: TEXT } }) },
    }),
    delete: write("deleteStoredSkill", "Removes a stored skill"),
  },
  "/v1/skills/{id}/content": {
    get: {
      ...read("getStoredSkillContent", "The default version as a zip", [id, ...ranged]),
      answers: bytes(ZIP),
    },
  },
  "/v1/skills/{id}/versions": {
    get: read("listStoredSkillVersions", "The versions of a stored skill", [id, ...LIST]),
    post: write("createStoredSkillVersion", "Adds a version", { body: SKILL_FORM }),
  },
  "/v1/skills/{id}/versions/{version}": {
    get: read("getStoredSkillVersion", "A version, by any of its names", [id, version]),
    delete: write("deleteStoredSkillVersion", "Removes a version", { parameters: [id, version] }),
  },
  "/v1/skills/{id}/versions/{version}/content": {
    get: {
      ...read("getStoredSkillVersionContent", "A version as a zip", [id, version, ...ranged]),
      answers: bytes(ZIP),
    },
  },
  "/v1/files": {
    get: operation(
      {
        id: "listStoredFiles",
        summary: "The tenant's files, the newest first",
        scope: "invoke",
        parameters: [
          ...LIST,
          query("ids[]", "Anthropic: these files alone.", { type: "array", items: TEXT }),
        ],
      },
      "files",
    ),
    post: operation(
      {
        id: "createStoredFile",
        summary: "Stores a file until it is deleted or expires",
        scope: "invoke",
        body: form({ file: BINARY, expires_in_seconds: TEXT, purpose: TEXT }),
      },
      "files",
    ),
  },
  "/v1/files/{id}": {
    get: operation(
      { id: "getStoredFile", summary: "What is known of a file", scope: "invoke", parameters: [id] },
      "files",
    ),
    delete: operation(
      { id: "deleteStoredFile", summary: "Removes a file", scope: "invoke", parameters: [id] },
      "files",
    ),
  },
  "/v1/files/{id}/content": {
    get: operation(
      {
        id: "getStoredFileContent",
        summary: "The bytes of a file",
        scope: "invoke",
        parameters: [id, ...ranged],
        answers: bytes({ "*/*": {} }),
      },
      "files",
    ),
  },
};
