/**
 * Skill folders that define models: the tables `[llm]` and `[capabilities]` of a hull.toml next to SKILL.md. They add
 * to the project's models; only the project decides where provider keys go.
 */
import { join } from "node:path";
import { keyVariables, type Layer, packageSchema } from "../../src/model/registry/layer.ts";
import { SHIPPED } from "../../src/skill/known-providers.ts";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import { CONFIG_FILE } from "../config.ts";
import type { FileFault } from "../file-error.ts";
import type { ProjectModels } from "../models.ts";
import { positionIn } from "../position-in.ts";
import { readToml } from "../toml-file.ts";
import { orNull, readRegular } from "./file-system.ts";
import type { SkillFolder } from "./skill-folder.ts";

export interface Packages {
  /** By the folder's absolute path; without folders that define nothing usable. */
  layers: ReadonlyMap<string, Layer>;
  /** Keyed in the same way. */
  diagnostics: ReadonlyMap<string, Diagnostic[]>;
}

/** @param projectDir its own hull.toml is not a package's */
export function readPackages(
  folders: readonly SkillFolder[],
  projectDir: string,
  models: ProjectModels,
): Packages {
  const owned = new Owners(models);
  const layers = new Map<string, Layer>();
  const diagnostics = new Map<string, Diagnostic[]>();
  for (const folder of folders) {
    if (folder.path === projectDir || !folder.configured) continue;
    const bytes = orNull(() => readRegular(join(folder.path, CONFIG_FILE)));
    if (bytes === null) continue;
    const file = readToml(bytes, packageSchema);
    const faults = file.ok ? owned.claim(folder.name, file.data) : file.faults;
    if (file.ok && faults.length === 0) layers.set(folder.path, file.data);
    else {
      const text = bytes.toString("utf8");
      diagnostics.set(
        folder.path,
        faults.map((fault) => diagnosticOf(folder, text, fault)),
      );
    }
  }
  return { layers, diagnostics };
}

/** The layers of the given folders, lowest first. */
export const layersOf = ({ layers }: Packages, folders: readonly string[]): Layer[] =>
  folders.flatMap((path) => layers.get(path) ?? []);

/**
 * The package that defined each provider and reads each key: another package that redefines either could send a key
 * elsewhere.
 */
class Owners {
  readonly #providers = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  constructor({ file, root }: ProjectModels) {
    for (const name of SHIPPED.names) this.#providers.set(name, "Hull itself");
    for (const name of SHIPPED.key_variables) this.#keys.set(name, "a provider of Hull's own");
    this.#note(file, "HULL_PROVIDERS_CONFIG");
    this.#note(root, "the project's hull.toml");
  }

  #note(layer: Layer, owner: string): void {
    for (const [name, fields] of Object.entries(layer.llm?.providers ?? {})) {
      this.#providers.set(name, owner);
      for (const variable of keyVariables(name, fields)) this.#keys.set(variable, `a provider of ${owner}`);
    }
  }

  claim(folder: string, layer: Layer): FileFault[] {
    for (const [name, fields] of Object.entries(layer.llm?.providers ?? {})) {
      const owner = this.#providers.get(name);
      if (owner !== undefined) {
        return [
          {
            path: `llm.providers.${name}`,
            message: `the provider ${name} is already defined by ${owner}; a skill folder may only add providers.`,
            hint: "Give it another name, or change the provider in the project's hull.toml.",
          },
        ];
      }
      for (const variable of keyVariables(name, fields)) {
        const holder = this.#keys.get(variable);
        if (holder === undefined) continue;
        return [
          {
            path: `llm.providers.${name}.auth_env`,
            message: `the provider ${name} asks for ${variable}, the key of ${holder}.`,
            hint: "Name another variable in auth_env, or define the provider in the project's hull.toml.",
          },
        ];
      }
    }
    this.#note(layer, `the skill folder ${folder}`);
    return [];
  }
}

function diagnosticOf(
  folder: SkillFolder,
  text: string,
  { path, message, hint, ...at }: FileFault,
): Diagnostic {
  return {
    level: "error",
    code: "package_config",
    skill: folder.name,
    file: folder.within === "" ? CONFIG_FILE : `${folder.within}/${CONFIG_FILE}`,
    ...positionIn(CONFIG_FILE, text, path),
    ...at,
    ...(path === "" ? {} : { field: path }),
    message: message.charAt(0).toUpperCase() + message.slice(1),
    ...(hint === undefined ? {} : { hint }),
  };
}
