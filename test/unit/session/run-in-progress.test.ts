/** What the error advises a caller while another request changes the conversation. */
import { expect, test } from "vitest";
import { RunInProgress } from "../../../src/errors/session.ts";

test.each([
  ["run_1", "Wait for it, send it a message, or cancel it.", { run_id: "run_1" }],
  [null, "is being compacted or changed. Send the request again in a moment.", {}],
])("the run is %s", (run, remedy, members) => {
  const { data } = new RunInProgress({ session: "s", run });
  expect(data.detail).toContain(remedy);
  expect(data.members).toEqual(members);
});
