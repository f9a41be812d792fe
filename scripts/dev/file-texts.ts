/** Gives esbuild the texts of files that a module imports as `./<file>?raw`. */
import { readFile } from "node:fs/promises";
import { type Loader, type Plugin, transform } from "esbuild";

/** The text of a script or a style sheet, minified, since a Worker sends it to a browser or an isolate. */
export const fileTexts: Plugin = {
  name: "file-texts",
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.(?:m?js|css)$/ }, async ({ path, suffix }) => {
      if (suffix !== "?raw") return null;
      const loader: Loader = path.endsWith(".css") ? "css" : "js";
      const { code } = await transform(await readFile(path, "utf8"), {
        loader,
        minify: true,
        target: "es2024",
      });
      return { contents: code, loader: "text" };
    });
  },
};
