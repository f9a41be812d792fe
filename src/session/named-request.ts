/**
 * What identifies a repeated request: a name, and the SHA-256 (hex) of its content. It gets the first request's answer.
 */
export interface NamedRequest {
  name: string;
  hash: string;
}

/** Name and content of a request in one text, for what no request of another content may touch. */
export const nameAndContent = ({ name, hash }: NamedRequest): string => `${name}:${hash}`;
