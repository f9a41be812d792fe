/** An isolate's counters, in Prometheus' text format 0.0.4. */

/** Upper bounds in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

type Labels = { [name: string]: string | number };

/** Values by their labels. */
class Counter {
  readonly #name: string;
  readonly #help: string;
  readonly #values = new Map<string, { labels: Labels; value: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  add(labels: Labels, amount = 1): void {
    const key = keyOf(labels);
    const known = this.#values.get(key);
    if (known !== undefined) known.value += amount;
    else this.#values.set(key, { labels, value: amount });
  }

  render(): string[] {
    const rows = Array.from(
      this.#values.values(),
      ({ labels, value }) => `${this.#name}${labelText(labels)} ${value}`,
    );
    return [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} counter`, ...rows];
  }
}

/** Durations by their labels. */
class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #series = new Map<string, { labels: Labels; counts: number[]; sum: number; count: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  observe(labels: Labels, seconds: number): void {
    const key = keyOf(labels);
    const series = this.#series.get(key) ?? { labels, counts: BUCKETS.map(() => 0), sum: 0, count: 0 };
    this.#series.set(key, series);
    const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
    if (bucket !== -1) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
    series.count += 1;
  }

  render(): string[] {
    const rows = Array.from(this.#series.values(), ({ labels, counts, sum, count }) => {
      let total = 0;
      const buckets = BUCKETS.map((le, i) => {
        total += counts[i] ?? 0;
        return `${this.#name}_bucket${labelText({ ...labels, le })} ${total}`;
      });
      return [
        ...buckets,
        `${this.#name}_bucket${labelText({ ...labels, le: "+Inf" })} ${count}`,
        `${this.#name}_sum${labelText(labels)} ${sum}`,
        `${this.#name}_count${labelText(labels)} ${count}`,
      ];
    });
    return [`# HELP ${this.#name} ${this.#help}`, `# TYPE ${this.#name} histogram`, ...rows.flat()];
  }
}

/** Equal labels give equal keys. Cheaper than JSON, since every model and tool call makes one. */
function keyOf(labels: Labels): string {
  let key = "";
  for (const name in labels) key += `${labels[name]}\n`;
  return key;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(String(value))}"`);
  return `{${pairs.join(",")}}`;
}

function escapeValue(text: string): string {
  return text.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`));
}

/** The most skills that are counted by name. Further ones are counted together. */
const MAX_SKILLS = 200;
export const OTHER = "other";

/** The counters of an isolate. */
export class Metrics {
  readonly requests = new Counter("hull_requests_total", "Answered requests.");
  readonly durations = new Histogram("hull_request_duration_seconds", "Time until the answer was complete.");
  readonly runs = new Counter("hull_runs_total", "Runs of skills.");
  readonly problems = new Counter("hull_problems_total", "Failed requests and runs by error code.");
  readonly #modelCalls = new Counter("hull_model_calls_total", "Model calls, retries not counted apart.");
  readonly #modelDurations = new Histogram(
    "hull_model_call_duration_seconds",
    "Time of a model call, retries included.",
  );
  readonly #tokens = new Counter("hull_tokens_total", "Tokens of answers, empty ones included.");
  readonly #toolCalls = new Counter("hull_tool_calls_total", "Tool calls by outcome.");
  readonly #skills = new Set<string>();

  /** @param outcome `ok`, or the code of the error or of the warning that the answer is not whole */
  countModelCall(provider: string, outcome: string, ms: number): void {
    this.#modelCalls.add({ provider, outcome });
    this.#modelDurations.observe({ provider }, ms / 1000);
  }

  countTokens(provider: string, usage: { input_tokens: number; output_tokens: number }): void {
    this.#tokens.add({ provider, direction: "input" }, usage.input_tokens);
    this.#tokens.add({ provider, direction: "output" }, usage.output_tokens);
  }

  /** @param outcome `ok` or the tool error's code */
  countToolCall(outcome: string): void {
    this.#toolCalls.add({ outcome });
  }

  /** The name under which a skill's runs are counted. */
  shownName(skill: string): string {
    if (this.#skills.size < MAX_SKILLS) this.#skills.add(skill);
    return this.#skills.has(skill) ? skill : OTHER;
  }

  render(): string {
    const run = [this.#modelCalls, this.#modelDurations, this.#tokens, this.#toolCalls];
    const all = [this.requests, this.durations, this.runs, this.problems, ...run];
    return `${all.flatMap((metric) => metric.render()).join("\n")}\n`;
  }
}
