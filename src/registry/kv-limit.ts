/** Larger objects, in bytes, are kept in R2 under the same key; a KV value is limited to 25 MiB. */
export const MAX_KV_BYTES = 24 * 1024 * 1024;
