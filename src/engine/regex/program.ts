/**
 * Compiles an expression's tree into instructions for a machine that follows all ways together (Thompson 1968, Pike).
 */
import { type CharSet, complement, HIGH, isWide, LOW, union } from "./char-set.ts";
import { type Assertion, type Node, Refusal } from "./parse.ts";

type Instruction =
  | { op: "unit"; set: CharSet; next: number }
  | { op: "assert"; what: Assertion; next: number }
  /** Both ways, the first preferred. */
  | { op: "split"; first: number; second: number }
  | { op: "match" };

export interface Program {
  instructions: readonly Instruction[];
  start: number;
}

/** Counted repetitions are expanded, so their product is bounded. */
const MAX_INSTRUCTIONS = 5000;
/** Steps of the compiler: repetitions of nothing make no instructions, but cost time. */
const MAX_STEPS = 20_000;

/** @throws Refusal if the expression becomes too large */
export function compileProgram(tree: Node): Program {
  const compiler = new Compiler();
  const end = compiler.add({ op: "match" });
  const start = compiler.compile(tree, end);
  return { instructions: compiler.instructions, start };
}

class Compiler {
  readonly instructions: Instruction[] = [];
  #steps = 0;

  add(instruction: Instruction): number {
    if (this.instructions.length >= MAX_INSTRUCTIONS) throw tooLarge();
    return this.instructions.push(instruction) - 1;
  }

  /** Instructions that match `node` and continue at `next`; returns the index of the first. */
  compile(node: Node, next: number): number {
    if (++this.#steps > MAX_STEPS) throw tooLarge();
    switch (node.kind) {
      case "unit":
        return this.#character(node.set, next);
      case "assert":
        return this.add({ op: "assert", what: node.what, next });
      case "sequence":
        return node.parts.reduceRight((after, part) => this.compile(part, after), next);
      case "choice":
        return node.options
          .map((option) => this.compile(option, next))
          .reduceRight((second, first) => this.add({ op: "split", first, second }));
      case "repeat":
        return this.#repeat(node, next);
    }
  }

  /** One character of a set: of a set with all surrogates it may be a pair, never half of one. */
  #character(set: CharSet, next: number): number {
    if (!isWide(set)) return this.add({ op: "unit", set, next });
    const low = this.add({ op: "unit", set: LOW, next });
    const second = this.add({ op: "unit", set: HIGH, next: low });
    const first = this.add({ op: "unit", set: complement(union([complement(set), HIGH, LOW])), next });
    return this.add({ op: "split", first, second });
  }

  #repeat(node: Node & { kind: "repeat" }, next: number): number {
    const { part, min, max, greedy } = node;
    const split = (enter: number, leave: number): Instruction =>
      greedy ? { op: "split", first: enter, second: leave } : { op: "split", first: leave, second: enter };
    let after = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.add({ op: "match" });
      this.instructions[loop] = split(this.compile(part, loop), next);
      after = loop;
    } else {
      for (let i = min; i < max; i++) after = this.add(split(this.compile(part, after), next));
    }
    for (let i = 0; i < min; i++) after = this.compile(part, after);
    return after;
  }
}

const tooLarge = (): Refusal => new Refusal("its repetitions make it too large");
