/** fast-check with the same cases in every run. */
import * as fc from "fast-check";

/**
 * What a run of the tests finds must not depend on chance. Other cases are looked for on purpose, with another seed:
 * `HULL_SEED=$RANDOM npx vitest run test/unit/fuzz`. A case that fails is fixed, or becomes an example of its own.
 */
fc.configureGlobal({ seed: Number(process.env.HULL_SEED ?? 1) });

export { fc };
