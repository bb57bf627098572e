// A ledger's use of IndexedDB, in a double of it that can fail, be slow, and be taken away.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { digestOf, idOf, randomizerOf, url } from "./ledger-tools.js";

const RECORD = { height: 181 };
const soon = () => new Promise((resolve) => setImmediate(resolve));

let PrivacyLedger;
let pages = 0;

/** The ledgers that are opened from now on are of another page. */
const newPage = async () => ({ PrivacyLedger } = await import(`../../pkg/ledger.js?page=${(pages += 1)}`));

/** A disk: databases by name, each with stores by name; `log` has the requests to it. */
class Disk {
  databases = new Map();
  log = [];
  /** The outcome of opening: "works", "fails", or "hangs". */
  opening = "works";
  /** The error of an opening that fails. */
  failure = new DOMException("the disk is broken", "UnknownError");
  /**
   * The browser's losses of the next transactions, each with the error that it states, and whether the transaction was
   * on the disk by then (`isWritten`); `undefined` for one that is not lost.
   */
  losses = [];
  /**
   * The outcome of a transaction before it is complete: "works", "fails", "hangs", or "is complete", and cannot be
   * given up.
   */
  writing = "works";

  open(name, version) {
    this.log.push(["open", name, version]);
    const request = {};
    this.request = request;
    setImmediate(() => {
      if (this.opening === "hangs") return;
      if (this.opening === "fails") {
        request.error = this.failure;
        return request.onerror();
      }
      const isNew = !this.databases.has(name);
      if (isNew) this.databases.set(name, new Map());
      request.result = new Connection(this, this.databases.get(name));
      if (isNew) request.onupgradeneeded();
      request.onsuccess();
    });
    return request;
  }
}

class Connection {
  #disk;
  #stores;
  #closed = false;

  constructor(disk, stores) {
    this.#disk = disk;
    this.#stores = stores;
    disk.connection = this;
  }

  createObjectStore(name, options) {
    this.#disk.log.push(["create", name, options]);
    this.#stores.set(name, new Map());
  }

  transaction(name, mode, options) {
    if (this.#closed) throw new DOMException("the connection is closed", "InvalidStateError");
    this.#disk.log.push(["transaction", name, mode, options]);
    return new Transaction(this.#disk, this.#stores);
  }

  close() {
    this.#disk.log.push(["close"]);
    this.#closed = true;
  }

  /** The browser closes it. */
  lose() {
    this.#closed = true;
  }
}

class Transaction {
  error = null;
  #disk;
  #over = false;
  #stores;
  #written = [];

  constructor(disk, stores) {
    this.#disk = disk;
    this.#stores = stores;
    disk.transaction = this;
  }

  objectStore(name) {
    const entries = this.#stores.get(name);
    const put = (entry) => void this.#written.push(() => entries.set(entry.taskDigest, structuredClone(entry)));
    const getAll = () => {
      const request = {};
      setImmediate(() => {
        if (this.#over) return;
        request.onsuccess({ target: { result: structuredClone([...entries.values()]) } });
        setImmediate(() => this.#end());
      });
      return request;
    };
    return { getAll, put };
  }

  #end() {
    if (this.#over || this.#disk.writing === "hangs") return;
    const loss = this.#disk.losses.shift();
    if (loss) {
      if (loss.isWritten) for (const write of this.#written) write();
      this.error = loss.error;
      this.#over = true;
      this.#disk.connection.lose();
      return this.onabort();
    }
    if (this.#disk.writing === "fails") {
      this.error = new DOMException("", "QuotaExceededError");
      this.#over = true;
      return this.onabort();
    }
    this.complete();
  }

  complete() {
    this.#over = true;
    for (const write of this.#written) write();
    this.oncomplete();
  }

  abort() {
    this.#disk.log.push(["abort"]);
    if (this.#over || this.#disk.writing === "is complete") throw new DOMException("it is over", "InvalidStateError");
    this.#over = true;
    setImmediate(() => this.onabort());
  }
}

let disk;
let page;
let lasting;
let timers;

beforeEach(async (t) => {
  await newPage();
  disk = new Disk();
  page = new EventTarget();
  lasting = [];
  globalThis.indexedDB = disk;
  globalThis.addEventListener = page.addEventListener.bind(page);
  // Time passes when the test says so.
  timers = [];
  t.mock.method(globalThis, "setTimeout", (end, milliseconds) => void timers.push({ milliseconds, end }));
  t.mock.method(AbortSignal, "timeout", (milliseconds) => {
    const controller = new AbortController();
    lasting.push({ milliseconds, end: () => controller.abort() });
    return controller.signal;
  });
});

afterEach(() => {
  delete globalThis.indexedDB;
  delete globalThis.addEventListener;
});

const open = (options) => PrivacyLedger.open({ maxEpsilon: 4, ...options });
const asked = (what) => disk.log.filter(([name]) => name === what);

const ALLOW = "let this site store data, or give onStorageDenied";
const TABS = "close the site's other tabs";

function denied(message, cause, remedy = "load the page again") {
  return (error) => {
    assert.deepEqual(
      [error.name, error.code, error.message],
      ["LedgerError", "storage", `the ledger has no storage: ${message} (${remedy})`],
    );
    assert.ok(cause === undefined || error.cause === cause || error.cause?.name === cause, String(error.cause));
    return true;
  };
}

test("a booking is on the disk, strictly, and there for the next opener", async () => {
  const ledger = await open();
  assert.equal(ledger.persistent, true);
  const made = await ledger.report(randomizerOf(1), RECORD, { url });
  const transaction = ["transaction", "reports", "readwrite", { durability: "strict" }];
  assert.deepEqual(disk.log, [
    ["open", "ldp-pca", 1],
    ["create", "reports", { keyPath: "taskDigest" }],
    transaction,
    transaction,
  ]);
  assert.ok(lasting.every(({ milliseconds }) => milliseconds === 10_000));
  const other = await open();
  assert.equal(asked("create").length, 1);
  const again = await other.report(randomizerOf(1), { height: 1 }, { url });
  assert.deepEqual(again.bytes, made.bytes);
  const { epsilon, reports } = await other.status();
  assert.deepEqual([epsilon, reports.length, reports[0].state], [1, 1, "pending"]);
  assert.deepEqual(await other.withdraw(digestOf(1)), { taskDigest: digestOf(1), id: idOf(1), sent: false });
  assert.equal((await ledger.status()).reports[0].state, "withdrawn");
  // Another name is another ledger.
  assert.deepEqual((await (await open({ name: "mine" })).status()).reports, []);
  assert.deepEqual(asked("open").at(-1), ["open", "mine", 1]);
  assert.deepEqual(asked("abort"), []);
});

test("what changes nothing writes nothing, and a refusal is the ledger's own", async () => {
  const ledger = await open();
  await assert.rejects(ledger.report(randomizerOf(1, 5), RECORD, { url }), { code: "budget" });
  assert.equal(asked("abort").length, 1);
  assert.deepEqual((await ledger.status()).reports, []);
  await ledger.report(randomizerOf(1, 4), RECORD, { url });
  await ledger.withdraw(digestOf(1));
  const { databases } = disk;
  const before = [...databases.get("ldp-pca").get("reports").values()];
  await ledger.withdraw(digestOf(1));
  const after = [...databases.get("ldp-pca").get("reports").values()];
  assert.ok(after.length === 1 && after[0] === before[0]);
});

test("a change is reported when all of it is on the disk, and not before", async () => {
  const ledger = await open();
  disk.writing = "hangs";
  let told = false;
  const booked = ledger.status().then(() => (told = true));
  for (let turn = 0; turn < 10; turn += 1) await soon();
  assert.equal(told, false);
  disk.transaction.complete();
  await booked;
});

test("a disk that is broken, full, or closed is an error with its own words, or at least its name", async () => {
  disk.opening = "fails";
  await assert.rejects(open(), denied("UnknownError: the disk is broken", "UnknownError", ALLOW));
  disk.opening = "works";
  const ledger = await open();
  disk.writing = "fails";
  await assert.rejects(
    ledger.report(randomizerOf(1), RECORD, { url }),
    denied("QuotaExceededError", "QuotaExceededError", "free space on the device"),
  );
  disk.writing = "works";
  assert.deepEqual((await ledger.status()).reports, []);
  // A later version is there.
  disk.connection.onversionchange();
  assert.equal(asked("close").length, 1);
  disk.opening = "fails";
  disk.failure = new DOMException("a later version is there", "VersionError");
  await assert.rejects(ledger.status(), denied("VersionError: a later version is there", "VersionError"));
});

test("where the browser has no storage, or a policy denies it, the error says what to do", async () => {
  disk.open = () => {
    throw new DOMException("not in this frame", "SecurityError");
  };
  await assert.rejects(open(), denied("SecurityError: not in this frame", "SecurityError", ALLOW));
  delete globalThis.indexedDB;
  await assert.rejects(open(), denied("ReferenceError: indexedDB is not defined", "ReferenceError", ALLOW));
});

test("a connection that the browser closed is opened once for all calls that find it closed", async () => {
  const ledger = await open();
  await ledger.report(randomizerOf(1), RECORD, { url });
  disk.connection.lose();
  await Promise.all([ledger.status(), ledger.report(randomizerOf(2), RECORD, { url }), ledger.withdraw(digestOf(3))]);
  assert.equal((await ledger.status()).epsilon, 2);
  assert.deepEqual([asked("open").length, asked("create").length], [2, 1]);
});

test("what the browser broke off is made anew from what is there: it spends once, whether it was there or not", async () => {
  const lost = new DOMException("Connection to Indexed Database server lost", "UnknownError");
  for (const error of [null, new DOMException("", "AbortError"), lost]) {
    for (const isWritten of [true, false]) {
      disk.databases.clear();
      await newPage();
      const loss = { error, isWritten };
      const ledger = await open({ maxEpsilon: 1 });
      const randomizer = randomizerOf(1);
      // The booking, then the report.
      disk.losses = [loss, undefined, loss];
      await ledger.report(randomizer, RECORD, { url });
      const { epsilon, reports } = await (await open()).status();
      assert.deepEqual([epsilon, reports.length, reports[0].state], [1, 1, "pending"]);
      await ledger.report(randomizer, { height: 1 }, { url });
      assert.equal(randomizer.made.length, 1);
      disk.losses = [loss];
      assert.deepEqual(await ledger.withdraw(digestOf(1)), { taskDigest: digestOf(1), id: idOf(1), sent: false });
      assert.equal((await ledger.status()).reports[0].state, "withdrawn");
    }
  }
});

test("what is lost a third time is an error, and a later call opens the disk again", async () => {
  const ledger = await open();
  const loss = { error: new DOMException("broken off", "AbortError"), isWritten: false };
  disk.losses = [loss, loss, loss];
  const booked = ledger.report(randomizerOf(1), RECORD, { url });
  await assert.rejects(booked, denied("AbortError: broken off", "AbortError"));
  assert.equal(asked("open").length, 3);
  disk.opening = "fails";
  await assert.rejects(ledger.status(), denied("UnknownError: the disk is broken", "UnknownError"));
  disk.opening = "works";
  assert.deepEqual((await ledger.status()).reports, []);
});

test("after the site's data is deleted an open page counts what it has seen, and sends it only if it is asked to", async () => {
  const ledger = await open({ maxEpsilon: 1 });
  const randomizer = randomizerOf(1);
  await ledger.report(randomizer, RECORD, { url });
  disk.databases.clear();
  disk.connection.onversionchange();
  assert.deepEqual(await ledger.flush(), []);
  assert.equal((await ledger.status()).epsilon, 1);
  await assert.rejects(ledger.report(randomizerOf(2), RECORD, { url }), { code: "budget" });
  await newPage();
  const next = await open();
  assert.deepEqual((await next.status()).reports, []);
  await ledger.report(randomizer, RECORD, { url });
  assert.equal(randomizer.made.length, 1);
  assert.equal((await next.status()).reports[0].state, "pending");
});

test("a page counts what any of its ledgers of the name has seen", async () => {
  const beside = await open();
  const ledger = await open({ maxEpsilon: 1 });
  const randomizer = randomizerOf(1);
  const { bytes } = await ledger.report(randomizer, RECORD, { url });
  ledger.close();
  disk.databases.clear();
  disk.connection.lose();
  for (const other of [beside, await open()]) {
    assert.equal((await other.status()).epsilon, 1);
    assert.deepEqual((await other.report(randomizer, RECORD, { url })).bytes, bytes);
    disk.databases.clear();
  }
  assert.equal(randomizer.made.length, 1);
  assert.equal((await (await open({ name: "other" })).status()).epsilon, 0);
});

test("a ledger that its page closed is not opened again", async () => {
  const ledger = await open();
  ledger.close();
  await assert.rejects(ledger.status(), denied("InvalidStateError: the connection is closed", "InvalidStateError"));
  assert.equal(asked("open").length, 1);
  const other = await open();
  disk.connection.lose();
  const late = other.status();
  await soon();
  other.close();
  await assert.rejects(late, { code: "storage" });
  const { length } = asked("open");
  await assert.rejects(other.status(), { code: "storage" });
  assert.equal(asked("open").length, length);
});

test("a disk that does not open within ten seconds is an error", async () => {
  disk.opening = "hangs";
  const opening = open();
  assert.deepEqual(timers.map(({ milliseconds }) => milliseconds), [10_000]);
  timers[0].end();
  await assert.rejects(opening, denied("it took over 10000 ms: is another tab busy?", undefined, TABS));
  // One that opens later is closed, or it would block other versions.
  disk.request.result = new Connection(disk, new Map());
  disk.request.onsuccess();
  assert.equal(asked("close").length, 1);
});

test("a change that takes over ten seconds is given up", async () => {
  const ledger = await open();
  lasting.length = 0;
  disk.writing = "hangs";
  const waiting = ledger.status();
  await soon();
  assert.deepEqual(lasting.map(({ milliseconds }) => milliseconds), [10_000]);
  lasting[0].end();
  await assert.rejects(waiting, denied("it took over 10000 ms: is another tab busy?", undefined, TABS));
  assert.equal(asked("abort").length, 1);
});

test("a change that is not over when its page is left is given up, unless all of it is on its way to the disk", async () => {
  const ledger = await open();
  disk.writing = "hangs";
  const waiting = ledger.status();
  page.dispatchEvent(new Event("pagehide"));
  await assert.rejects(waiting, denied("the browser gave it up"));
  assert.equal(asked("abort").length, 1);
  // One that cannot be given up any more throws nothing in the page.
  disk.writing = "is complete";
  const errors = [];
  const note = (error) => errors.push(error);
  process.on("uncaughtException", note);
  const late = ledger.status();
  page.dispatchEvent(new Event("pagehide"));
  await assert.rejects(late, denied("the browser gave it up"));
  await soon();
  process.off("uncaughtException", note);
  assert.deepEqual(errors, []);
});

test("what is over is given up by nobody", async () => {
  const ledger = await open();
  lasting.length = 0;
  await ledger.status();
  await assert.rejects(ledger.report(randomizerOf(1, 5), RECORD, { url }), { code: "budget" });
  const before = asked("abort").length;
  page.dispatchEvent(new Event("pagehide"));
  for (const { end } of lasting) end();
  assert.equal(asked("abort").length, before);
});
