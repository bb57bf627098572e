// Turns on the page's only thread: between two of them it responds, lays out and paints.

/** Resolves in a task of its own. */
export function yieldToMain(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Resolves when the page has all its markup: a script that the parser does not wait for may run before. */
export async function domReady(): Promise<void> {
  if (document.readyState !== "loading") return;
  await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
}

/** Resolves when the present content is painted, or at once on a hidden page, which has no frames. */
export function afterPaint(): Promise<void> {
  return document.hidden ? yieldToMain() : new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Has `work` done soon, and at least so many milliseconds after the last time: once for all calls until then. */
export function spaced(milliseconds: number, work: () => void): () => void {
  let last = -Infinity;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  return () => {
    waiting ??= setTimeout(() => {
      waiting = undefined;
      last = performance.now();
      work();
    }, Math.max(0, last + milliseconds - performance.now()));
  };
}

const drawings: (() => void)[] = [];

/** Calls `draw` in a frame that no other drawing shares: once, however often it is asked for until then. */
export function inOwnFrame(draw: () => void): void {
  if (drawings.includes(draw)) return;
  if (drawings.push(draw) === 1) requestAnimationFrame(drawNext);
}

function drawNext(): void {
  const draw = drawings[0]!;
  // Before it draws, so that a failed drawing stops no other.
  if (drawings.length > 1) requestAnimationFrame(drawNext);
  drawings.shift();
  draw();
}
