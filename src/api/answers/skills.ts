/** What the routes of skills and their executions answer: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import {
  about,
  count,
  digest,
  document,
  flag,
  json,
  maybe,
  named,
  object,
  text,
  texts,
  time,
} from "../../answer-shape.ts";
import { STORED_LAYERS } from "../../skill/config/effective.ts";
import { type Card, type ConfigParam, type Diagnostic, TIERS } from "../../skill/manifest.ts";
import { RISKS } from "../../skill/tools-json/tool-fields.ts";

const diagnostics = () => z.array(document<Diagnostic>("Diagnostic"));
/** A member that a handler may leave `undefined`. */
const may = z.optional;

export const toolDetails = named(
  "ToolDetails",
  z.object({
    name: text(),
    description: text(),
    parameters: about(object(), "JSON Schema of its arguments."),
    tier: z.enum(TIERS),
    tier_reason: may(about(text(), "Why the build chose the tier, for people.")),
    risk: z.enum(RISKS),
    hidden: about(flag(), "Whether `tools` leaves it out. Models may call it in any case."),
    script: may(about(text(), "Its handler in the skill's folder.")),
    overrides: may(
      about(z.readonly(texts()), "Earlier skills that have a tool of this name, which this one replaces."),
    ),
  }),
);

/** Members of a card that a listing of cards leaves out. */
export type CardDetails = z.infer<typeof cardDetails>;
export const cardDetails = z.object({
  doc: maybe(about(text(), "The skill's body; never that of an llm skill.")),
  input_schema: maybe(
    about(object(), "JSON Schema of the input, if the skill declares one; not in listings."),
  ),
  signature: maybe(
    about(
      z.object({ signer: digest(), trusted: flag() }),
      "Whether the deployment trusts who signed it; not in listings.",
    ),
  ),
  diagnostics: maybe(
    about(
      diagnostics(),
      "What the build found wrong with it; for keys that may publish, and not in listings.",
    ),
  ),
  tool_details: maybe(
    about(
      z.array(toolDetails),
      "The tools of its tools.json; for keys that may publish, and not in listings.",
    ),
  ),
  files: maybe(
    about(
      z.array(z.object({ path: text(), size: count() })),
      "The files of its folder; for keys that may publish, and not in listings.",
    ),
  ),
});

export type ShownUpload = z.infer<typeof uploadShape>;
export const uploadShape = named(
  "Upload",
  z.object({
    slug: text(),
    tenant: text(),
    digest: digest(),
    created_at: time(),
    updated_at: time(),
    shadowed_by: about(
      z.nullable(z.object({ slug: text(), route: text() })),
      "The published skill that has its slug or route; as long as there is one it is not served.",
    ),
    card: about(
      z.nullable(document<Card>("Card")),
      "`null`: a later version of Hull stored the skill in a form that this version cannot read, and does not serve.",
    ),
  }),
);
export const uploadResult = z.extend(uploadShape, { warnings: diagnostics() });

const state = () => z.enum(["running", "done", "error", "cancelled"]);
const executionId = () => z.string().check(z.regex(/^ex_[0-9a-f]{32}$/));
export const executionAccepted = z.object({
  id: executionId(),
  run_id: maybe(text()),
  session_id: maybe(z.null()),
  status: state(),
});

/** An idempotent or asynchronous call. */
export type ShownExecution = z.infer<typeof executionShape>;
export const executionShape = z.object({
  id: executionId(),
  skill: text(),
  status: state(),
  created_at: time(),
  finished_at: maybe(time()),
  result: maybe(
    z.object({
      status: z.int(),
      content_type: text(),
      headers: z.record(z.string(), text()),
      size: count(),
      text: maybe(text()),
      json: maybe(json()),
      url: maybe(z.string().check(z.meta({ format: "uri-reference" }))),
    }),
  ),
  error: maybe(document<object>("Problem")),
});

/** What the tenant configured of a skill's tools. */
export type ShownConfig = z.infer<typeof configShape>;
export const configShape = z.object({
  skill: text(),
  bot: z.nullable(text()),
  tools: z.record(
    z.string(),
    z.object({
      params: z.array(document<ConfigParam>("ConfigParam")),
      values: about(object(), "Of secrets `{set}`; without value and default: nothing."),
      sources: z.record(z.string(), z.enum(["default", ...STORED_LAYERS])),
      diagnostics: z.array(
        z.object({ code: text(), param: text(), source: z.enum(STORED_LAYERS), message: text() }),
      ),
    }),
  ),
});
