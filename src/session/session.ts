/** What a session consists of. */
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { SESSION_PARTS } from "../run/agent/session-parts.ts";
import { Conversation } from "./conversation/conversation.ts";
import { SessionDispatcher } from "./conversation/operations.ts";
import { Daemon } from "./daemon/daemon.ts";
import { keepSnapshots } from "./daemon/keep.ts";
import { Delegates } from "./task/delegates.ts";
import { Task } from "./task/task.ts";
import { UnlistedSession } from "./unlisted/unlisted-session.ts";
import { Workflow } from "./workflow/workflow.ts";

/** The parts of a session that answer its object's calls. */
export interface Session {
  readonly conversation: Conversation;
  readonly dispatcher: SessionDispatcher;
  readonly unlisted: UnlistedSession;
}

/** Puts a session together over the storage of its object. */
export function openSession(ctx: DurableObjectState, env: Bindings): Session {
  const { storage } = ctx;
  const background = (work: Promise<unknown>): void => ctx.waitUntil(work);
  const deployment = deploymentOf(env);
  const die = async (): Promise<void> => {
    await storage.sync();
    ctx.abort("The workflow run that lives here dies where its author wants it to.");
  };
  const conversation = new Conversation({ storage, deployment, background, parts: SESSION_PARTS, die });
  const unlisted = new UnlistedSession({ storage, deployment, background, log: conversation.log });
  const daemon = new Daemon(conversation, storage);
  keepSnapshots(conversation, daemon);
  const delegates = new Delegates(conversation, storage.sql);
  const workflow = new Workflow(conversation, storage, delegates);
  const task = new Task(conversation, storage, workflow);
  const dispatcher = new SessionDispatcher(conversation, { daemon, task, delegates, workflow });
  return { conversation, dispatcher, unlisted };
}
