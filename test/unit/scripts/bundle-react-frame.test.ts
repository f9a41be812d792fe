import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleReactFrame } from "../../../scripts/bundle-react-frame.ts";
import { folder } from "./folder.ts";

test("the script that renders React artifacts is copied with its licences, and stays a script inside a page", async () => {
  const assets = folder({});
  expect(await bundleReactFrame(assets)).toBe(true);
  const script = readFileSync(join(assets, "console/react-frame.js"), "utf8");
  expect(script.search(/<\/script|<!--/i)).toBe(-1);
  const licences = readFileSync(join(assets, "console/react-frame.js.LICENSE.txt"), "utf8");
  for (const name of ["react", "react-dom", "scheduler", "sucrase", "ts-interface-checker"]) {
    expect(licences).toMatch(new RegExp(`^${name}\n\n.*(?:MIT|Apache) License`, "m"));
  }
});
