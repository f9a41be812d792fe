/** Sessions that begin with what another one holds (agent-runtime.md §12.1). */
import type { Message } from "../../engine/messages.ts";
import type { Bindings } from "../../env.ts";
import { SessionExists } from "../../errors/session.ts";
import { readText, sendText } from "../../run/long-text.ts";
import { sessionObject } from "../../run/session-client.ts";
import type { ForkCall, LongText } from "./rpc.ts";
import type { SessionLog } from "./session-log.ts";
import type { SessionRow } from "./store.ts";
import { headOf } from "./visible.ts";

/**
 * Makes `dst` a fork of this session. One that the same request made before, by a process that died then, is taken for what
 * it is.
 * @throws SessionExists
 */
export async function forkInto(
  env: Bindings,
  log: SessionLog,
  row: SessionRow,
  fork: { dst: string; keep_first: number | null; request: string; request_id: string },
): Promise<void> {
  const { dst, keep_first, request, request_id } = fork;
  const { visible, summary, skills, known } = log.state();
  const { tenant, id, metadata } = row;
  const messages = keep_first === null ? visible : headOf(visible, keep_first);
  const call: ForkCall = {
    caller: { tenant, id: dst, request_id, mock_scope: "" },
    parent_id: id,
    branched_at: log.store.lastEvent(),
    ...{ request, metadata, summary, skills },
    ...(known === undefined ? {} : { known }),
  };
  const child = sessionObject(env, tenant, dst);
  const adopted = await child.adopt(JSON.stringify(call), sendText(JSON.stringify(messages)));
  if (!adopted) throw new SessionExists({ session: dst });
}

/** The fork's side. Answers whether it is one of this parent's, now or from before. */
export async function adopt(
  log: SessionLog,
  call: ForkCall,
  text: LongText,
  created: () => void,
): Promise<boolean> {
  const messages: Message[] = JSON.parse(await readText(text));
  const { store } = log;
  const known = store.session();
  if (known !== null) return known.parent_id === call.parent_id && known.request_hash === call.request;
  const { caller, parent_id, branched_at, request, metadata, summary, skills } = call;
  const now = log.now();
  store.prepare();
  store.transaction(() => {
    store.create({
      ...{ id: caller.id, tenant: caller.tenant, created_at: now, updated_at: now, state: "active" },
      ...{ request_hash: request, parent_id, branched_at, metadata },
    });
    const skillsKnown = call.known === undefined ? {} : { known: call.known };
    log.add([{ type: "session_imported", messages, summary, skills, ...skillsKnown }]);
    created();
  });
  return true;
}
