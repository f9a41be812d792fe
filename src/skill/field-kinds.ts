/**
 * The kinds of fields in a skill's files. Fields are declared as data, once: their reader (`fields.ts`), the shape and
 * the type of what Hull stores, the tables of docs/ and the JSON Schemas for editors follow from it.
 */
import * as z from "zod/mini";

type Json = z.core.util.JSONType;

/** The longest time of a timer, in ms. */
export const MAX_MS = 2147483647;

/**
 * - `texts`: a list, or one text that is split; `command`: a text, or a list of words; `list`: texts, `of` says of what
 * - `values`: a list of any JSON; `any`: any JSON, or what a reader of its own makes a value of `shape` from
 * - `map`: a mapping of names to values of the kind `of`, absent: to any; `object`: a mapping with fields of its own;
 *   `objects`: a list of such mappings
 */
export type Field = (
  | { kind: "text" | "texts" | "command" | "number" | "flag" | "values" }
  | { kind: "any"; shape?: () => z.ZodMiniType }
  | { kind: "list"; of?: string }
  | { kind: "map"; of?: Field }
  | { kind: "integer"; min: number; max: number }
  | { kind: "choice"; of: readonly string[]; anyCase?: true }
  | { kind: "object" | "objects"; fields: Fields }
) & {
  /** Without a valid value of it, its mapping has no meaning. */
  required?: true;
  /** What an absent field means. */
  default?: Json | readonly [];
  /** Its name in the record, if it is another. */
  stored?: string;
};

export type Fields = { readonly [name: string]: Field };

interface PlainValues {
  text: string;
  texts: string[];
  command: string[];
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

type Shapes<T> = {
  [Name in keyof T as T[Name] extends { stored: infer Stored extends string }
    ? Stored
    : Name]: T[Name] extends { required: true } | { default: unknown }
    ? z.ZodMiniType<Value<T[Name]>>
    : z.ZodMiniExactOptional<z.ZodMiniType<Value<T[Name]>>>;
};
/** The values of the fields of a mapping, by their names in the record. */
export type Values<T> = z.output<z.ZodMiniObject<Shapes<T>>>;

/** The shapes of the stored values. A field that is neither required nor has a default may be absent. */
export function shapesOf<T extends Fields>(fields: T): Shapes<T>;
export function shapesOf(fields: Fields): { [name: string]: z.ZodMiniType } {
  const shapes = Object.entries(fields).map(([name, field]): [string, z.ZodMiniType] => {
    const { required, default: otherwise, stored = name } = field;
    const shape = shapeOf(field);
    return [stored, required === undefined && otherwise === undefined ? z.exactOptional(shape) : shape];
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
      return z.int().check(z.gte(field.min));
    case "flag":
      return z.boolean();
    case "choice":
      return z.enum(field.of);
    case "list":
    case "texts":
      return z.array(z.string());
    case "command":
      return z.array(z.string()).check(z.minLength(1));
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
