// Files for the visitor to keep.

import { make } from "./dom.js";

export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
