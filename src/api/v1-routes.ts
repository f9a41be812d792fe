/** The routes below `/v1` that keep skills and files, in the dialects of the vendors' clients. */
import type { JsonObject } from "../skill/manifest.ts";
import { defaultVersionBody } from "./bodies/publishing.ts";
import { EXPIRY_FIELDS, SKILL_FIELDS } from "./bodies/v1.ts";
import { answer, BINARY, query, TEXT, TEXTS } from "./openapi-parts.ts";
import { body, type Operation, type Operations, RANGED, reads } from "./operation.ts";

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
  ...Object.fromEntries(SKILL_FIELDS.map((name) => [name, TEXT])),
});
const seconds = Object.entries(EXPIRY_FIELDS).map(([name, limits]) => [name, { type: "integer", ...limits }]);
const FILE_FORM = form({ file: BINARY, ...Object.fromEntries(seconds), purpose: TEXT });

/** An operation that answers JSON, unless it says otherwise. */
const operation = (
  summary: string,
  more: Partial<Operation> = {},
  tag: Operation["tag"] = "skills",
): Operation =>
  reads(tag, summary, { type: "object" }, { outcome: "In the client's dialect", vendor: true, ...more });

const bytes = (content: JsonObject): Operation["answers"] => ({
  200: answer("The bytes", content),
  206: answer("A range of them", content),
  304: answer("Unchanged", null),
});

export const V1_OPERATIONS = {
  listStoredSkills: operation("The tenant's stored skills", {
    parameters: [
      ...LIST,
      query("query", "Only the skills that fit this text best, the best one first.", TEXT),
      query("top_k", "How many of them.", { type: "integer", minimum: 1, maximum: 100, default: 5 }),
      query("source", "Anthropic: whose skills.", {
        enum: ["custom", "plugin", "anthropic"],
        default: "custom",
      }),
    ],
  }),
  createStoredSkill: operation("Stores a skill: its files or a zip", { body: SKILL_FORM }),
  getStoredSkill: operation("A stored skill"),
  updateStoredSkill: operation("OpenAI: chooses the default version", { body: body(defaultVersionBody) }),
  deleteStoredSkill: operation("Removes a stored skill"),
  getStoredSkillContent: operation("The default version as a zip", {
    parameters: RANGED,
    answers: bytes(ZIP),
  }),
  listStoredSkillVersions: operation("The versions of a stored skill", { parameters: LIST }),
  createStoredSkillVersion: operation("Adds a version", { body: SKILL_FORM }),
  getStoredSkillVersion: operation("A version, by any of its names"),
  deleteStoredSkillVersion: operation("Removes a version"),
  getStoredSkillVersionContent: operation("A version as a zip", {
    parameters: RANGED,
    answers: bytes(ZIP),
  }),
  listStoredFiles: operation(
    "The tenant's files, the newest first",
    {
      parameters: [
        ...LIST,
        query("ids[]", "Anthropic: these files alone.", TEXTS),
        query("purpose", "OpenAI: only the files with this purpose.", TEXT),
        query("before_id", "Legacy: only files that are newer than this one.", TEXT),
        query("after_id", "Legacy: only files that are older than this one.", TEXT),
      ],
    },
    "files",
  ),
  createStoredFile: operation("Stores a file until it is deleted or expires", { body: FILE_FORM }, "files"),
  getStoredFile: operation("What is known of a file", {}, "files"),
  deleteStoredFile: operation("Removes a file", {}, "files"),
  getStoredFileContent: operation(
    "The bytes of a file",
    { parameters: RANGED, answers: bytes({ "*/*": {} }) },
    "files",
  ),
} satisfies Operations;
