/**
 * The kinds of fields in a skill's files. Fields are declared as data, once: their reader (`fields.ts`), the shape and
 * the type of what Hull stores, the tables of docs/ and the JSON Schemas for editors follow from it.
 */
import * as z from "zod/mini";

type Json = z.core.util.JSONType;

/** The longest time of a timer, in ms. */
export const MAX_MS = 2147483647;

/** The longest time from now to a date that is stored, in ms: a century. */
export const MAX_AHEAD_MS = 100 * 366 * 24 * 3_600_000;

/**
 * - `list`: texts, `of` says of what; `orText`: also one text that is split
 * - `values`: a list of any JSON; `any` is JSON of every form, or what a reader of its own makes a value of `shape` from
 * - `map`: a mapping of names to values of the kind `of`, absent: to any; `object`: a mapping with fields of its own;
 *   `objects`: a list of such mappings
 */
export type Field = (
  | { kind: "text" | "number" | "flag" | "values" }
  | { kind: "any"; shape?: () => z.ZodMiniType }
  | { kind: "list"; of?: string; orText?: true }
  | { kind: "map"; of?: Field }
  | { kind: "integer"; min: number; max: number }
  | { kind: "choice"; of: readonly string[]; anyCase?: true }
  | { kind: "object" | "objects"; fields: Fields }
) & {
  /** Without a valid value of it, its mapping has no meaning. */
  required?: true;
  /** What an absent field means. */
  default?: Json | readonly [];
  /** Hull stores only a value other than the default. */
  sparse?: true;
  /** Its name in the record, if it is another. */
  stored?: string;
};

export type Fields = { readonly [name: string]: Field };

interface PlainValues {
  text: string;
  list: string[];
  number: number;
  integer: number;
  flag: boolean;
  values: Json[];
}

/** The value of a field, as Hull stores it. */
export type Value<F> = F extends { kind: keyof PlainValues }
  ? PlainValues[F["kind"]]
  : F extends { kind: "choice"; of: readonly (infer Word)[] }
    ? Word
    : F extends { kind: "object"; fields: infer Members }
      ? Values<Members>
      : F extends { kind: "objects"; fields: infer Members }
        ? Values<Members>[]
        : F extends { kind: "map" }
          ? { [name: string]: F extends { of: infer Member } ? Value<Member> : Json }
          : F extends { shape: () => z.ZodMiniType<infer Made> }
            ? Made
            : Json;

/** Whether the record always has a value of the field. */
type Always<F> = F extends { sparse: true }
  ? false
  : F extends { required: true } | { default: unknown }
    ? true
    : false;
type Shape<F> =
  Always<F> extends true ? z.ZodMiniType<Value<F>> : z.ZodMiniExactOptional<z.ZodMiniType<Value<F>>>;
type Shapes<T> = {
  [Name in keyof T as T[Name] extends { stored: infer Stored extends string } ? Stored : Name]: Shape<
    T[Name]
  >;
};
/** The values of the fields of a mapping, by their names in the record. */
export type Values<T> = z.output<z.ZodMiniObject<Shapes<T>>>;

/** The shapes of the stored values. */
export function shapesOf<T extends Fields>(fields: T): Shapes<T>;
export function shapesOf(fields: Fields): { [name: string]: z.ZodMiniType } {
  const shapes = Object.entries(fields).map(([name, field]): [string, z.ZodMiniType] => {
    const { required, default: otherwise, sparse, stored = name } = field;
    const always = sparse === undefined && (required !== undefined || otherwise !== undefined);
    const shape = shapeOf(field);
    return [stored, always ? shape : z.exactOptional(shape)];
  });
  return Object.fromEntries(shapes);
}

function shapeOf(field: Field): z.ZodMiniType {
  switch (field.kind) {
    case "text":
      return z.string();
    case "number":
      return z.number();
    case "integer":
      // Only the reader knows the range: records of earlier versions may be outside of it.
      return z.int().check(z.gte(Math.min(1, field.min)));
    case "flag":
      return z.boolean();
    case "choice":
      return z.enum(field.of);
    case "list":
      return z.array(z.string());
    case "values":
      return z.array(z.custom());
    case "map":
      return z.record(z.string(), field.of === undefined ? z.custom() : shapeOf(field.of));
    case "object":
      return z.object(shapesOf(field.fields));
    case "objects":
      return z.array(z.object(shapesOf(field.fields)));
    case "any":
      return field.shape?.() ?? z.custom();
  }
}
