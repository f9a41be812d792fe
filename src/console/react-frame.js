/**
 * Renders an artifact of React, as one script that contains all it needs (`scripts/bundle-react-frame.ts`). The page of
 * the artifact's frame holds it, and the artifact's source as JSON. The frame's policy confines both; they share an
 * origin of their own. So this script protects nothing from the artifact: it compiles, renders, and says what failed.
 */
import React from "react";
import JsxRuntime from "react/jsx-runtime";
import ReactDom from "react-dom";
import ReactDomClient from "react-dom/client";
import { transform } from "sucrase";

const FILE = "artifact.tsx";

/** What an artifact may import. */
const MODULES = new Map([
  ["react", React],
  ["react/jsx-runtime", JsxRuntime],
  ["react-dom", ReactDom],
  ["react-dom/client", ReactDomClient],
]);

/** An artifact that imports this may render itself, and then needs no default export. */
const ROOTS = "react-dom/client";

/** Whether the artifact's module itself runs. The frame names the line of such an error, even if the error does not. */
let running = false;
let failed = false;

/** @param {string} source one module of JSX or TSX */
function run(source) {
  const { code } = transform(source, {
    transforms: ["typescript", "jsx", "imports"],
    jsxRuntime: "automatic",
    production: true,
    disableESTransforms: true,
    filePath: FILE,
  });
  /** @type {Set<string>} */
  const asked = new Set();
  /** @param {string} name */
  const require = (name) => {
    const module = MODULES.get(name);
    // As a browser's own loader does for a name that it cannot resolve.
    if (module === undefined)
      throw new TypeError(`The artifact imports "${name}". It can import ${[...MODULES.keys()].join(", ")}.`);
    asked.add(name);
    return module;
  };
  /** @type {Record<string, unknown>} */
  const exports = {};
  Object.assign(window, { artifact: { require, exports } });
  // As the text of a script it needs no right to evaluate strings, and keeps its line numbers. `append` runs it at once.
  const script = document.createElement("script");
  script.textContent = `((require, exports) => {${code}\n})(artifact.require, artifact.exports);\n//# sourceURL=${FILE}`;
  running = true;
  document.body.append(script);
  running = false;
  if (failed) return;
  const root = document.getElementById("root");
  if (root && exports.default !== undefined)
    ReactDomClient.createRoot(root).render(React.createElement(exports.default));
  else if (!asked.has(ROOTS)) fail(new Error("The artifact has no default export to render."));
}

/**
 * Shows the first error, above the artifact.
 * @param {unknown} error
 * @param {number} [line] where the error itself does not name the line
 */
function fail(error, line) {
  if (failed) return;
  failed = true;
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const at = new RegExp(`${FILE}:(\\d+)`).exec(stack)?.[1] ?? line;
  // Chromium says of a syntax error also how the script got into the page.
  const text = String(error).replace("Failed to execute 'append' on 'Element': ", "");
  const shown = document.createElement("pre");
  shown.role = "alert";
  shown.style.cssText = "margin: 0; padding: 1em; white-space: pre-wrap; color: #8b0000; background: #fff0f0";
  shown.textContent = `${text}${at === undefined ? "" : `\nLine ${at} of the artifact.`}`;
  document.body.prepend(shown);
}

// React reports here too what no error boundary caught.
addEventListener("error", ({ error, message, lineno }) =>
  fail(error ?? message, running ? lineno : undefined),
);
addEventListener("unhandledrejection", ({ reason }) => fail(reason));

const source = document.getElementById("source")?.textContent;
run(JSON.parse(source ?? '""'));
