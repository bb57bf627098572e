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
dialog::backdrop { background: var(--ldp-pca-backdrop, rgb(0 0 0 / 0.6)); }
h2 { margin: 0; font-size: 1.25em; line-height: 1.3; outline: none; }
p { margin: 0.75em 0 0; overflow-wrap: anywhere; }
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
button:focus-visible { outline: 3px solid; outline-offset: 2px; }`;

let sheet;

// Servers import it too, where there is no document.
export class ConsentDialog extends (globalThis.HTMLElement ?? Object) {
  #dialog = document.createElement("dialog");
  #answer;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).append(this.#dialog);
    this.#dialog.oncancel = () => this.#close(false);
    // Whatever else closes it; one that is open again is that of the next question.
    this.#dialog.onclose = () => this.#dialog.open || this.#close(false);
  }

  ask({ leaves, stays, promise, scope, title, agree, decline, locale }) {
    this.#close(false);
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLES);
    }
    this.shadowRoot.adoptedStyleSheets = [sheet];
    const dialog = this.#dialog;
    const heading = make("h2", title, { id: "title", tabIndex: -1 });
    // Both alike: no answer is nudged.
    const buttons = [decline, agree].map((word, agreed) =>
      make("button", word, { type: "button", onclick: () => this.#close(agreed === 1) }),
    );
    const row = make("div");
    row.append(...buttons);
    const sentences = [leaves, stays, promise, scope].map((sentence) => make("p", sentence));
    dialog.replaceChildren(heading, ...sentences, make("slot"), row);
    dialog.lang = locale;
    dialog.dir = "auto";
    dialog.setAttribute("aria-labelledby", "title");
    dialog.showModal();
    // So that it is read from its beginning, and no key that was meant for the page answers.
    heading.focus();
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  // Pages may hide what stands within until this script is there.
  connectedCallback() {
    this.hidden = false;
  }

  disconnectedCallback() {
    this.#close(false);
  }

  #close(agreed) {
    const answer = this.#answer;
    this.#answer = undefined;
    if (this.#dialog.open) this.#dialog.close();
    answer?.(agreed);
  }
}

function make(name, textContent = "", properties) {
  return Object.assign(document.createElement(name), { textContent }, properties);
}

const names = globalThis.customElements;
if (names && !names.get("ldp-pca-consent")) names.define("ldp-pca-consent", ConsentDialog);
