/** fast-check with the same cases in every run. */
import * as fc from "fast-check";

/**
 * The result of a test run must not depend on chance. To search for other cases on purpose, use another seed:
 * `HULL_SEED=$RANDOM npx vitest run test/unit/fuzz`. Fix a case that fails, or make it an example.
 */
fc.configureGlobal({ seed: Number(process.env.HULL_SEED ?? 1) });

export { fc };
