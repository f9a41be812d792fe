/**
 * The handler of a typed tool: checks and completes the input, calls `run`, and checks the result. It is bundled into
 * each handler. In another runtime there is no `ctx`.
 */
import type { Schema, TypedSkill } from "./definition.ts";

interface Given {
  readonly config?: unknown;
  readonly workDir?: unknown;
}

type Handler = (args: Record<string, unknown>, ctx?: Given) => Promise<unknown>;

/** The handler of one tool. A fault of input or configuration becomes the result `{ error }`. */
export function handlerOf({ tools }: TypedSkill, name: string): Handler {
  const tool = tools.find((entry) => entry.name === name);
  return async (args, ctx = {}) => {
    if (tool === undefined) return { error: `The skill has no tool ${name}.` };
    const { __workDir: workDir, ...given } = args;
    const input = await checked(tool.input, given);
    if ("fault" in input) return { error: `Invalid arguments. ${input.fault}` };
    const config = await checked(tool.config, ctx.config ?? {});
    if ("fault" in config) return { error: `The configuration of ${name} does not fit. ${config.fault}` };
    const answer = await tool.run(input.value, contextOf(ctx, workDir, config.value));
    if (isOwn(answer)) return answer;
    const output = await checked(tool.output, answer);
    if (!("fault" in output)) return output.value;
    // The runtime decides by the declared schema whether that is an error.
    console.warn(`The answer of ${name} does not fit its output schema. ${output.fault}`);
    return answer;
  };
}

/** Whether a result has one of the forms that the runtime knows: a failure, an artifact, or the update of one. */
const isOwn = (answer: unknown): boolean =>
  typeof answer === "object" &&
  answer !== null &&
  (("error" in answer && answer.error !== undefined && answer.error !== null) ||
    ("__artifact__" in answer && answer.__artifact__ === true) ||
    ("__artifact_update__" in answer && answer.__artifact_update__ === true));

async function checked(
  schema: Schema | undefined,
  value: unknown,
): Promise<{ value: unknown } | { fault: string }> {
  if (schema === undefined) return { value };
  const parsed = await schema.safeParseAsync(value);
  if (parsed.success) return { value: parsed.data };
  const lines = parsed.error.issues.map(({ path, message }) => {
    const at = path.map(String).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  return { fault: lines.join("; ") };
}

/** The runtime's context with the checked configuration; its getters must not be called now. */
function contextOf(ctx: Given, workDir: unknown, config: unknown): object {
  const plain = ctx.workDir === undefined ? alone(workDir) : ctx;
  return Object.create(plain, { config: { value: config, enumerable: true } });
}

/** The context for a runtime that passes none. */
function alone(workDir: unknown): object {
  const artifact = async () => ({ id: "" });
  return {
    workDir,
    env: {},
    signal: new AbortController().signal,
    callId: "",
    models: {},
    emit: async () => {},
    artifact: Object.assign(artifact, { update: artifact }),
    python: async () => {
      throw new TypeError("This runtime has no ctx.python.");
    },
  };
}
