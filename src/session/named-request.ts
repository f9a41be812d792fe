/**
 * Identifies a repeated request by a name and the SHA-256 (hex) of its content. The repetition gets the first request's
 * answer.
 */
export interface NamedRequest {
  name: string;
  hash: string;
}

/** The input of an operation that has a name. */
export interface Named {
  request: NamedRequest;
}

/** Name and content of a request as one text, for state that only requests with the same content may touch. */
export const nameAndContent = ({ name, hash }: NamedRequest): string => `${name}:${hash}`;

/** The name in such a text. */
export const nameIn = (made: string): string => made.replace(/:.*$/, "");

/** Whether the request of such a text has a key, so that its client can repeat it. */
export const isKeyed = (made: string): boolean => /:./.test(made);
