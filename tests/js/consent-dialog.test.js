// Who shares a question of the dialog, in a double of a page. (tests/browser has the dialog itself.)

import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";

import * as testing from "../../pkg/testing.js";
import { RECORD, TASK } from "./task.js";

class Element {
  children = [];
  append(...children) {
    this.children.push(...children);
    return this;
  }
  replaceChildren(...children) {
    this.children = children;
  }
  attachShadow() {
    return (this.shadowRoot = new Element());
  }
  appendChild(child) {
    page.push(child);
    return child;
  }
  remove() {
    page.splice(page.indexOf(this), 1);
    this.disconnectedCallback();
  }
  focus() {}
  setAttribute() {}
  removeAttribute() {}
}

const page = [];
const { collect, reset, sent, Task } = testing;
let options;

before(async () => {
  const body = new Element();
  const createElement = (localName) => Object.assign(new Element(), { localName });
  globalThis.document = { body, createElement, querySelector: () => page[0] ?? null };
  globalThis.HTMLElement = Element;
  globalThis.CSSStyleSheet = class { replaceSync() {} };
  await testing.init();
  await import("../../pkg/consent-dialog.js");
});

beforeEach(() => {
  reset({ tasks: [TASK] });
  const { digest } = Task.parse(TASK);
  const url = "https://aggregator.example/";
  options = { url, digest, maxEpsilon: 2, collector: "Example Club", purpose: "a study" };
});

const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Answers as a visitor does; the buttons are decline and agree. */
function click(index) {
  const [dialog] = page[0].shadowRoot.children;
  dialog.children.at(-1).children[index].onclick();
}

test("two clicks ask once, and both have the answer", async () => {
  for (const [index, statuses] of [[0, ["declined", "declined"]], [1, ["accepted", "duplicate"]]]) {
    const both = [collect(options, RECORD), collect(options, RECORD)];
    await soon();
    assert.equal(page.length, 1);
    click(index);
    assert.deepEqual((await Promise.all(both)).map(({ status }) => status), statuses);
    assert.deepEqual([page.length, sent.length], [0, index]);
  }
});

test("another question declines the first, and is asked", async () => {
  const first = collect(options, RECORD);
  await soon();
  const second = collect({ ...options, purpose: "another study" }, RECORD);
  assert.equal((await first).status, "declined");
  click(1);
  assert.equal((await second).status, "accepted");
  assert.equal(page.length, 0);
});

test("the signal closes the dialog, unless somebody else waits", async () => {
  const stop = new AbortController();
  const stopped = collect({ ...options, signal: stop.signal }, RECORD);
  const other = collect(options, RECORD);
  await soon();
  stop.abort(new Error("gone"));
  await assert.rejects(stopped, /gone/);
  assert.equal(page.length, 1);
  click(1);
  assert.equal((await other).status, "accepted");

  reset({ tasks: [TASK] });
  const again = new AbortController();
  const alone = collect({ ...options, signal: again.signal }, RECORD);
  await soon();
  again.abort(new Error("gone"));
  await assert.rejects(alone, /gone/);
  await soon();
  assert.deepEqual([page.length, sent.length], [0, 0]);
});
