/** SHA-256, synchronous: the engine is pure, and the platform's own is asynchronous. */
import { sha256 as digest } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** In hex, of the text's UTF-8 bytes. */
export const sha256 = (text: string): string => bytesToHex(digest(utf8ToBytes(text)));
