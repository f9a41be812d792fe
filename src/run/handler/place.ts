/** How the handlers of a run meet the rest of Hull: the runner, the session's files, configuration, artifacts. */
import type { JsonObject, SkillTool } from "../../skill/manifest.ts";
import { failedCall } from "../../tool/handler/call.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import type { HandlerPlace } from "./ports.ts";

export function handlerPlace(context: RunContext, emit: (event: RunEvent) => void): HandlerPlace {
  return {
    context,
    emit,
    runner: async ({ tool }) =>
      failedCall("unavailable", `${tool.name} needs a runner, and there is none.`, 0),
    python: async () => ({ error: "There is no runner for Python." }),
    folder: null,
    config: async (_, tool) => ({ values: defaultsOf(tool), secrets: [], diagnostics: [] }),
    artifacts: {
      keep: async ({ title, id }) => ({
        line: `The artifact ${JSON.stringify(title ?? id ?? "")} was shown.`,
      }),
    },
  };
}

function defaultsOf({ config }: SkillTool): JsonObject {
  return Object.fromEntries(
    config.flatMap((param) => (param.default === undefined ? [] : [[param.name, param.default]])),
  );
}
