// Sections that are out of view leave the first seconds to those in view.

const MAX_WAIT_MS = 3000;
/** Sections that nobody comes near start one after another. */
const STAGGER_MS = 500;
let waiting = 0;

/** Resolves when the element is in view or close to it, and otherwise after a few seconds, in its turn. */
export function nearViewport(root: HTMLElement): Promise<void> {
  return new Promise((resolve) => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) done();
      },
      { rootMargin: "50%" },
    );
    const timer = setTimeout(done, MAX_WAIT_MS + STAGGER_MS * waiting);
    waiting += 1;
    observer.observe(root);
    function done(): void {
      clearTimeout(timer);
      observer.disconnect();
      resolve();
    }
  });
}
