// Colours, dashes and marks of charts: the page's own on the screen, the light ones in files.

import type { Style } from "./model.js";

export interface Theme {
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly surface: string;
  readonly styles: Readonly<Record<Style, string>>;
}

/** A file is for paper and slides, whatever the screen's colours are. */
export const PAPER: Theme = {
  text: "#1c2330",
  muted: "#586274",
  line: "#d5dae2",
  surface: "#ffffff",
  styles: {
    blue: "#1f5fa8",
    orange: "#c25a0a",
    purple: "#8a3f8f",
    green: "#1d6b45",
    grey: "#586274",
  },
};

/** The page's present colours. */
export function screenTheme(): Theme {
  // The root's, for which no section has to be laid out.
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: read("text"),
    muted: read("muted"),
    line: read("line"),
    surface: read("surface"),
    styles: {
      blue: read("blue"),
      orange: read("orange"),
      purple: read("purple"),
      green: read("green"),
      grey: read("grey"),
    },
  };
}

/** Dashes of the predicted curve. */
export const DASHES: Readonly<Record<Style, readonly number[]>> = {
  blue: [8, 4],
  orange: [3, 3],
  purple: [9, 3, 2, 3],
  green: [12, 3],
  grey: [2, 5],
};

export type Mark = "circle" | "square" | "triangle" | "inverted" | "diamond";

/** The mark of a measured median. */
export const MARKS: Readonly<Record<Style, Mark>> = {
  blue: "circle",
  orange: "square",
  purple: "triangle",
  green: "inverted",
  grey: "diamond",
};

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
