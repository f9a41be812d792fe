/** What the frame of React artifacts uses of React, which has no types of its own. */
declare module "react" {
  const React: { createElement(type: unknown): unknown };
  export default React;
}
declare module "react/jsx-runtime" {
  const JsxRuntime: object;
  export default JsxRuntime;
}
declare module "react-dom" {
  const ReactDom: object;
  export default ReactDom;
}
declare module "react-dom/client" {
  const ReactDomClient: { createRoot(root: Element): { render(node: unknown): void } };
  export default ReactDomClient;
}
