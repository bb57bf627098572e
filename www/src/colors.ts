// The colours of the style sheet, for painting by pixels.

/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The present value of the page's custom property `name`, a hexadecimal colour. */
export function readColor(name: string): Rgb {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
}

/** Calls `repaint` whenever the colours change. */
export function onColorChange(repaint: () => void): void {
  dark.addEventListener("change", repaint);
}
