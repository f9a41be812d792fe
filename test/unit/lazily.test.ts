import { expect, test } from "vitest";
import { lazily } from "../../src/lazily.ts";

test("the module is loaded with the first call; later calls are direct", async () => {
  let loads = 0;
  const double = lazily(async () => {
    loads += 1;
    return (value: number) => value * 2;
  });
  expect(loads).toBe(0);
  expect(await double(1)).toBe(2);
  expect([double(2), double(3), loads]).toEqual([4, 6, 1]);
});

test("until it is there, each caller waits for its own import", async () => {
  const imports: (() => void)[] = [];
  const named = lazily(
    () => new Promise<(name: string) => string>((resolve) => imports.push(() => resolve((name) => name))),
  );
  const answers = [named("a"), named("b")];
  expect(imports).toHaveLength(2);
  imports[1]?.();
  expect(await answers[1]).toBe("b");
  imports[0]?.();
  expect(await answers[0]).toBe("a");
});

test("an import that fails fails its caller alone", async () => {
  let fails = true;
  const call = lazily(async () => {
    if (fails) throw new TypeError("not there");
    return () => "there";
  });
  await expect(Promise.resolve(call())).rejects.toThrow("not there");
  fails = false;
  expect(await call()).toBe("there");
});
