// Work that follows a hand on a control: one thing at a time, and of what is asked meanwhile only the last.

/** A function that does `work` with its argument, at once or as soon as the work under way is done. */
export function latest<T>(work: (input: T) => Promise<void>): (input: T) => void {
  let busy = false;
  let next: { readonly input: T } | undefined;

  async function run(): Promise<void> {
    busy = true;
    while (next) {
      const { input } = next;
      next = undefined;
      await work(input);
    }
    busy = false;
  }

  return (input) => {
    next = { input };
    if (!busy) void run();
  };
}
