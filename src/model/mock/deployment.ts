/** Mocks of a whole deployment: `HULL_LLM_MOCKS`, one mock as JSON per line, or `kv:<key>`. */
import { sha256, utf8 } from "../../bytes.ts";
import type { Bindings, Settings } from "../../env.ts";
import { settingText, unreadable } from "../registry/load.ts";
import type { Mock } from "./mock.ts";
import { readMockLines } from "./read.ts";

export const MOCKS_VARIABLE = "HULL_LLM_MOCKS";
/** Any text; a new one restarts the mocks. `hull dev` sets it. */
const MOCKS_RUN_VARIABLE = "HULL_LLM_MOCKS_RUN";

export interface DeploymentMocks {
  /** Identifies these mocks: used-up mocks of another id do not count. */
  id: string;
  mocks: readonly Mock[];
}

/** The mocks in the deployment's configuration. */
export class ConfiguredMocks {
  readonly #env: Bindings;
  readonly #settings: Settings;
  #mocks: DeploymentMocks | null = null;

  constructor(env: Bindings, settings: Settings) {
    this.#env = env;
    this.#settings = settings;
  }

  /** Read once; `null`: the deployment has none. @throws SettingUnreadable */
  async load(): Promise<DeploymentMocks | null> {
    const value = this.#settings.read(MOCKS_VARIABLE);
    if (value === undefined) return null;
    this.#mocks ??= await this.#read(value);
    return this.#mocks;
  }

  async #read(value: string): Promise<DeploymentMocks> {
    const text = await settingText(this.#env, MOCKS_VARIABLE, value);
    const read = readMockLines(text);
    if ("faults" in read)
      throw unreadable(MOCKS_VARIABLE, read.faults.map(({ message }) => message).join("; "));
    const id = await sha256(utf8(`${this.#settings.read(MOCKS_RUN_VARIABLE) ?? ""}\n${text}`));
    return { id, mocks: read.mocks };
  }
}
