/** What stands before a skill's slug where a skill is named as a model. */
export const SKILL_MODEL = "skill/";
