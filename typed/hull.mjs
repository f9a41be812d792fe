// What `import { defineSkill, tool } from "hullrun"` gives: the definitions as they are. The build reads them.

export const tool = (definition) => definition;

export const defineSkill = (definition) => definition;
