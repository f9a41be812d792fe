/** What commands say of a server that they cannot reach, or whose certificate nobody vouches for. */
import { once } from "node:events";
import { createServer } from "node:https";
import { expect, onTestFinished, test } from "vitest";
import { hullHere } from "../../support/hull-here.ts";

/** Of this test alone, and until the year 2126. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggexE4tjTFnHBt2As
VUl0v8ySVFdT8f59Z7IYOd9ox+KhRANCAARoWaTosjPA1EiovjOGuds9roTFB0f2
/tIkCuBlJUQ63/RuZH08kBVWTdd9PTt2yG7NoWkD5LHGHC+giLQ7uJfW
-----END PRIVATE KEY-----
`;
const cert = `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUWleNfeXeDq4qVXWN8k+CoSZkkPkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyODIyMTc1OFoYDzIxMjYxMTA0
MjIxNzU4WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARoWaTosjPA1EiovjOGuds9roTFB0f2/tIkCuBlJUQ63/RuZH08kBVW
Tdd9PTt2yG7NoWkD5LHGHC+giLQ7uJfWo2QwYjAdBgNVHQ4EFgQUAtDgJGcLUxuO
4dPn0u32tSiG6oAwHwYDVR0jBBgwFoAUAtDgJGcLUxuO4dPn0u32tSiG6oAwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQDqZIZ8j1VJ8xXrVQjCHLtZEd3pu/m0Ye1iLSxnWjX2+wIhAJ7x6wSc8yBxUKVm
DNJUzcftG1deVZbDuyxJpuX6ZD9M
-----END CERTIFICATE-----
`;

test("a certificate of an unknown authority, and an address elsewhere, have hints of their own", async () => {
  const server = createServer({ key, cert }, (_, response) => response.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const said = async (url: string) => (await hullHere(["keys", "list", "--url", url])).err;
  expect(await said(`https://127.0.0.1:${port}`)).toMatch(
    /no authority .* signed .*\n .*NODE_EXTRA_CA_CERTS/,
  );
  expect(await said("http://hull.invalid")).toMatch(/cannot be reached: .*\n .*HTTPS_PROXY/);
  expect(await said("http://127.0.0.1:1")).toMatch(/nothing listens there\.\n .*hull dev/);
});
