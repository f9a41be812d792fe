/**
 * What identifies a repeated request: a name, and the SHA-256 (hex) of its content. It gets the first request's answer.
 */
export interface NamedRequest {
  name: string;
  hash: string;
}
