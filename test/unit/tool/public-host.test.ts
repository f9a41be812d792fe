/** Which hosts handlers may reach. */
import { describe, expect, it } from "vitest";
import { hostFault } from "../../../src/tool/public-host.ts";

const fault = (url: string, hosts: string[] | null = null) => hostFault(new URL(url), hosts);

describe("hosts of handlers", () => {
  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://0.0.0.0/",
    "http://169.254.169.254/",
    "http://100.64.0.1/",
    "http://198.19.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
    "http://[ff02::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:808:808::]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[::a00:1]/",
    "http://[::808:808]/",
    "http://[4000::1]/",
    "http://localhost/",
    "http://a.localhost./",
    "http://localhost../",
    "http://[64:ff9b:1::808:808]/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://home.arpa/",
    "http://router/",
    "http://LOCALHOST:8787/",
  ])("%s is private", (url) => {
    expect(fault(url)).toBe("is a private address");
    expect(fault(url, ["*", new URL(url).hostname])).toBe("is a private address");
  });

  it.each([
    "https://example.com/",
    "http://8.8.8.8/",
    "http://172.32.0.1/",
    "http://[2606:4700::1111]/",
    "http://[64:ff9b::808:808]/",
    "https://example.com./",
  ])("%s is public", (url) => {
    expect(fault(url)).toBeNull();
  });

  it.each([
    ["https://api.example.com/", ["api.example.com"], true],
    ["https://API.example.com:8443/", ["Api.Example.com"], true],
    ["https://a.b.example.com/", ["*.example.com"], true],
    ["https://example.com/", ["*.example.com"], false],
    ["https://notexample.com/", ["*.example.com", "example.com"], false],
    ["https://example.com.evil.org/", ["example.com"], false],
    ["https://example.com/", [], false],
    ["ftp://example.com/", ["example.com"], false],
  ])("%s of %j: %s", (url, hosts, allowed) => {
    expect(fault(url, hosts) === null).toBe(allowed);
  });
});
