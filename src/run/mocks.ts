/** Mocks: answers to model calls that replace those of providers. */
import type { MockRpc, Settings } from "../env.ts";
import { BadRequest } from "../errors/request.ts";
import type { Intercept } from "../model/attempts.ts";
import { answering } from "../model/mock/answering.ts";
import type { Asker } from "../model/mock/default.ts";
import type { Mock, MockCall } from "../model/mock/mock.ts";
import { RunMocks, type TakeMock, type Taken } from "../model/mock/queue.ts";
import type { RunContext } from "./context.ts";

interface Mocking {
  /** Mocks answer every call, whatever its provider. Address such a call with `mockTarget`. */
  active: boolean;
  /** For the options of `callModel`. */
  intercept: Intercept;
  /** The calls made through it, in order. */
  calls: readonly MockCall[];
  /** The unused mocks that came with the call; `null`: the call had none. */
  left: () => readonly Mock[] | null;
}

/** Whether the deployment serves the routes that script mocks. */
export const hasMockRoutes = ({ models }: Settings): boolean =>
  models.some(({ llm }) => llm?.mock_routes === true);

/**
 * The mocks that apply: the deployment's, if it has any; otherwise those of the call; otherwise those queued in the
 * tenant's scope, if any were ever queued. Without mocks, only calls of the provider `mock` are answered here.
 * @param given mocks in the call (`options.mock`); `null`: none
 * @throws BadRequest for an invalid scope, Internal if the deployment's mocks cannot be read
 */
export async function mocksFor(
  context: RunContext,
  given: readonly Mock[] | null,
  asker: Asker,
): Promise<Mocking> {
  const { settings, deployment } = context;
  const calls: MockCall[] = [];
  const mocking = (active: boolean, take: TakeMock, left: Mocking["left"] = () => null): Mocking => {
    const intercept = answering((call, prompt) => {
      calls.push(call);
      return take(call, prompt);
    }, asker);
    return {
      active,
      intercept: active || hasMockRoutes(settings) ? intercept : ofMockOnly(intercept),
      calls,
      left,
    };
  };
  if ((await deployment.mocks.load()) !== null) return mocking(true, fromScope(context));
  if (given !== null) {
    const own = new RunMocks(given);
    return mocking(true, own.take, () => own.queue);
  }
  if (!hasMockRoutes(settings)) return mocking(false, remembering(context));
  return mocking(await mockScope(context).begun(), fromScope(context));
}

/** The object that holds the mocks of the context's scope. @throws BadRequest */
export function mockScope({ env, tenant, mockScope: scope }: RunContext): DurableObjectStub<MockRpc> {
  if (!/^[\x21-\x7e]{0,128}$/.test(scope)) {
    throw new BadRequest({ detail: "x-hull-mock-scope must be at most 128 printable ASCII characters." });
  }
  return env.MOCKS.get(env.MOCKS.idFromName(`${tenant}/${scope}`));
}

/** Takes mocks from the scope's object. A call that broke off is not repeated, since it may have used up a mock. */
function fromScope(context: RunContext): TakeMock {
  const scope = mockScope(context);
  return async (call, prompt): Promise<Taken> => JSON.parse(await scope.take(call, prompt));
}

/** Intercepts only calls of the provider `mock`. */
function ofMockOnly(intercept: Intercept): Intercept {
  return (request, target, attempt) =>
    target.protocol === "mock" ? intercept(request, target, attempt) : null;
}

/** Remembers which prompts the provider `mock` has seen, as far as this isolate knows. */
function remembering({ deployment: { mockPrompts }, tenant }: RunContext): TakeMock {
  return (_, prompt) => {
    const name = `${tenant}/${prompt}`;
    const seen = prompt !== null && mockPrompts.get(name) === true;
    if (prompt !== null) mockPrompts.set(name, true);
    return { mock: null, otherwise: "provider", seen };
  };
}
