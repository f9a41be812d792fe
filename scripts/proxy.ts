/**
 * Networks whose only way out is a proxy. The variables that curl, npm and wrangler read hold for Hull, too. Node itself
 * reads them only after a switch, and would then ask the proxy for this machine's own servers as well.
 */
const NAMES = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];
const THIS_MACHINE = ["localhost", "127.0.0.1", "::1", "[::1]"];

/**
 * Sends the requests of this process through the proxy that its environment names, except those to this machine, whose
 * names it adds to `NO_PROXY`; the environment is also that of the processes which this one starts. Returns whether there
 * is such a proxy, of http or https.
 */
export function useProxy(environment: NodeJS.ProcessEnv): boolean {
  for (const name of NAMES) {
    const given = environment[name] ?? "";
    // curl takes an address without a scheme, Node does not.
    if (given !== "" && !given.includes("://")) environment[name] = `http://${given}`;
  }
  const named = NAMES.filter((name) => /^https?:/i.test(environment[name] ?? ""));
  if (!named.every((name) => URL.canParse(environment[name] ?? "")) || named.length === 0) return false;
  const direct = [environment.no_proxy || environment.NO_PROXY || [], THIS_MACHINE].flat().join(",");
  environment.no_proxy = direct;
  environment.NO_PROXY = direct;
  // Node 24 has it since 24.14. Loaded here, since an import of `node:http` also loads its WebSocket, in each command.
  process.getBuiltinModule("node:http").setGlobalProxyFromEnv?.(environment);
  return true;
}
