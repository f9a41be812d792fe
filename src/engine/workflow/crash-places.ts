/**
 * The last thing that a process stores before it dies. `begun`: the journal has the attempt, nothing else has happened.
 * `called`: its run has begun in its session, or the runner has its command. `answered`: its work has ended, which the
 * journal does not contain yet. `settled`: the journal has its outcome, and nothing that follows has begun.
 */
export const CRASH_PLACES = ["begun", "called", "answered", "settled"] as const;
