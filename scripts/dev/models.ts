/** Replacements of the providers on this machine: mocks, a recorder, or a replay. */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CASSETTE_VERSION, type CassetteHeader } from "../../src/model/cassette.ts";
import { readMockLines } from "../../src/model/mock/read.ts";
import { PROXY_VARIABLE } from "../../src/model/proxy.ts";
import { keyVariablesOf, type Layer } from "../../src/model/registry/layer.ts";
import { counted } from "../../src/plural.ts";
import type { Redactor } from "../../src/redact.ts";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import { startRecorder } from "../cassette/record.ts";
import { loadCassette, startReplay } from "../cassette/replay.ts";
import { CommandError, EXIT, usageError } from "../command.ts";
import { plainJson } from "../models.ts";
import { readIfThere } from "../read-if-there.ts";
import { reasonOf } from "../system-error.ts";

/** File names; at most one of the three. */
export interface ModelStandIns {
  mocks?: string | undefined;
  record?: string | undefined;
  replay?: string | undefined;
  realtime?: boolean | undefined;
}

interface StandInContext {
  /** Variables of the Worker; those that the replacement needs are added. */
  variables: Map<string, string>;
  /** Layers of the configured models. */
  layers: readonly Layer[];
  redactor: Redactor;
  onLine: (line: string) => void;
}

/** Settings that determine which model is called. */
const SETTINGS = ["HULL_LLM_PROVIDER", "HULL_LLM_MODEL", "HULL_DEFAULT_PROVIDER", "LOCAL_LLM_MODEL"];
/** During a replay, the value of variables that were set during recording. It is never sent anywhere. */
const NO_KEY = "replay";
const NO_HOST = "http://127.0.0.1:9";

/**
 * Starts the requested replacements.
 * @returns a function that stops them
 * @throws CommandError for a file that is missing or unreadable
 */
export async function startStandIns(
  { mocks, record, replay, realtime = false }: ModelStandIns,
  { variables, layers, redactor, onLine }: StandInContext,
): Promise<() => Promise<void>> {
  if (mocks !== undefined) {
    variables.set("HULL_LLM_MOCKS", await mockLines(mocks)).set("HULL_LLM_MOCKS_RUN", randomUUID());
  }
  if (replay !== undefined) {
    const file = resolve(replay);
    const cassette = await loadCassette(file);
    const location = { host: "127.0.0.1", port: 0 };
    const server = await startReplay({ ...location, cassette, file: replay, realtime, redactor, onLine });
    for (const [name, value] of [...Object.entries(cassette.header.settings), ...standIns(cassette.header)]) {
      if (!variables.get(name)) variables.set(name, value);
    }
    variables.set(PROXY_VARIABLE, server.url);
    return server.stop;
  }
  if (record === undefined) return async () => {};
  const header = headerOf(variables, layers);
  const recorder = await startRecorder({ file: resolve(record), header, redactor, onLine }).catch(
    (error: unknown) => {
      const reason = existsSync(dirname(resolve(record))) ? reasonOf(error) : "its folder does not exist";
      throw usageError("cassette_not_written", `${record} cannot be written: ${reason}.`);
    },
  );
  variables.set(PROXY_VARIABLE, recorder.url);
  return async () => {
    await recorder.stop();
    onLine(`Recorded ${counted(recorder.calls(), "call")} into ${record}.`);
  };
}

/**
 * The mocks of a file, in a form for an env file. Without mocks it is an empty list, so that no call reaches a provider.
 */
async function mockLines(file: string): Promise<string> {
  const bytes = await readIfThere(resolve(file));
  if (bytes === null) throw new CommandError(EXIT.missing, "mocks_missing", `There is no file ${file}.`);
  // The decoder removes a byte order mark.
  const read = readMockLines(new TextDecoder().decode(bytes));
  if ("mocks" in read) return read.mocks.map(plainJson).join("\n") || "[]";
  const faults = read.faults.slice(0, 5).map(({ message }) => message);
  const hint = "Each line is one mock as JSON: docs/testing.md.";
  throw usageError("mocks_invalid", `${file}:\n  ${faults.join("\n  ")}`, hint);
}

function headerOf(variables: ReadonlyMap<string, string>, layers: readonly Layer[]): CassetteHeader {
  const hosts = layers.flatMap(({ llm }) =>
    Object.values(llm?.providers ?? {}).flatMap(({ base_url_env = [] }) => base_url_env),
  );
  const known = new Set([...PROVIDER_KEY_VARIABLES, ...layers.flatMap(keyVariablesOf), ...hosts]);
  const isSet = (name: string): boolean => (variables.get(name) ?? "") !== "";
  return {
    hull_cassette: CASSETTE_VERSION,
    created_at: new Date().toISOString(),
    variables: [...variables.keys()]
      .filter((name) => isSet(name) && (known.has(name) || isHost(name)))
      .sort(),
    settings: Object.fromEntries(SETTINGS.filter(isSet).map((name) => [name, variables.get(name) ?? ""])),
  };
}

const isHost = (name: string): boolean => /(?:_BASE_URL|_HOST)$/.test(name) && !name.startsWith("HULL_");

function standIns({ variables }: CassetteHeader): [name: string, value: string][] {
  return variables.map((name) => [name, isHost(name) ? NO_HOST : NO_KEY]);
}
