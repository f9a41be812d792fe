/**
 * Creates sessions that begin with the content of another one: its conversation, all versions of its artifacts, its
 * files. The fork has its own copies, so the two sessions do not depend on each other. A fork is invisible until it is
 * complete. Hull removes an abandoned fork like a deleted session.
 */
import type { ImportedArtifact } from "../../engine/artifact.ts";
import type { Message } from "../../engine/messages.ts";
import type { Bindings } from "../../env.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { SessionExists } from "../../errors/session.ts";
import { Internal } from "../../errors.ts";
import { readText, sendText } from "../../run/long-text.ts";
import { sessionObject } from "../../run/session-client.ts";
import { allContents, allFiles } from "../../run/workspace/access.ts";
import type { VersionRow } from "./artifacts.ts";
import type { Adopted, ForkCall, ForkStep, LongText } from "./rpc.ts";
import type { ForkedFile, SessionFiles } from "./session-files.ts";
import type { SessionLog } from "./session-log.ts";
import type { ConversationStore, SessionRow } from "./store.ts";
import { countListed, headOf } from "./visible.ts";

/** Limits of one step. Each step is one call, so the platform's limits for a call apply to it. */
const FILES_OF_STEP = { items: 200, bytes: 8 * 1024 * 1024 };
const ARTIFACTS_OF_STEP = { items: Number.POSITIVE_INFINITY, bytes: 1024 * 1024 };
/** Hull removes an unfinished fork after this long without progress, in ms. */
const GIVEN_UP_MS = 10 * 60_000;

interface ForkPart {
  messages?: Message[];
  artifacts?: ImportedArtifact[];
  files?: ForkedFile[];
}

interface Parent {
  env: Bindings;
  log: SessionLog;
  files: SessionFiles;
}

export interface Fork {
  dst: string;
  /** How many messages the fork begins with; `null`: all; `files`: it gets only the files. */
  keep_first: number | null | "files";
  /** Name and content of the request for the fork. */
  request: string;
  request_id: string;
}

const NOTHING_SAID = { visible: [], summary: null, skills: [], known: undefined };

/**
 * Makes `dst` a fork of this session's present state; later changes of this session do not matter. A fork that the same
 * request completed before its process died counts as success.
 * @throws SessionExists; CallNotFound if the session was removed meanwhile
 */
export async function forkInto({ env, log, files }: Parent, row: SessionRow, fork: Fork): Promise<void> {
  const { dst, keep_first, request, request_id } = fork;
  const bare = keep_first === "files";
  const { visible, summary, skills, known } = bare ? NOTHING_SAID : log.state();
  const { tenant, id, metadata } = row;
  const messages = typeof keep_first === "number" ? headOf(visible, keep_first) : visible;
  const call: ForkCall = {
    caller: { tenant, id: dst, request_id, mock_scope: "" },
    parent_id: id,
    branched_at: countListed(messages),
    request,
    metadata,
    summary,
    skills,
    ...(known === undefined ? {} : { known }),
  };
  const made = bare ? [] : log.store.artifacts.versions();
  const listed = await allFiles(files);
  const end = { files: listed.length, artifacts: made.length };
  const send = async (step: Omit<ForkStep, "call">, part: ForkPart): Promise<boolean> => {
    const child = sessionObject({ env, tenant }, dst);
    const adopted = await child.adopt({ call, ...step }, sendText(JSON.stringify(part)));
    if (adopted === "taken") throw new SessionExists({ session: dst });
    if (adopted === "lost" && log.store.session()?.state !== row.state) {
      throw new CallNotFound({ what: "session", id });
    }
    if (adopted === "lost") throw new Internal({ cause: `the fork ${dst} of ${id} got lost on the way` });
    return adopted === "done";
  };
  const small = end.files === 0 && end.artifacts === 0;
  if (await send({ first: true, end: small ? end : null }, { messages })) return;
  const more = { first: false, end: null };
  const sizeOf = (artifact: ImportedArtifact): number => JSON.stringify(artifact).length;
  for (const artifacts of steps(artifactsOf(log, made), ARTIFACTS_OF_STEP, sizeOf))
    await send(more, { artifacts });
  for (const step of steps(listed, FILES_OF_STEP, ({ size }) => size)) {
    const contents = new Map<string, Pick<ForkedFile, "from" | "base64">>();
    const digests = step.map(({ sha256 }) => sha256);
    for await (const { sha256, content } of allContents(files, digests)) {
      const { key: from = "", ...small } = content ?? {};
      contents.set(sha256, { from, ...small });
    }
    await send(more, { files: step.map((file) => ({ ...file, from: "", ...contents.get(file.sha256) })) });
  }
  await send({ first: false, end }, {});
}

function* artifactsOf(
  { store: { artifacts } }: SessionLog,
  made: readonly VersionRow[],
): Generator<ImportedArtifact> {
  for (const version of made) {
    const artifact = artifacts.imported(version);
    if (artifact !== null) yield artifact;
  }
}

/** Splits items into steps of at most so many items and bytes; a larger item is a step of its own. */
function* steps<T>(
  items: Iterable<T>,
  most: { items: number; bytes: number },
  sizeOf: (item: T) => number,
): Generator<T[]> {
  let step: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (step.length === most.items || (step.length > 0 && bytes + size > most.bytes)) {
      yield step;
      step = [];
      bytes = 0;
    }
    step.push(item);
    bytes += size;
  }
  if (step.length > 0) yield step;
}

/** What `adopt` needs of the session that becomes a fork. */
interface Child {
  log: SessionLog;
  files: SessionFiles;
  /** Removes the remains of a session. */
  clear: (row: SessionRow) => Promise<void>;
  /** Runs in the transaction that makes the fork visible. */
  created: () => void;
}

/** Executes one step in the session that becomes the fork. */
export async function adopt(child: Child, step: ForkStep, text: LongText): Promise<Adopted> {
  const part: ForkPart = JSON.parse(await readText(text));
  const adopted = step.first ? await adoptFirst(child, step, part) : null;
  return adopted ?? adoptPart(child, step, part);
}

/** Creates the fork; `null`: its parts are still missing, if only from this step. */
async function adoptFirst(
  { log, clear, created }: Child,
  { call, end }: ForkStep,
  { messages = [] }: ForkPart,
): Promise<"taken" | "done" | null> {
  const { store } = log;
  const before = store.session();
  if (before !== null && !isOf(before, call)) return "taken";
  if (before !== null && before.state !== "deleted") return "done";
  if (before !== null) await clear(before);
  if (store.session() !== null) return "taken";
  const whole = end !== null;
  begin(log, call, messages, whole ? created : null);
  return whole ? "done" : null;
}

/** Takes over artifacts and files; the last step makes the fork visible. */
async function adoptPart(
  { log, files, created }: Child,
  { call, end }: ForkStep,
  part: ForkPart,
): Promise<Adopted> {
  const { store } = log;
  const row = store.session();
  if (row === null) return "lost";
  if (!isOf(row, call)) return "taken";
  // The parent repeats a step whose answer it did not receive.
  if (row.state !== "deleted") return "done";
  if (store.due.at("fork") === null) return "lost";
  store.due.set({ fork: log.now() + GIVEN_UP_MS });
  if (part.artifacts !== undefined) log.add([{ type: "artifacts_imported", artifacts: part.artifacts }]);
  if (part.files !== undefined && !(await files.adopt(row, part.files))) return "lost";
  if (end === null) return "more";
  if (files.count(row) !== end.files || store.artifacts.versions().length !== end.artifacts) return "lost";
  store.transaction(() => {
    store.setState("active", log.now());
    store.due.set({ fork: null });
    created();
  });
  return "done";
}

/** Whether another session is creating this one as a fork. @param by a request whose own fork does not count */
export function isBeingMade(store: ConversationStore, { state, request_hash }: SessionRow, by = ""): boolean {
  return state === "deleted" && store.due.at("fork") !== null && request_hash !== by;
}

const isOf = ({ parent_id, request_hash }: SessionRow, call: ForkCall): boolean =>
  parent_id === call.parent_id && request_hash === call.request;

/** @param created `null`: more steps follow; until then the session counts as deleted */
function begin(log: SessionLog, call: ForkCall, messages: Message[], created: (() => void) | null): void {
  const { store } = log;
  const { caller, parent_id, branched_at, request, metadata, summary, skills, known } = call;
  const now = log.now();
  store.prepare();
  log.together(() => {
    const state = created === null ? "deleted" : "active";
    store.create({
      id: caller.id,
      tenant: caller.tenant,
      created_at: now,
      updated_at: now,
      state,
      request_hash: request,
      parent_id,
      branched_at,
      metadata,
    });
    const skillsKnown = known === undefined ? {} : { known };
    log.add([{ type: "session_imported", messages, summary, skills, ...skillsKnown }]);
    if (created === null) store.due.set({ fork: now + GIVEN_UP_MS });
    else created();
  });
}
