// What this device has promised and sent: one report per task, a budget over all tasks, and the reports that wait to be
// sent. An entry is booked (its budget is spent), then waits with its bytes, then is what was sent. It is kept in IndexedDB, which all tabs of an origin share. The raw record never gets here.

import { allowed } from "./checks.js";
import { failure, LdpPcaError, SubmitError } from "./errors.js";
import { promising, reportOf } from "./report.js";
import { absolute, submit } from "./submit.js";

export class PrivacyLedger {
  #name;
  #limits;
  #change;
  #close;

  static async open({ name = "ldp-pca", maxEpsilon, maxDelta, onStorageDenied, onFlush } = {}) {
    const ledger = new PrivacyLedger();
    ledger.#name = name;
    ledger.#limits = { maxEpsilon, maxDelta };
    // For the limits themselves.
    allowed(total([]), ledger.#limits);
    let database;
    try {
      database = await openDatabase(name);
    } catch (cause) {
      const error = denied(cause);
      if ((await onStorageDenied?.(error)) !== true) throw error;
    }
    ledger.persistent = database !== undefined;
    ledger.#change = database ? transactions(database) : memory();
    // What cannot be sent now, or fails in the storage, is still there for the next time.
    const online = () => ledger.flush().then(onFlush, () => {});
    globalThis.addEventListener?.("online", online);
    ledger.#close = () => {
      globalThis.removeEventListener?.("online", online);
      database?.close();
    };
    return ledger;
  }

  async report(randomizer, record, { url, id } = {}) {
    if (typeof randomizer?.randomize !== "function") throw failure("argument", "give a Randomizer");
    const target = absolute(url).href;
    const { taskDigest, guarantee } = randomizer;
    /** The report that waits already, at its new address; else what `change` makes of the booking, if there is one. */
    const waiting = (change) =>
      this.#change((entries, write) => {
        const earlier = entries.find((entry) => entry.taskDigest === taskDigest);
        if (earlier && !earlier.bytes && !earlier.booked) {
          throw failure("spent", `this device has sent its one report of task ${taskDigest}`);
        }
        const entry = earlier?.bytes ? { ...earlier, url: target } : change(entries, earlier);
        write.put(entry);
        return entry.bytes && reportOf(entry.bytes, taskDigest, entry.guarantee);
      });
    // The budget is spent, on the disk, before a value of the record is looked at, and nothing gives it back. Without a
    // report the booking still stands for the task's one report.
    const book = (entries, earlier) => {
      if (!earlier) allowed(total([...entries, { guarantee }]), this.#limits, "all reports together would spend", "budget");
      return earlier ?? { taskDigest, guarantee, url: target, booked: true };
    };
    // The transaction alone keeps a second tab from committing; the lock, from randomizing in vain.
    return this.#alone(taskDigest, async () => {
      const made = await waiting(book);
      if (made) return made;
      const { bytes } = promising(await randomizer.randomize(record, { id }));
      return waiting(() => ({ taskDigest, guarantee, url: target, bytes }));
    });
  }

  flush(options) {
    const send = async () => {
      const outcomes = [];
      for (const { url, bytes, ...sent } of await this.#change((entries) => entries.filter(isPending))) {
        const { taskDigest, guarantee } = sent;
        try {
          const { status } = await submit(reportOf(bytes, taskDigest, guarantee), { ...options, url });
          await this.#change((entries, write) => void write.put(sent));
          outcomes.push({ taskDigest, status });
        } catch (error) {
          if (!(error instanceof SubmitError)) throw error;
          outcomes.push({ taskDigest, error });
        }
      }
      return outcomes;
    };
    return this.#alone("flush", send, options?.signal);
  }

  status() {
    return this.#change((entries) => ({
      ...total(entries),
      reports: entries.map(({ url, bytes, booked = false, ...report }) => ({ ...report, booked, pending: isPending({ bytes }) })),
    }));
  }

  close() {
    this.#close();
  }

  /** Runs `work` in one tab at a time, where the browser has locks; without them it is only done in vain. */
  #alone(what, work, signal) {
    const locks = this.persistent && globalThis.navigator?.locks;
    return locks ? locks.request(`${this.#name}/${what}`, { signal }, work) : work();
  }
}

function isPending({ bytes }) {
  return bytes !== undefined;
}

/** Basic composition: the sums, never below the real ones. */
function total(entries) {
  let [epsilon, delta] = [0, 0];
  for (const { guarantee } of entries) {
    epsilon = sumUp(epsilon, guarantee.epsilon);
    delta = sumUp(delta, guarantee.delta);
  }
  return { epsilon, delta };
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
  return failure("storage", `the ledger has no storage: ${cause?.message}`, { cause });
}

const STORE = "reports";

function openDatabase(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "taskDigest" });
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      // Whoever deletes the data, or a later version of this library, is not kept waiting.
      database.onversionchange = () => database.close();
      resolve(database);
    };
  });
}

/** Runs `change(entries, write)` in a transaction: when the promise resolves all of it is on the disk, or nothing. */
function transactions(database) {
  return (change) =>
    new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      let result;
      let thrown;
      store.getAll().onsuccess = ({ target }) => {
        try {
          result = change(target.result, store);
        } catch (error) {
          thrown = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(thrown ?? transaction.error);
    }).catch((cause) => {
      throw denied(cause);
    });
}

/** The same for as long as the page lives. */
function memory() {
  const entries = new Map();
  const put = (entry) => entries.set(entry.taskDigest, entry);
  return async (change) => change([...entries.values()], { put });
}
