import type { Context } from "../context.js";

export function start(_root: HTMLElement, _context: Context): void {}
