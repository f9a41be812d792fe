/** The prefix of a skill's slug where a model's name names a skill. */
export const SKILL_MODEL = "skill/";

/** Whether a model's name names a skill. */
export const namesSkill = (model: string): boolean => model.startsWith(SKILL_MODEL);

/** The slug of the skill that a model's name names; `null`: it names a model. */
export const skillNamed = (model: string): string | null =>
  namesSkill(model) ? model.slice(SKILL_MODEL.length) : null;
