/**
 * What makes two requests one: a name, and SHA-256 (hex) of what they hold. A request that comes again is answered as the
 * first one was.
 */
export interface NamedRequest {
  name: string;
  hash: string;
}
