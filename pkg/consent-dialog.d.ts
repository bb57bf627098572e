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
   * Shows the dialog. Resolves to whether the visitor agreed: Escape, another question and removal of the element
   * decline. The same question once more, as of a double click, has the answer of the one that is open.
   *
   * @param statement - The result of `consent`. The element must be in a document.
   * @param options - `signal` closes the dialog, if nobody else waits; the promise then rejects with its reason.
   */
  ask(statement: ConsentStatement, options?: { readonly signal?: AbortSignal }): Promise<boolean>;

  /**
   * Shows the dialog with the `promise` of each statement as a choice, none of which is chosen from the beginning, and
   * says that the receiver sees the choice. Resolves to the statement that the visitor chose and agreed to, and to
   * `undefined` where the visitor declined.
   *
   * @param statements - The results of `consent` for the tasks of a family, which differ in epsilon. The words are
   *   those of the first.
   * @param options - `choice` is the sentence above the choices, for languages other than English and German. It must
   *   say that the receiver sees the choice, and that the figures hold only if it does not depend on the values.
   *   `signal` is as in {@link ConsentDialog.ask}.
   * @throws An `Error` where there is no such sentence in the language of the statements.
   */
  choose(
    statements: readonly ConsentStatement[],
    options?: { readonly choice?: string; readonly signal?: AbortSignal },
  ): Promise<ConsentStatement | undefined>;
}

declare global {
  interface HTMLElementTagNameMap {
    "ldp-pca-consent": ConsentDialog;
  }
}
