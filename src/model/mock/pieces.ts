/** How a mock streams: a piece ends after each blank, and includes it. */
export function tell(text: string, hear: ((piece: string) => void) | undefined): void {
  if (hear === undefined || text === "") return;
  for (const piece of text.split(/(?<=\s)/)) hear(piece);
}
