// The ledger of this device's promises and reports: one report per task, a budget over all tasks and over those of a
// period, and the reports that wait to be sent. A task and its refinements have one entry, where they go to one origin:
// its key is the digest of the task that came first, `campaign` that of the first wave, and `wave` that of the task
// that is answered. `period` is the task's, if it has one. It is booked (its budget is spent), then waits with its
// bytes, then is what was sent, or was withdrawn; one that an aggregator refuses for good keeps its bytes until it is
// sent once more. One with a `relay` in place of a `url` is sealed before its first attempt: from then on its bytes are
// the sealed ones. It is in IndexedDB, which all tabs of an origin share. The raw record never gets here.

import { allowed, asked, campaigns, within } from "./checks.js";
import { failure, LdpPcaError, SubmitError } from "./errors.js";
import { anyOf } from "./reach.js";
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
    parts = { deliver, issuedId, openDatabase, promising, loadRelay },
  ) {
    const ledger = new this();
    ledger.#parts = parts;
    ledger.#name = name;
    ledger.#limits = limits;
    // For the limits themselves.
    fit([], limits);
    let stored;
    try {
      stored = await parts.openDatabase(name);
    } catch (cause) {
      const error = denied(cause, "let this site store data, or give onStorageDenied");
      if ((await onStorageDenied?.(error)) !== true) throw error;
    }
    ledger.persistent = stored !== undefined;
    ledger.#change = stored?.change ?? memory(seenIn(name));
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
    const booked = await this.#book(randomizer, { url: absolute(url).href });
    return reportIn(await this.#make(booked, async () => randomizer.randomize(record, { id: await id })));
  }

  async send(randomizer, record, options = {}) {
    const to = destination(options, randomizer?.taskDigest);
    options.signal?.throwIfAborted();
    const entry = await this.#book(randomizer, to);
    // It counted before this call.
    if (stateOf(entry) === "sent") return about(entry, { status: "duplicate" });
    return this.#deliver(entry, options, async (limits) => {
      const isGiven = "id" in options || entry.relay;
      const id = isGiven ? options.id : this.#parts.issuedId({ digest: entry.wave }, limits);
      return randomizer.randomize(record, { id: await id });
    });
  }

  needsConsent(randomizer, options) {
    return this.#change((entries) => {
      const found = promiseOf(entries, randomizer, destination(options));
      return !found || stateOf(found) === "booked";
    });
  }

  async flush(options) {
    // What was deleted with the site's data is sent if somebody asks for it once more.
    const waiting = await this.#change((entries, write, stored) =>
      stored.filter((entry) => stateOf(entry) === "pending" && !(entry.relay && asked.has(entry.wave))),
    );
    return Promise.all(waiting.map((entry) => this.#deliver(entry, options)));
  }

  async withdraw(taskDigest) {
    const campaign = campaignOf(taskDigest);
    const isMeant = (entry) => entry.campaign === campaign || isOf(taskDigest)(entry);
    for (const [stop, entry] of this.#stops) if (isMeant(entry)) stop.abort(spent({ taskDigest, withdrawn: true }));
    const found = await this.#change((entries, write) =>
      entries.filter(isMeant).map((entry) => {
        if (!entry.booked && !entry.bytes) return entry;
        const withdrawn = over(entry, { withdrawn: true, left: entry.bytes && entry.attempted !== false && "unknown" });
        write.put(withdrawn);
        return withdrawn;
      }),
    );
    const answers = [...found, { wave: taskDigest, withdrawn: true }].map((entry) =>
      about(entry, { sent: entry.left ?? !entry.withdrawn }),
    );
    return answers.find(({ sent }) => sent) ?? answers[0];
  }

  status() {
    return this.#change((entries) => ({
      ...total(entries),
      reports: entries.map((entry) => ({
        taskDigest: entry.campaign,
        origin: originOf(entry),
        period: entry.period,
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
   * it back. What waits, or was refused, goes to the new address, of the same origin. What has no report yet gets one
   * of the wave that is asked, and counts as the larger of both.
   */
  #book(randomizer, to) {
    // Only functions have it.
    if (!randomizer?.randomize?.call) throw failure("argument", "give a Randomizer");
    const { taskDigest: wave, guarantee, period } = randomizer;
    const campaign = campaignOf(wave);
    const book = (found, entries) => {
      if (found && !isPromisedTo(found, to)) {
        throw spoken("destination", wave, `promised to ${placeOf(found)}: send it there`);
      }
      if (found && !found.booked) {
        const { refused, ...kept } = found;
        return found.bytes ? { ...kept, ...to } : found;
      }
      const most = { ...guarantee, ...both(Math.max, guarantee, found?.guarantee ?? guarantee) };
      const waves = new Set(found?.waves).add(wave);
      const first = { taskDigest: wave, campaign, ...(period && { period }) };
      const booked = { ...first, ...found, ...to, wave, waves, guarantee: most, booked: true };
      fit([...entries.filter((entry) => entry !== found), booked], this.#limits, period);
      return booked;
    };
    return this.#edit(wave, book, (entries) => promiseOf(entries, randomizer, to));
  }

  /** The entry with the task's one report, which is that of the first caller, unless it is gone. */
  async #make(entry, make, signal) {
    if (!entry.booked) return entry;
    const { bytes } = this.#parts.promising(await make());
    // Nobody waits for it any more, or it was withdrawn.
    signal?.throwIfAborted();
    const { booked, ...kept } = entry;
    // Nothing goes to a relay before it is sealed.
    const attempted = signal !== undefined && !entry.relay;
    return this.#edit(entry.taskDigest, (found = entry) =>
      found.booked ? { ...kept, guarantee: found.guarantee, bytes, attempted } : found,
    );
  }

  /** Sends the report of an entry, which `make` makes where there is none, and returns its outcome. */
  async #deliver(entry, options = {}, make) {
    const { deadline } = checked({ deadline: DELIVERY, ...options, url: placeOf(entry) });
    const end = performance.now() + deadline;
    const stop = new AbortController();
    const late = AbortSignal.timeout(deadline);
    const signal = anyOf(stop.signal, late, options.signal ?? late);
    const limits = () => ({ ...options, url: placeOf(entry), signal, deadline: Math.max(0, end - performance.now()) });
    // A report that cannot be recorded as sent is sent once more, and counted once.
    const edit = (change) => this.#edit(entry.taskDigest, change);
    const note = (change) => edit(change).catch(() => {});
    /**
     * The status of a report that counts by now. Of another, that an attempt begins is on the disk before it begins:
     * `attempt` is how.
     */
    const claim = async (attempt = !entry.relay && { attempted: true }) => {
      entry = await edit((found = entry) => {
        if (found.refused) throw refusal(found);
        return attempt && found.bytes && !found.attempted ? { ...found, ...attempt } : found;
      });
      if (entry.withdrawn) throw spent(entry);
      if (!entry.bytes) return entry.status;
    };
    const send = async () => {
      const known = await claim();
      if (known) return about(entry, { status: known });
      try {
        const relay = entry.relay && this.#parts.loadRelay();
        const { deliver } = relay ? await Promise.race([relay, aborted(signal)]) : this.#parts;
        const { attempts, ...told } = await deliver(reportIn(entry), limits(), claim, () => entry);
        await note(() => over(entry, told));
        return about(entry, { status: told.status });
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
      const waiting = { signal: anyOf(signal, turn) };
      try {
        if (locks) return await locks.request(`${this.#name}/${entry.taskDigest}`, waiting, send);
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
   * Changes the entry with a key, whatever task it answers by now, to what `change(entry, entries)` gives, which is on
   * the disk when the promise resolves to it. Instead `find` can find another.
   */
  #edit(key, change, find = (entries) => entries.find(({ taskDigest }) => taskDigest === key)) {
    return this.#change((entries, write) => {
      const found = find(entries);
      const entry = change(found, entries);
      if (entry !== found) write.put(entry);
      return entry;
    });
  }
}

/**
 * Where a report goes, as its entry has it. A relay hides who sends it: nothing may have shown that to the aggregator
 * before.
 */
function destination({ url, relay, keys, id, ...limits }, digest) {
  const { href } = checked({ ...limits, url: relay ?? url }).url;
  // An empty address is the page's own, and no aggregator's.
  if (relay == null) return { url: href };
  if (url || id || asked.has(digest)) {
    throw failure("argument", "give relay no url, no id and a task by Task.parse");
  }
  return { relay: href, ...(keys && { keys }) };
}

function loadRelay() {
  return import("./relay.js").catch((cause) => {
    throw failure("network", cause.message, { cause });
  });
}

/** The digest of the task that a task refines, or its own. It depends on the task alone. */
function campaignOf(digest) {
  return campaigns[digest] ?? digest;
}

/** Whether an entry was ever booked for a task. */
function isOf(digest) {
  return ({ waves }) => waves.has(digest);
}

/**
 * The entry with a task's one report. Anybody can name a parent: a refinement has the entry of its campaign only if it
 * is for the same period, and asks for the report where that was promised.
 */
function promiseOf(entries, { taskDigest, period }, to) {
  const campaign = campaignOf(taskDigest);
  const isWave = (entry) => entry.campaign === campaign && entry.period === period && isPromisedTo(entry, to);
  return entries.find(isOf(taskDigest)) ?? entries.find(isWave);
}

/** Where an entry's report goes. */
function placeOf({ relay, url }) {
  return relay ?? url;
}

function originOf(entry) {
  return new URL(placeOf(entry)).origin;
}

/** Whether the report of an entry may go there. */
function isPromisedTo(entry, to) {
  return originOf(entry) === originOf(to) && !entry.relay === !to.relay;
}

function stateOf(entry) {
  const state = ["withdrawn", "refused", "booked"].find((state) => entry[state]);
  return state ?? (entry.bytes ? "pending" : entry.left ? "relayed" : "sent");
}

/** An entry of which nothing is to be sent any more. `left` says what is not certain: whether it counts. */
function over(entry, more) {
  const { booked, bytes, keys, refused, attempted, ...kept } = entry;
  return { ...kept, id: about(entry).id, ...more };
}

/** What callers are told of an entry. */
function about(entry, more) {
  return { taskDigest: entry.wave, id: entry.id ?? (entry.bytes && reportIn(entry).id), ...more };
}

function reportIn(entry) {
  if (!entry.bytes) throw spent(entry);
  return reportOf(entry.bytes, entry.wave, entry.guarantee);
}

function refusal({ refused }) {
  return refused && failure(refused.code, refused.message, refused);
}

function spent({ taskDigest, withdrawn }) {
  return spoken("spent", taskDigest, withdrawn ? "withdrawn: its budget stays spent" : "sent", { withdrawn });
}

/** The error that says what became of a task's report. */
function spoken(code, taskDigest, why, details) {
  return failure(code, `this device's one report of task ${taskDigest} was ${why}`, details);
}

/** Rejects when the signal aborts, if there is one. */
export function aborted(signal) {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

/** That entries fit the limits: all together, and those of one period. Those of tasks without one are a period, too. */
function fit(entries, { maxEpsilonPerPeriod = Infinity, ...limits }, period) {
  allowed(total(entries), limits, "all reports together would spend", "budget");
  const { epsilon } = total(entries.filter((entry) => entry.period === period));
  within("maxEpsilonPerPeriod", "epsilon", epsilon, maxEpsilonPerPeriod, "this period's reports would spend", "budget");
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

function denied(cause, remedy = "load the page again") {
  if (cause instanceof LdpPcaError) return cause;
  // The message of a full disk may be empty; its name is not.
  const why = cause ?? "the browser gave it up";
  const told = REMEDIES[cause?.name ?? cause] ?? remedy;
  return failure("storage", `the ledger has no storage: ${why} (${told})`, { cause });
}

const STORE = "reports";
const LATE = `it took over ${STORAGE} ms: is another tab busy?`;
const REMEDIES = { QuotaExceededError: "free space on the device", [LATE]: "close the site's other tabs" };
/** What a change rejects with whose connection the browser closed: a suspended tab's, or when data are deleted. */
const LOST = ["AbortError", "InvalidStateError", "UnknownError"];

/** The entries that this page has seen, by their keys, by the name of the database. */
const seen = new Map();

function seenIn(name) {
  if (!seen.has(name)) seen.set(name, new Map());
  return seen.get(name);
}

/**
 * The disk's content under a name: `change` as in {@link transact}, and `close`. A connection that the browser closed
 * is opened again, twice at most per call: the browser may still be closing all that are open. Nobody knows whether the
 * change that it broke off is on the disk: the change is made anew, from what is there by then.
 */
async function openDatabase(name) {
  const known = seenIn(name);
  let isClosed = false;
  let opening;
  let database = await connect(name);
  const reopen = async () => {
    database.close();
    database = await connect(name);
    if (isClosed) database.close();
  };
  const change = async (edit, left = 2) => {
    const used = database;
    try {
      return await transact(used, known, edit).catch(async (cause) => {
        const isLost = cause === null || LOST.includes(cause?.name);
        if (!isLost || isClosed || left < 1) throw cause;
        if (used === database) await (opening ??= reopen().finally(() => (opening = undefined)));
        return change(edit, left - 1);
      });
    } catch (cause) {
      throw denied(cause);
    }
  };
  const close = () => {
    isClosed = true;
    database.close();
  };
  return { change, close };
}

function connect(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    setTimeout(() => {
      reject(LATE);
      request.onsuccess = () => request.result.close();
    }, STORAGE);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "taskDigest" });
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      // A visitor who deletes the data, or a later version of this library, does not have to wait.
      database.onversionchange = () => database.close();
      resolve(database);
    };
  });
}

/**
 * Runs `change(entries, write, stored)` in a transaction: when the promise resolves all of it is on the disk, or
 * nothing. The ledger deletes no entry: one that is `known` from an earlier transaction and not `stored` went with the
 * site's data, and still counts as long as its page lives. A transaction that is still open when its page is left is
 * given up, since a page that is kept for the way back would keep the storage, too.
 */
async function transact(database, known, change) {
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
      let entries;
      let result;
      store.getAll().onsuccess = ({ target: { result: stored } }) => {
        const there = stored.map((entry) => [entry.taskDigest, entry]);
        // In the order of the disk, and as it has them.
        entries = new Map([...there, ...known, ...there]);
        const put = (entry) => {
          store.put(entry);
          entries.set(entry.taskDigest, entry);
        };
        try {
          result = change([...entries.values()], { put }, stored);
        } catch (error) {
          abort(error);
        }
      };
      transaction.oncomplete = () => {
        for (const [key, entry] of entries) known.set(key, entry);
        resolve(result);
      };
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    over.abort();
  }
}

/** Runs `change(entries, write, stored)` on entries that last as long as the page lives, without a disk. */
export function memory(entries = new Map()) {
  const put = (entry) => entries.set(entry.taskDigest, entry);
  return async (change) => {
    const stored = [...entries.values()];
    return change(stored, { put }, stored);
  };
}
