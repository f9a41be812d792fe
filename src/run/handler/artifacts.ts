/**
 * The artifacts of one run attempt. They are read as calls send them, and kept with the record that settles the call.
 * So stored artifacts and their events follow from records alone.
 */

import type { AgentToolResult } from "../../engine/agent/records.ts";
import { type Artifact, type ArtifactFinding, artifactLine, readArtifact } from "../../engine/artifact.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** Limit of one call; for each further artifact the handler gets an error. */
const MAX_ARTIFACTS = 100;
const MAX_CONTENT_CHARS = 5 * 1024 * 1024;

type Kept = { line: string; findings: ArtifactFinding[] } | { error: string };

export class RunArtifacts {
  readonly #stored: (id: string) => Artifact | null;
  readonly #calls = new Map<string, CallArtifacts>();

  /** @param stored finds the latest version of an artifact in the session */
  constructor(stored: (id: string) => Artifact | null) {
    this.#stored = stored;
  }

  /** For one call, named by its effect. It replaces an earlier attempt at the call, which left nothing behind. */
  call(effect: string): CallArtifacts {
    this.#forgetStored();
    const made = new CallArtifacts((id) => this.#latest(id));
    this.#calls.set(effect, made);
    return made;
  }

  /** Drops artifacts that the session has stored by now. */
  #forgetStored(): void {
    for (const [effect, { artifacts, settled }] of this.#calls) {
      // A call under way may still make some.
      const stored =
        settled && artifacts.every(({ id, version }) => (this.#stored(id)?.version ?? 0) >= version);
      if (stored) this.#calls.delete(effect);
    }
  }

  #latest(id: string): Artifact | null {
    let latest = this.#stored(id);
    for (const { artifacts } of this.#calls.values()) {
      for (const artifact of artifacts) {
        if (artifact.id === id && artifact.version > (latest?.version ?? 0)) latest = artifact;
      }
    }
    return latest;
  }
}

/** The artifacts of one call, in order of arrival. */
export class CallArtifacts {
  readonly artifacts: Artifact[] = [];
  /** Whether the call has ended, so that no further artifact will arrive. */
  settled = false;
  readonly #latest: (id: string) => Artifact | null;

  constructor(latest: (id: string) => Artifact | null) {
    this.#latest = latest;
  }

  /** Keeps an artifact and returns what the model should know about it. */
  async keep(value: JsonObject): Promise<Kept> {
    const read = readArtifact(value, this.#latest, newArtifactId);
    if ("error" in read) return read;
    const { artifact, updated, findings } = read;
    if (this.artifacts.length >= MAX_ARTIFACTS) {
      return { error: `A call makes at most ${MAX_ARTIFACTS} artifacts.` };
    }
    const chars = [...this.artifacts, artifact].reduce((sum, { content }) => sum + lengthOf(content), 0);
    if (chars > MAX_CONTENT_CHARS) {
      return { error: `The artifacts of a call have at most ${MAX_CONTENT_CHARS} characters.` };
    }
    this.artifacts.push(artifact);
    return { line: artifactLine(artifact, updated), findings };
  }

  /** The result of the call, with its artifacts. */
  settle(result: AgentToolResult): AgentToolResult {
    this.settled = true;
    return this.artifacts.length === 0 ? result : { ...result, artifacts: this.artifacts };
  }
}

const newArtifactId = (): string => `art_${crypto.randomUUID().replaceAll("-", "")}`;

const lengthOf = (content: Json): number =>
  typeof content === "string" ? content.length : JSON.stringify(content).length;
