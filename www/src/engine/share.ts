// In a worker: components beside the true ones, and the share of the structure that they find
// (docs/guides/how-many-people.md).

import type { Recovery } from "ldp-pca/lab";

/** A component counts where it is so many times above what noise alone would give. */
export const ABOVE_EDGE = 1.25;

/** The components, each with its d loadings and with the sign that is nearer to that of the true one. */
export function columns({ components, dimension, rank }: Recovery, truth?: readonly (readonly number[])[]): number[][] {
  return Array.from({ length: rank }, (_, index) => {
    const loadings = Array.from({ length: dimension }, (_, feature) => components[feature * rank + index]!);
    // Which side is which has no meaning.
    const sign = (truth && Math.sign(inner(loadings, truth[index]!))) || 1;
    return loadings.map((loading) => sign * loading);
  });
}

/** The share of the structure of `secondMoment` that the components find, whose first ones are `truth`. */
export function shareFound(
  secondMoment: Float64Array,
  found: readonly (readonly number[])[],
  { dimension, eigenvalues, rank, totalVariance }: Recovery,
): number {
  const random = (rank / dimension) * totalVariance;
  const captured = found.reduce((sum, loadings) => sum + quadratic(secondMoment, loadings), 0);
  const possible = eigenvalues.reduce((sum, value) => sum + value, 0);
  return (captured - random) / (possible - random);
}

export function inner(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, at) => sum + value * right[at]!, 0);
}

function quadratic(matrix: Float64Array, vector: readonly number[]): number {
  const size = vector.length;
  const row = (from: number) => vector.reduce((sum, value, at) => sum + matrix[from * size + at]! * value, 0);
  return inner(vector, vector.map((_, index) => row(index)));
}
