// Sections that are not looked at yet leave the first seconds to those that are.

const PATIENCE_MS = 3000;

/** Resolves when the element is in view or close to it, and otherwise after a few seconds. */
export function near(root: HTMLElement): Promise<void> {
  return new Promise((resolve) => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) done();
      },
      { rootMargin: "50%" },
    );
    const timer = setTimeout(done, PATIENCE_MS);
    observer.observe(root);
    function done(): void {
      clearTimeout(timer);
      observer.disconnect();
      resolve();
    }
  });
}
