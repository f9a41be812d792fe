import { ALL_OFF } from "../../src/model/capabilities.ts";
import type { WireTarget } from "../../src/model/wire.ts";

/** A model for tests of what is sent and read. */
export const TARGET: WireTarget = {
  provider: "google",
  model: "m",
  token_field: "max_tokens",
  json_mode: true,
  reasoning_echo: false,
  capabilities: ALL_OFF,
};
