/** The registry key of a skill. */

/** Lower-case ASCII letters and digits, joined by single hyphens; `""` if the text has none. */
export function slugify(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** The slug of a skill: from its name, else from its folder; `null` if neither has an ASCII letter or digit. */
export function skillSlug(name: string, folder: string): string | null {
  return slugify(name) || slugify(folder) || null;
}
