/** A server that connections never reach: its queue of connections is full, and nobody accepts them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll } from "vitest";

// Node accepts connections by itself.
const PROGRAM = `
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(0)
queued = [socket.socket() for _ in range(2)]
for connection in queued:
    connection.setblocking(False)
    connection.connect_ex(server.getsockname())
print(server.getsockname()[1], flush=True)
sys.stdin.read()
`;

/** Its port. It ends after the file's last test. */
export async function deafPort(): Promise<number> {
  const server = spawn("python3", ["-c", PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
  afterAll(async () => {
    server.stdin.end();
    await once(server, "exit");
  });
  const [printed] = await once(server.stdout, "data");
  return Number(printed);
}
