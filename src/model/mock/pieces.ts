/** How a mock streams: a piece ends after each white space, which it includes. */
export function streamText(text: string, receive: ((piece: string) => void) | undefined): void {
  if (receive === undefined || text === "") return;
  for (const piece of text.split(/(?<=\s)/)) receive(piece);
}
