// The bytes of a report, with the names of their parts (docs/reference/wire-format.md).

import { make } from "./dom.js";
import { counted, hex } from "./format.js";

interface Part {
  readonly name: string;
  readonly bytes: number;
  readonly says: string;
}

/** The parts before and after the payload. */
const BEFORE: readonly Part[] = [
  { name: "format", bytes: 5, says: "this is a report, version 1" },
  { name: "collection", bytes: 8, says: "which collection it is for" },
  { name: "id", bytes: 16, says: "new for every report, so that one sent twice counts once" },
];
const AFTER: Part = { name: "checksum", bytes: 4, says: "finds transmission errors" };
/** The most bytes of a payload that are shown: nobody looks at more. */
const SHOWN_PAYLOAD = 400;

/** Shows all of a report, part by part, and the key to the parts in `key`. */
export function showBytes(bytes: Uint8Array, shown: HTMLElement, key: HTMLElement): void {
  const fixed = BEFORE.reduce((sum, part) => sum + part.bytes, AFTER.bytes);
  const payload = { name: "payload", bytes: bytes.length - fixed, says: "the record, randomized" };
  const parts = [...BEFORE, payload, AFTER];
  let start = 0;
  const pieces: (Node | string)[] = [];
  const entries: Node[] = [];
  for (const part of parts) {
    const own = bytes.subarray(start, start + part.bytes);
    start += part.bytes;
    const className = `part ${part.name}`;
    if (pieces.length > 0) pieces.push(" ");
    pieces.push(make("span", { className }, shortened(own)));
    const words = `, ${counted(part.bytes, "byte")}: ${part.says}`;
    entries.push(make("li", {}, make("span", { className }, part.name), words));
  }
  shown.replaceChildren(...pieces);
  key.replaceChildren(...entries);
}

function shortened(bytes: Uint8Array): string {
  if (bytes.length <= SHOWN_PAYLOAD) return hex(bytes);
  return `${hex(bytes.subarray(0, SHOWN_PAYLOAD))} … and ${counted(bytes.length - SHOWN_PAYLOAD, "byte")} more`;
}
