// <ldp-pca-consent>: asks a visitor, in the words of `consent`. Built node by node, with a constructed style sheet: a
// policy without inline styles and with Trusted Types allows that.

const STYLES = `
dialog {
  box-sizing: border-box;
  width: min(var(--ldp-pca-width, 36rem), 100% - 2rem);
  padding: var(--ldp-pca-padding, 1.5rem);
  border: 1px solid;
  border-radius: var(--ldp-pca-radius, 0.5rem);
  background: var(--ldp-pca-background, Canvas);
  color: var(--ldp-pca-color, CanvasText);
  font: var(--ldp-pca-font, inherit);
  line-height: 1.5;
}
dialog:not([open]) { display: none; }
dialog::backdrop { background: var(--ldp-pca-backdrop, rgb(0 0 0 / 0.6)); }
h2 { margin: 0; font-size: 1.25em; line-height: 1.3; outline: none; }
p, label { margin: 0.75em 0 0; overflow-wrap: anywhere; }
fieldset { margin: 0; padding: 0; border: 0; }
label { display: flex; gap: 0.75rem; }
input { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
div { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 1.5em; }
button {
  flex: 1 1 8rem;
  min-height: 2.75rem;
  padding: 0.5rem 1rem;
  border: 1px solid;
  border-radius: var(--ldp-pca-radius, 0.5rem);
  background: var(--ldp-pca-button-background, transparent);
  color: var(--ldp-pca-button-color, inherit);
  font: inherit;
  cursor: pointer;
}
button:focus-visible, input:focus-visible { outline: 3px solid; outline-offset: 2px; }`;

/** What is said above a choice, by language: the task that a report names is not randomized. */
const CHOICE = {
  en:
    "Whoever receives the report also sees which of these you choose. The figures hold only if your choice does not " +
    "depend on the values.",
  de:
    "Wer den Bericht empfängt, sieht auch, was Sie hier wählen. Die Zahlen gelten nur, wenn Ihre Wahl nicht von den " +
    "Angaben abhängt.",
};

let sheet;

// Servers import it too, where there is no document.
export class ConsentDialog extends (globalThis.HTMLElement ?? Object) {
  #dialog = document.createElement("dialog");
  /** The open question: its `text`, its `answer` and what `resolve`s that, and how many are `waiting` for it. */
  #question;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).append(this.#dialog);
    this.#dialog.oncancel = () => this.#close();
    // Whatever else closes it; one that is open again is that of the next question.
    this.#dialog.onclose = () => this.#dialog.open || this.#close();
  }

  async ask(statement, options) {
    return (await this.choose([statement], options)) !== undefined;
  }

  choose(statements, { choice, signal } = {}) {
    signal?.throwIfAborted();
    const text = JSON.stringify(statements);
    // A second click is no other question.
    if (this.#question?.text !== text) this.#show(statements, choice, text);
    const question = this.#question;
    question.waiting += 1;
    return new Promise((resolve, reject) => {
      question.answer.then(resolve);
      signal?.addEventListener("abort", () => {
        reject(signal.reason);
        question.waiting -= 1;
        if (question.waiting === 0 && question === this.#question) this.#close();
      });
    });
  }

  #show(statements, choice, text) {
    const several = statements.length > 1;
    const [{ who, leaves, stays, promise, scope, title, agree, decline, locale }] = statements;
    const warning = several && (choice ?? CHOICE[locale.split("-")[0]]);
    if (warning === undefined) throw new Error(`give 'choice', the sentence above a choice in '${locale}'`);
    this.#close();
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLES);
    }
    this.shadowRoot.adoptedStyleSheets = [sheet];
    const dialog = this.#dialog;
    const heading = make("h2", title, { id: "title", tabIndex: -1 });
    const inputs = statements.map(() => make("input", "", { type: "radio", name: "choice", required: true }));
    const choices = within("fieldset", make("p", warning));
    choices.setAttribute("aria-labelledby", "title");
    // Reports of epsilons far apart can differ in length.
    const alike = statements.every((statement) => statement.leaves === leaves);
    const label = (statement) => (alike ? statement.promise : `${statement.leaves} ${statement.promise}`);
    choices.append(...inputs.map((input, index) => within("label", input, label(statements[index]))));
    const agreed = () => {
      // The browser says that one has to be chosen. None is from the beginning: no choice is nudged either.
      if (!several || inputs[0].reportValidity()) {
        this.#close(statements[several ? inputs.findIndex(({ checked }) => checked) : 0]);
      }
    };
    // Both alike: no answer is nudged.
    const buttons = [
      make("button", decline, { type: "button", onclick: () => this.#close() }),
      make("button", agree, { type: "button", onclick: agreed }),
    ];
    const guarantee = several ? choices : make("p", promise);
    const row = within("div", ...buttons);
    const [second, last] = [stays, scope].map((sentence) => make("p", sentence));
    const first = [who, alike && leaves].filter(Boolean).map((sentence) => make("p", sentence));
    dialog.replaceChildren(heading, ...first, second, guarantee, last, make("slot"), row);
    dialog.lang = locale;
    dialog.dir = "auto";
    dialog.setAttribute("aria-labelledby", "title");
    // Before 2022 browsers have no modal dialogs: there it opens in its place.
    if (dialog.showModal) dialog.showModal();
    else dialog.setAttribute("open", "");
    // So that it is read from its beginning, and no key that was meant for the page answers.
    heading.focus();
    let resolve;
    const answer = new Promise((settle) => (resolve = settle));
    this.#question = { text, answer, resolve, waiting: 0 };
  }

  // Pages may hide what stands within until this script is there.
  connectedCallback() {
    this.hidden = false;
  }

  disconnectedCallback() {
    this.#close();
  }

  #close(chosen) {
    const question = this.#question;
    this.#question = undefined;
    this.#dialog.close?.();
    this.#dialog.removeAttribute("open");
    question?.resolve(chosen);
  }
}

function make(name, textContent = "", properties) {
  return Object.assign(document.createElement(name), { textContent }, properties);
}

function within(name, ...children) {
  const element = make(name);
  element.append(...children);
  return element;
}

const names = globalThis.customElements;
if (names && !names.get("ldp-pca-consent")) names.define("ldp-pca-consent", ConsentDialog);
