/** A file's text. Vite imports it so, esbuild by `fileTexts` of scripts/dev/file-texts.ts. */
declare module "*?raw" {
  const text: string;
  export default text;
}
