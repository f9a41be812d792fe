/** Reads versions from model ids. */

type Version = readonly [major: number, minor: number];

/** A number from this one on is a date. */
const DATE = 1000;

/** The version of a Claude or GPT model; `null` for any other id. */
export function modelVersion(model: string): Version | null {
  return claudeVersion(model) ?? gptVersion(model);
}

/**
 * `claude-opus-4-6` is 4.6, `claude-sonnet-4-20250514` is 4.0; `null` for ids without a version after the family, such
 * as `claude-3-5-sonnet-20241022`.
 */
export function claudeVersion(model: string): Version | null {
  if (!isClaude(model)) return null;
  const id = model.toLowerCase();
  const family = /(?:opus|sonnet|haiku)-/.exec(id);
  return family === null ? null : leadingVersion(id.slice(family.index + family[0].length));
}

/** Whether the id is that of a Claude model, as in `claude-opus-4-6` or `anthropic/claude-opus-4-6`. */
export const isClaude = (model: string): boolean => /(?:^|\/)claude-/i.test(model);

/** `gpt-5.4-preview` is 5.4, `openai/gpt-5` is 5.0; `null` for `gpt-4o`, which is not a version. */
export function gptVersion(model: string): Version | null {
  const name = model.toLowerCase().slice(model.lastIndexOf("/") + 1);
  const at = name.indexOf("gpt-");
  return at < 0 ? null : leadingVersion(name.slice(at + "gpt-".length));
}

/** Whether a version is this one or a later one; an unknown version is not. */
export function isAtLeast(version: Version | null, [least, lesser]: Version): boolean {
  if (version === null) return false;
  const [major, minor] = version;
  return major > least || (major === least && minor >= lesser);
}

/** `5.4…`, `5-4…`, or `5` alone or before something other than digit or letter. */
function leadingVersion(text: string): Version | null {
  const [, major, minor] = /^(\d+)(?:[.-](\d+)|(?![\da-z]))/.exec(text) ?? [];
  if (major === undefined || Number(major) >= DATE) return null;
  const second = Number(minor ?? 0);
  return [Number(major), second >= DATE ? 0 : second];
}
