import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copySwaggerUi } from "../../../scripts/copy-swagger-ui.ts";
import { folder } from "./folder.ts";

test("the reader of GET /docs is copied with its licence, and sends nothing to other hosts", async () => {
  const assets = folder({ "docs/start.js": "SwaggerUIBundle({});" });
  expect(await copySwaggerUi(assets)).toBe(true);
  const placed = readdirSync(join(assets, "docs"));
  expect(placed).toEqual(
    expect.arrayContaining(["start.js", "swagger-ui-bundle.js", "swagger-ui.css", "swagger-ui.LICENSE.txt"]),
  );
  const style = readFileSync(join(assets, "docs/swagger-ui.css"), "utf8");
  expect(style).not.toMatch(/@import|url\((?!["']?data:)/);
});
