/** A document as text, by vite. */
declare module "*.md?raw" {
  const text: string;
  export default text;
}
