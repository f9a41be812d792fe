/** Which calls of skills' tools a deployment lets pass unattended. */
import { describe, expect, it } from "vitest";
import { readSettings } from "../../src/env.ts";
import { toolPolicy, unattendedRefusal } from "../../src/run/handler/policy.ts";
import type { Risk, SkillRecord, SkillTool } from "../../src/skill/manifest.ts";
import { RISKS } from "../../src/skill/tools-json/tool-fields.ts";
import { Client, mockSkill } from "./served.ts";
import { publishTools, skillTool } from "./tool-skills.ts";

const { site } = await publishTools(new Client(), { site: [] });
const published: SkillRecord = site ?? expect.fail(mockSkill("site"));
const uploaded: SkillRecord = { ...published, uploaded_by: "red" };
const configured = (config: object) => readSettings(new Client({ HULL_CONFIG: JSON.stringify(config) }).env);

/** The risks that are let pass. */
const passing = (config: object, record: SkillRecord): Risk[] =>
  RISKS.filter(
    (risk) => unattendedRefusal(configured(config), record, skillTool("t", { risk }), {}) === null,
  );

describe("from which risk on", () => {
  it.each<[string, object, SkillRecord, number]>([
    ["published: all pass", {}, published, 4],
    ["uploaded: dangerous does not", {}, uploaded, 2],
    ["as the deployment says", { approvals: { require_risk: "moderate" } }, published, 1],
    [
      "with a deployment that sets no level for uploads",
      { approvals: { require_risk: "critical" } },
      uploaded,
      2,
    ],
    [
      "with a deployment that sets a level for uploads",
      { approvals: { uploaded_require_risk: "none" } },
      uploaded,
      4,
    ],
    [
      "a skill of its own",
      { approvals: { require_risk: "safe", skills: { site: "critical" } } },
      published,
      3,
    ],
    ["a name without tenant is no upload's", { approvals: { skills: { site: "none" } } }, uploaded, 2],
    ["an upload has its tenant's name", { approvals: { skills: { "red/site": "none" } } }, uploaded, 4],
  ])("%s", (_, config, record, count) => {
    expect(passing(config, record)).toEqual(RISKS.slice(0, count));
  });

  it("a refusal says why, in the form of every denial", () => {
    const text = unattendedRefusal(configured({}), uploaded, skillTool("wipe", { risk: "critical" }), {});
    expect(JSON.parse(text ?? "")).toEqual({
      error: "permission_denied",
      tool: "wipe",
      reason: "A call of risk critical needs an approval. Nobody attends this call to give it.",
    });
  });

  it.each<[string, object, boolean]>([
    ["blocked", { tools: ["t"], blocked_tools: ["t"] }, false],
    ["not allowed", { tools: [] }, false],
    ["allowed", { tools: ["t"] }, true],
    ["more than it may do", { side_effect_level: "read_only" }, false],
  ])("the deployment's policy counts: %s", (_, policy, passes) => {
    const tool = skillTool("t", { side_effects: true });
    expect(unattendedRefusal(configured({ policy }), published, tool, {}) === null).toBe(passes);
  });

  it("a misspelt level is an error, not none", () => {
    expect(() => configured({ approvals: { require_risk: "high" } })).toThrow(
      /HULL_CONFIG has a wrong value/,
    );
  });
});

it.each<[Partial<SkillTool>, string, string | undefined, boolean]>([
  [{}, "read_only", "read", true],
  [{ side_effects: true }, "workspace_write", undefined, false],
  [{ side_effects: true, idempotent: true }, "workspace_write", undefined, true],
  [{ network: { hosts: null } }, "network", "read", true],
  [{ network: { hosts: null }, side_effects: true }, "network", undefined, false],
  [{ tier: "runner" }, "process_exec", "read", true],
  [{ tier: "runner", network: { hosts: null }, side_effects: true }, "process_exec", undefined, false],
])("side effects of %o", (flags, side_effect_level, kind, idempotent) => {
  const { annotations } = toolPolicy(configured({}), published, skillTool("t", flags));
  expect(annotations).toEqual({ side_effect_level, idempotent, ...(kind === undefined ? {} : { kind }) });
});
