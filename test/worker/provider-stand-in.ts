/** A stand-in for every provider of a model, which keeps the bodies that it gets. */
import { afterEach, beforeEach, vi } from "vitest";
import { anthropicAnswer, openAiAnswer } from "../support/fake-answers.ts";
import { responsesAnswer } from "../support/fake-responses.ts";
import type { FakeRequest, FakeTurn } from "../support/fake-turn.ts";

/** Where a host listens whose requests the stand-in answers, too. */
export const HOST = "https://host.example/";
/** A number that no double can hold; the stand-in puts it in the place of the text `LONG`, and 1e400 in that of `HUGE`. */
export const LONG = "12345678901234567890";

interface StandIn {
  bodies: FakeRequest["body"][];
  /** The same as texts. */
  texts: string[];
  /** Its next answers; `Done.` once there are none. */
  turns: FakeTurn[];
  /** Texts of the requests that the host got. */
  asked: string[];
  /** What the host answers. */
  decided: unknown;
}

/** Takes the place of `fetch` in each test of the file. */
export function providerStandIn(): StandIn {
  const fresh = (): StandIn => ({ bodies: [], texts: [], turns: [], asked: [], decided: "booked" });
  const state = fresh();
  beforeEach(() => {
    Object.assign(state, fresh());
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = new Request(input, init);
      const got = await request.text();
      if (request.url.startsWith(HOST)) {
        state.asked.push(got);
        return Response.json(state.decided);
      }
      state.texts.push(got);
      const body: FakeRequest["body"] = JSON.parse(got);
      state.bodies.push(body);
      const sent = { path: "/", headers: {}, body, text: "", at: 0, left: Promise.resolve(false) };
      const { pathname } = new URL(request.url);
      const answer = pathname.endsWith("/messages")
        ? anthropicAnswer
        : pathname.endsWith("/responses")
          ? responsesAnswer
          : openAiAnswer;
      const { whole } = answer(state.turns.shift() ?? { text: "Done." }, sent);
      // The digits of a call's arguments would be lost in an object.
      const text = JSON.stringify(whole).replaceAll('"LONG"', LONG).replaceAll('"HUGE"', "1e400");
      return new Response(text, { headers: { "content-type": "application/json" } });
    });
  });
  afterEach(() => vi.unstubAllGlobals());
  return state;
}
