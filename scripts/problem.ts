/** The refusals of a Hull as commands report them: message, hint and exit code (docs/cli.md). */
import { CommandError, EXIT, type ExitCode } from "./command.ts";

/** One of the `errors` of a problem document. */
interface ProblemFinding {
  path?: string;
  pointer?: string;
  message: string;
}

/** The text of a problem document, with those of its findings that its detail does not name. */
export function withFindings(detail: string, errors: readonly ProblemFinding[] = []): string {
  const more = errors.flatMap(({ path = "", pointer = path, message }) => {
    const text = pointer === "" ? message : `${pointer}: ${message}`;
    const alone = errors.filter((other) => other.message === message).length === 1;
    return detail.includes(alone ? message : text) ? [] : [text];
  });
  const first = more.length === 0 || /[.!?]$/.test(detail) ? detail : `${detail}.`;
  return [first, ...more.map((text) => `${text}.`)].join(" ");
}

interface Problem {
  code: string;
  detail: string;
  /** Of a failed script. */
  stderr?: string;
  errors?: ProblemFinding[];
  /** The scope that the key lacks. */
  scope?: string;
  retry_after_s?: number;
  request_id?: string;
}

/** A problem document; any other text is its own detail. */
export function problemOf(text: string): Problem {
  const unknown = { code: "unknown", detail: text };
  try {
    return { ...unknown, ...JSON.parse(text) };
  } catch {
    return unknown;
  }
}

/** The failure of a command that a Hull refused. @param path of the request; absent: a call of a skill */
export function refusal(status: number, text: string, path = ""): CommandError {
  const problem = problemOf(text);
  const { code, errors } = problem;
  const detail = withFindings(problem.detail, errors);
  return new CommandError(exitOf(status), code, `${detail} [${code}]`, hintOf(status, problem, path), detail);
}

/** The commands that list what a path may name. */
const LISTS: [begin: string, command: string][] = [
  ["/sessions/", "hull sessions ls"],
  ["/daemons/", "hull daemons ls"],
  ["/tasks/", "hull tasks ls"],
  ["/workflows/runs/", "hull workflow ls"],
  ["/admin/keys/", "hull keys list"],
  ["/admin/mcp/", "hull mcp list"],
];

/** What to do next, in words of the command line; `undefined`: the detail says it. */
function hintOf(status: number, { code, scope, retry_after_s, request_id }: Problem, path: string) {
  if (status === 401) return "Pass a key: --key KEY, or: export HULL_API_KEY=…";
  if (code === "forbidden")
    return `Pass another key as --key. The operator makes one with: hull keys add --scopes ${scope}`;
  if (retry_after_s !== undefined) return `Try again in ${Math.ceil(retry_after_s)} s.`;
  if (status === 500) return `The log of the Hull says more about the request ${request_id}.`;
  const [, list] = LISTS.find(([begin]) => path.startsWith(begin)) ?? [];
  return status === 404 && list !== undefined ? `${list} shows what there is.` : undefined;
}

function exitOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.unauthorised;
  if (status === 404) return EXIT.missing;
  if (status === 504) return EXIT.timed_out;
  return status === 422 || status === 400 ? EXIT.usage : EXIT.failed;
}
