/** `POST /daemons`: a daemon from a flat body. */

import { withoutPrefix } from "../../engine/fault.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { InputInvalid } from "../../errors/request.ts";
import { HullError } from "../../errors.ts";
import { daemonFolder, daemonSpec, snapshotIn } from "../../run/agent/daemon-spec.ts";
import type { RunInput } from "../../run/agent/options.ts";
import { daemonBody, type WebhookGiven } from "../../run/request-bodies.ts";
import type { DaemonSummary } from "../../session/daemon/answers.ts";
import type { DaemonSettings, Webhook } from "../../session/daemon/rpc.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { idDigits } from "../idempotency.ts";
import { noteSkill } from "../run-headers.ts";
import { isRepeated, requestName, sessionOf, shownNow } from "../sessions/object.ts";
import { checkSecret } from "./webhook.ts";

export async function spawnDaemon(context: RequestContext): Promise<Response> {
  const body = await readJson(context.request, daemonBody);
  const { task, prompt = task, system = null, name = null, webhook: given, ...further } = body;
  const { state_dir, persist_path = state_dir, queue_capacity, event_queue_capacity, ...options } = further;
  if (prompt === undefined) throw memberInvalid("task", "is missing: what should the daemon do?");
  const id = `dmn_${await idDigits(context)}`;
  const session = sessionOf(context, id);
  const request = await requestName(context, body);
  await noteSkill(context, options.skill);
  if (await isRepeated(context, session, body)) return spawned(context, await session.ask("rested", null));
  const hook = given === undefined ? null : webhookOf(given);
  if (hook !== null) checkSecret(context.settings, hook);
  const folder = persist_path ?? daemonFolder(id);
  const settings: DaemonSettings = {
    name,
    persist_path: folder,
    webhook: hook,
    declared: null,
    capacity: event_queue_capacity ?? queue_capacity ?? 1024,
  };
  const exclusive = persist_path !== undefined;
  const spec = await specOf(context, id, {
    prompt,
    system,
    publishes: context.publishes,
    options: { ...options, persist_path: snapshotIn(folder) },
  });
  return spawned(context, await session.ask("spawn", { spec, settings, exclusive, request }));
}

function spawned(context: RequestContext, summary: DaemonSummary): Response {
  const located = { location: `/daemons/${summary.id}` };
  return shownNow(context, summary, 201, { ...context.runHeaders, ...located });
}

function webhookOf(given: WebhookGiven): Webhook {
  const { secret_env, header, timestamp_header = null, tolerance_s = 300 } = given;
  return { secret_env, header, algorithm: "hmac-sha256", timestamp_header, tolerance_s };
}

/** Builds the daemon's specification. Findings name the options as the body does. */
async function specOf(context: RequestContext, id: string, input: RunInput) {
  try {
    return await daemonSpec(context, id, input);
  } catch (error) {
    if (!InputInvalid.matches(error)) throw error;
    const data = JSON.parse(JSON.stringify(error.data), (_, value: unknown) =>
      typeof value === "string" ? withoutPrefix(value) : value,
    );
    throw new HullError(data, error.operator);
  }
}
