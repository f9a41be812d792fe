/** Gives esbuild the texts of files that a module imports as `./<file>?raw`. */
import { readFile } from "node:fs/promises";
import type { Loader, Plugin } from "esbuild";

/** A script or a style sheet is minified, since a Worker sends it to a browser or an isolate. */
export const fileTexts: Plugin = {
  name: "file-texts",
  setup({ onLoad, esbuild }) {
    onLoad(
      { filter: /\/src\/.*\.(?:m?js|css)$|\/src\/.*\.txt$|\/migrations\/.*\.sql$/ },
      async ({ path, suffix }) => {
        if (suffix !== "?raw") return null;
        const text = await readFile(path, "utf8");
        if (/\.(?:sql|txt)$/.test(path)) return { contents: text, loader: "text" };
        const loader: Loader = path.endsWith(".css") ? "css" : "js";
        const { code } = await esbuild.transform(text, {
          loader,
          minify: true,
          target: "es2024",
        });
        return { contents: code, loader: "text" };
      },
    );
  },
};
