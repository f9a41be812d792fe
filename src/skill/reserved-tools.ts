/** Names that no skill's tool may take: tools of Hull's own (skill-formats.md §3, M6). */
export const RESERVED_TOOLS: readonly string[] = [
  "load_skill",
  "read_skill_resource",
  "define_tool",
  "remove_tool",
];
