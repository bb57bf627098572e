import type { ConsentStatement } from "./consent.js";

/**
 * `<ldp-pca-consent>`: a modal dialog that asks a visitor, in the words of `consent`. Its content, such as a link to
 * the collector, is shown below the sentences.
 *
 * CSS variables set its style: `--ldp-pca-background`, `-color`, `-font`, `-width`, `-padding`, `-radius`, `-backdrop`,
 * `-button-background` and `-button-color`. By default they are those of the page's colour scheme.
 */
export class ConsentDialog extends HTMLElement {
  /**
   * Shows the dialog. Resolves to whether the visitor agreed: Escape, a later question and removal of the element
   * decline.
   *
   * @param statement - The result of `consent`. The element must be in a document.
   */
  ask(statement: ConsentStatement): Promise<boolean>;

  /**
   * Shows the dialog with the `promise` of each statement as a choice, none of which is chosen from the beginning, and
   * says that the receiver sees the choice. Resolves to the statement that the visitor chose and agreed to, and to
   * `undefined` where the visitor declined.
   *
   * @param statements - The results of `consent` for the tasks of a family, which differ in epsilon. The words are
   *   those of the first.
   * @param options - `choice` is the sentence above the choices, for languages other than English and German. It must
   *   say that the receiver sees the choice, and that the figures hold only if it does not depend on the values.
   * @throws An `Error` where there is no such sentence in the language of the statements.
   */
  choose(
    statements: readonly ConsentStatement[],
    options?: { readonly choice?: string },
  ): Promise<ConsentStatement | undefined>;
}

declare global {
  interface HTMLElementTagNameMap {
    "ldp-pca-consent": ConsentDialog;
  }
}
