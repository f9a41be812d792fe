/** A proxy of TCP connections that breaks them, as networks do. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  url: string;
  /** Connections so far. */
  connections(): number;
  /**
   * From now on: after how many bytes of its answer each new connection is cut, in order. Later connections are not cut.
   */
  cut(...after: number[]): void;
  close(): Promise<void>;
}

/** @param url of the server behind it */
export async function startCuttingProxy(url: string): Promise<CuttingProxy> {
  const { hostname: host, port } = new URL(url);
  const open = new Set<Socket>();
  let plan: number[] = [];
  let count = 0;
  const server = createServer((client) => {
    count += 1;
    let left = plan.shift() ?? Number.POSITIVE_INFINITY;
    const upstream = connect({ host, port: Number(port) });
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", end).on("close", () => {
        open.delete(socket);
        end();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      const part = chunk.subarray(0, left);
      left -= part.length;
      client.write(part, () => left > 0 || end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    connections: () => count,
    cut: (...after) => {
      plan = after;
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
