/** The prefix of a skill's slug where a model's name names a skill. */
export const SKILL_MODEL = "skill/";
