import { expect, test } from "vitest";
import { hostNamesOf } from "../../../scripts/dev/local-addresses.ts";
import { servingSettings } from "../../../src/skill/serving-settings.ts";

test.each([
  ["a name", "My-Host.local", ["my-host.local"]],
  ["an IPv6 address", "FD00::1", ["[fd00::1]"]],
  ["an IPv6 address with a zone", "fe80::1%eth0", ["[fe80::1]"]],
  ["loopback", "127.0.0.1", []],
])("hull dev at %s tells the Worker names that it accepts", (_, host, names) => {
  expect(hostNamesOf(host)).toEqual(names);
  expect(servingSettings().allowed_hosts.parse(names)).toEqual(names);
});

test("hull dev at all addresses tells the Worker names that it accepts", () => {
  const names = hostNamesOf("0.0.0.0");
  expect(servingSettings().allowed_hosts.parse(names)).toEqual(names);
});
