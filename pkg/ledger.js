// The ledger of this device's promises and reports: one report per task, a budget over all tasks, and the reports that
// wait to be sent. A task and its refinements have one entry: its key is the digest of the first wave, and `wave` is
// that of the task that is answered. It is booked (its budget is spent), then waits with its bytes, then is what was
// sent, or was withdrawn; one that an aggregator refuses for good keeps its bytes until it is sent once more. It is in
// IndexedDB, which all tabs of an origin share. The raw record never gets here.

import { allowed, campaigns } from "./checks.js";
import { failure, LdpPcaError, SubmitError } from "./errors.js";
import { promising, reportOf } from "./report.js";
import { absolute, checked, deliver, isFinal, issuedId } from "./submit.js";

/**
 * The longest that a delivery takes in all, that it waits for another tab's, and that the storage takes, in
 * milliseconds.
 */
const DELIVERY = 60_000;
const TURN = 5000;
const STORAGE = 10_000;

export class PrivacyLedger {
  #name;
  #limits;
  #change;
  #close;
  #parts;
  #retryOn;
  /** The controllers that stop the deliveries of this tab, with their entries. */
  #stops = new Map();

  /** `parts` are what `ldp-pca/testing` has its own of. */
  static async open(
    { name = "ldp-pca", onStorageDenied, flushOnline = false, onFlush, ...limits } = {},
    parts = { deliver, issuedId, openDatabase, promising },
  ) {
    const ledger = new this();
    ledger.#parts = parts;
    ledger.#name = name;
    ledger.#limits = limits;
    // For the limits themselves.
    allowed(total([]), ledger.#limits);
    let stored;
    try {
      stored = await parts.openDatabase(name);
    } catch (cause) {
      const error = denied(cause);
      if ((await onStorageDenied?.(error)) !== true) throw error;
    }
    ledger.persistent = stored !== undefined;
    ledger.#change = stored?.change ?? memory();
    ledger.#retryOn = flushOnline ? "online" : "flush";
    // A report that cannot be sent now, or fails in the storage, is still there for the next time.
    const online = () => ledger.flush().then(onFlush, () => {});
    const over = new AbortController();
    if (flushOnline) globalThis.addEventListener?.("online", online, over);
    ledger.#close = () => {
      over.abort();
      stored?.close();
    };
    return ledger;
  }

  async report(randomizer, record, { url, id } = {}) {
    const booked = await this.#book(randomizer, absolute(url).href);
    return reportIn(await this.#make(booked, async () => randomizer.randomize(record, { id: await id })));
  }

  async send(randomizer, record, options = {}) {
    const { signal, url } = checked(options);
    signal?.throwIfAborted();
    const entry = await this.#book(randomizer, url.href);
    // It counted before this call.
    if (stateOf(entry) === "sent") return about(entry, { status: "duplicate" });
    return this.#deliver(entry, options, async (limits) => {
      const id = "id" in options ? options.id : this.#parts.issuedId({ digest: taskOf(entry) }, limits);
      return randomizer.randomize(record, { id: await id });
    });
  }

  async flush(options) {
    const waiting = await this.#change((entries) => entries.filter((entry) => stateOf(entry) === "pending"));
    return Promise.all(waiting.map((entry) => this.#deliver(entry, options)));
  }

  async withdraw(taskDigest) {
    const isMeant = ({ taskDigest: key, wave }) => key === campaignOf(taskDigest) || wave === taskDigest;
    for (const [stop, entry] of this.#stops) if (isMeant(entry)) stop.abort(spent({ taskDigest, withdrawn: true }));
    const withdraw = (found) => {
      if (!found?.booked && !found?.bytes) return found;
      const { taskDigest, wave, guarantee, attempted } = found;
      return { taskDigest, wave, guarantee, id: about(found).id, withdrawn: true, left: attempted && "unknown" };
    };
    const entry = await this.#edit(taskDigest, withdraw, isMeant);
    const { withdrawn, left = false } = entry ?? { withdrawn: true };
    return about(entry ?? { taskDigest }, { sent: withdrawn ? left : true });
  }

  status() {
    return this.#change((entries) => ({
      ...total(entries),
      reports: entries.map((entry) => ({
        taskDigest: entry.taskDigest,
        guarantee: entry.guarantee,
        state: stateOf(entry),
        error: refusal(entry),
      })),
    }));
  }

  close() {
    this.#close();
  }

  /**
   * The task's entry, whose budget is spent: on the disk, before a value of the record is looked at, and nothing gives
   * it back. What waits, or was refused, goes to the new address. What has no report yet gets one of the wave that is
   * asked, and counts as the larger of both.
   */
  #book(randomizer, url) {
    if (typeof randomizer?.randomize !== "function") throw failure("argument", "give a Randomizer");
    const { taskDigest: wave, guarantee } = randomizer;
    const key = campaignOf(wave);
    return this.#edit(key, (found, entries) => {
      if (found && !found.booked) {
        const { refused, ...kept } = found;
        return found.bytes ? { ...kept, url } : found;
      }
      const most = { ...guarantee, ...both(Math.max, guarantee, found?.guarantee ?? guarantee) };
      const booked = { taskDigest: key, wave, guarantee: most, url, booked: true };
      if (found?.wave !== wave) {
        const all = [...entries.filter((entry) => entry !== found), booked];
        allowed(total(all), this.#limits, "all reports together would spend", "budget");
      }
      return booked;
    });
  }

  /** The entry with the task's one report, which is that of the first caller, unless it is gone. */
  async #make(entry, make, signal) {
    if (!entry.booked) return entry;
    const { taskDigest, wave, url } = entry;
    const { bytes } = this.#parts.promising(await make());
    // Nobody waits for it any more, or it was withdrawn.
    signal?.throwIfAborted();
    const attempted = signal !== undefined;
    return this.#edit(taskDigest, (found = entry) =>
      found.booked ? { taskDigest, wave, guarantee: found.guarantee, url, bytes, attempted } : found,
    );
  }

  /** Sends the report of an entry, which `make` makes where there is none, and returns its outcome. */
  async #deliver(entry, options = {}, make) {
    const { taskDigest } = entry;
    const { deadline } = checked({ deadline: DELIVERY, ...options, url: entry.url ?? options.url });
    const end = performance.now() + deadline;
    const stop = new AbortController();
    const late = AbortSignal.timeout(deadline);
    const signal = AbortSignal.any([stop.signal, late, options.signal ?? late]);
    const limits = () => ({ ...options, url: entry.url, signal, deadline: Math.max(0, end - performance.now()) });
    // A report that cannot be recorded as sent is sent once more, and counted once.
    const note = (change) => this.#edit(taskDigest, change).catch(() => {});
    /**
     * The status of a report that counts by now. Of another, that an attempt begins is on the disk before it begins.
     */
    const claim = async () => {
      entry = await this.#edit(taskDigest, (found = entry) => {
        if (found.refused) throw refusal(found);
        return found.bytes && !found.attempted ? { ...found, attempted: true } : found;
      });
      if (entry.withdrawn) throw spent(entry);
      if (!entry.bytes) return entry.status ?? "duplicate";
    };
    const send = async () => {
      const known = await claim();
      if (known) return about(entry, { status: known });
      try {
        const { status } = await this.#parts.deliver(reportIn(entry), limits(), claim);
        const counted = about(entry, { status });
        await note(() => ({ ...counted, taskDigest, wave: entry.wave, guarantee: entry.guarantee }));
        return counted;
      } catch (error) {
        if (isFinal(error)) {
          await note((found) => (found?.bytes ? { ...found, refused: { ...error, message: error.message } } : found));
        }
        throw error;
      }
    };
    this.#stops.set(stop, entry);
    try {
      entry = await Promise.race([this.#make(entry, () => make(limits()), signal), aborted(signal)]);
      const locks = this.persistent && globalThis.navigator?.locks;
      // One tab at a time sends it. Without its turn, which a page that was left may keep, it is at worst sent in vain.
      const turn = AbortSignal.timeout(TURN);
      try {
        if (locks)
          return await locks.request(`${this.#name}/${taskDigest}`, { signal: AbortSignal.any([signal, turn]) }, send);
      } catch (cause) {
        if (cause !== turn.reason) throw cause;
      }
      return await send();
    } catch (cause) {
      const error = cause === late.reason ? failure("network", `sending took over ${deadline} ms`, { cause }) : cause;
      if (error?.code === "spent" || isFinal(error)) return about(entry, { status: "refused", error });
      if (!(error instanceof SubmitError && entry.bytes)) throw error;
      return about(entry, { status: "pending", error, retryAfter: error.retryAfter, retryOn: this.#retryOn });
    } finally {
      this.#stops.delete(stop);
    }
  }

  /**
   * Changes the entry with a key, or another one that is meant, to what `change(entry, entries)` gives, which is on the
   * disk when the promise resolves to it.
   */
  #edit(key, change, isMeant = ({ taskDigest }) => taskDigest === key) {
    return this.#change((entries, write) => {
      const found = entries.find(isMeant);
      const entry = change(found, entries);
      if (entry !== found) write.put(entry);
      return entry;
    });
  }
}

/**
 * The key of a task's entry: the digest of the task that it refines, or its own. It depends on the task alone, so that
 * an entry is found again whatever else was read meanwhile.
 */
function campaignOf(digest) {
  return campaigns[digest] ?? digest;
}

/** The task of an entry's report. Those that were written before there were refinements have no `wave`. */
function taskOf({ taskDigest, wave }) {
  return wave ?? taskDigest;
}

function stateOf(entry) {
  return ["withdrawn", "refused", "booked"].find((state) => entry[state]) ?? (entry.bytes ? "pending" : "sent");
}

/** What callers are told of an entry. */
function about(entry, more) {
  return { taskDigest: taskOf(entry), id: entry.bytes ? reportIn(entry).id : entry.id, ...more };
}

function reportIn(entry) {
  if (!entry.bytes) throw spent(entry);
  return reportOf(entry.bytes, taskOf(entry), entry.guarantee);
}

function refusal({ refused }) {
  return refused && failure(refused.code, refused.message, refused);
}

function spent({ taskDigest, withdrawn }) {
  const why = withdrawn ? "was withdrawn: its budget stays spent" : "was sent";
  return failure("spent", `this device's one report of task ${taskDigest} ${why}`);
}

/** Rejects when the signal aborts. */
function aborted(signal) {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Basic composition: the sums, never below the real ones. */
function total(entries) {
  return entries.reduce((sum, { guarantee }) => both(sumUp, sum, guarantee), { epsilon: 0, delta: 0 });
}

/** What `join` makes of two epsilons, and of two deltas. */
function both(join, one, other) {
  return { epsilon: join(one.epsilon, other.epsilon), delta: join(one.delta, other.delta) };
}

/** The sum, rounded up where it is rounded (what rounding took off is exact: Knuth's two-sum). */
function sumUp(a, b) {
  const sum = a + b;
  const part = sum - a;
  const lost = a - (sum - part) + (b - part);
  return lost > 0 ? sum * (1 + Number.EPSILON) : sum;
}

function denied(cause) {
  if (cause instanceof LdpPcaError) return cause;
  // The message of a full disk may be empty; its name is not.
  return failure("storage", `the ledger has no storage: ${cause ?? "the browser gave it up"}`, { cause });
}

const STORE = "reports";
const LATE = `it took over ${STORAGE} ms: is another tab busy?`;

/** The disk's content under a name: `change` as in {@link transactions}, and `close`. */
function openDatabase(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    setTimeout(() => reject(LATE), STORAGE);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "taskDigest" });
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      // A visitor who deletes the data, or a later version of this library, does not have to wait.
      const close = (database.onversionchange = () => database.close());
      resolve({ change: transactions(database), close });
    };
  });
}

/**
 * Runs `change(entries, write)` in a transaction: when the promise resolves all of it is on the disk, or nothing. One
 * that is still open when its page is left is given up, since a page that is kept for the way back would keep the
 * storage, too.
 */
function transactions(database) {
  return async (change) => {
    const over = new AbortController();
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
        const store = transaction.objectStore(STORE);
        const abort = (cause) => {
          // Not every browser reports at once one that has not begun.
          reject(cause);
          try {
            transaction.abort();
          } catch {
            // All of it is on its way to the disk.
          }
        };
        globalThis.addEventListener?.("pagehide", () => abort(), over);
        AbortSignal.timeout(STORAGE).addEventListener("abort", () => abort(LATE), over);
        let result;
        store.getAll().onsuccess = ({ target }) => {
          try {
            result = change(target.result, store);
          } catch (error) {
            abort(error);
          }
        };
        transaction.oncomplete = () => resolve(result);
        transaction.onabort = () => reject(transaction.error);
      });
    } catch (cause) {
      throw denied(cause);
    } finally {
      over.abort();
    }
  };
}

/** The same for as long as the page lives. */
export function memory() {
  const entries = new Map();
  return async (change) =>
    change([...entries.values()], { put: (entry) => entries.set(entry.taskDigest, entry) });
}
