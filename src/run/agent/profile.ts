/** Presets of runs. */
import { InvalidRequest } from "../../errors/llm.ts";

interface Profile {
  max_iterations: number;
  max_nudges: number;
  llm_retries: number;
  schema_retries: number;
}

const PROFILES = new Map<string, Profile>([
  ["tool_using", { max_iterations: 50, max_nudges: 3, llm_retries: 3, schema_retries: 0 }],
  ["researcher", { max_iterations: 30, max_nudges: 4, llm_retries: 2, schema_retries: 0 }],
  ["verifier", { max_iterations: 5, max_nudges: 0, llm_retries: 2, schema_retries: 3 }],
  ["completer", { max_iterations: 1, max_nudges: 0, llm_retries: 2, schema_retries: 0 }],
]);

/** @throws InvalidRequest if the name is not one of the four */
export function profileOf(name = "tool_using"): Profile {
  const profile = PROFILES.get(name);
  if (profile !== undefined) return profile;
  const known = [...PROFILES.keys()].join(", ");
  throw new InvalidRequest({ option: "profile", detail: `profile must be one of ${known}; got "${name}".` });
}
