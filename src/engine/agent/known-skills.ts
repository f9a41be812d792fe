/** Which skills' instructions a session has, according to its records. Pure. */
import { own } from "../../skill/json.ts";
import type { AgentRecord } from "./records.ts";
import { withoutPrefix } from "./skill-prefix.ts";
import type { AgentState, RunState } from "./state.ts";

/** What the session knows about a skill; `undefined`: nothing. */
export function knownSkill(
  { known = {} }: Pick<AgentState, "known">,
  name: string,
): { digest: string; arguments: string } | undefined {
  return own(known, name);
}

/** What the commands in a skill's text wrote; `undefined`: they have not run. */
export function skillOutputs(
  { outputs = {} }: Pick<AgentState, "outputs">,
  name: string,
): { [command: string]: string } | undefined {
  return own(outputs, name);
}

/** After a message that activates a skill. */
export function afterInvocation(
  state: AgentState,
  run: RunState,
  record: AgentRecord & { type: "skill_invoked" },
): AgentState {
  const { name } = record;
  const skill = run.spec.skills.find((one) => one.name === name);
  const hook = run.active.includes(name) ? null : (skill?.on_activate ?? null);
  const changed = afterActivation(state, run, name, record.arguments);
  const skillHooks = hook === null ? run.skillHooks : [...run.skillHooks, hook];
  // Its commands run again, with these arguments.
  const { [name]: _, ...outputs } = state.outputs ?? {};
  return {
    ...changed.state,
    ...(state.outputs === undefined ? {} : { outputs }),
    visible: withoutPrefix(state.visible, record),
    run: { ...changed.run, skillHooks },
  };
}

/** The skill counts as loaded, and the session has its instructions. @param given its arguments */
export function afterActivation(
  state: AgentState,
  run: RunState,
  name: string,
  given: string,
): { state: AgentState; run: RunState } {
  const digest = run.spec.skills.find((skill) => skill.name === name)?.digest ?? "";
  return {
    state: { ...state, known: { ...state.known, [name]: { digest, arguments: given } } },
    run: { ...run, loaded: run.loaded.includes(name) ? run.loaded : [...run.loaded, name] },
  };
}
