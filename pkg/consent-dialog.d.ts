import type { ConsentStatement } from "./consent.js";

/**
 * `<ldp-pca-consent>`: a modal dialog that asks a visitor, in the words of `consent`. What stands within it, such as a
 * link to who collects, is shown below the sentences.
 *
 * Its looks are CSS variables: `--ldp-pca-background`, `-color`, `-font`, `-width`, `-padding`, `-radius`, `-backdrop`,
 * `-button-background` and `-button-color`. By default they are those of the page's colour scheme.
 */
export class ConsentDialog extends HTMLElement {
  /**
   * Shows the dialog. Resolves to whether the visitor agreed: Escape, a later question and removing the element
   * decline.
   *
   * @param statement - What `consent` gave. The element must be in a document.
   */
  ask(statement: ConsentStatement): Promise<boolean>;
}

declare global {
  interface HTMLElementTagNameMap {
    "ldp-pca-consent": ConsentDialog;
  }
}
