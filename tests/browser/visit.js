// The page of a survey, by the parts as the package's README has it, for visits.test.js: what it is to do stands behind
// the # of its address.

const { entry, url, relay, task: json, record, options, open, init } = JSON.parse(
  decodeURIComponent(location.hash.slice(1)),
);

const workers = [];
window.Worker = class extends Worker {
  constructor(...parameters) {
    super(...parameters);
    workers.push(this);
  }
};

const api = await import(entry);
await api.init(undefined, init);
const task = await api.Task.parse(json);
const randomizer = new api.Randomizer(task, { maxEpsilon: 4 });
const events = [];
const tellAll = (outcomes) => outcomes.map(told);
const onFlush = (outcomes) => events.push(["online", tellAll(outcomes)]);
const opening = performance.now();
const ledger = await api.PrivacyLedger.open({ maxEpsilon: 4, onFlush, ...open });
const opened = performance.now() - opening;
// Not awaited: it comes while the visitor reads. Behind a relay nobody is asked for one.
const to = relay ? { relay } : { url, id: api.issuedId(task, { url }) };

/** The messages of a page to its visitor. */
function told({ status, id, error, retryOn, retryAfter }) {
  return { status, id, error: error && (error.type ?? error.code), retryOn, retryAfter };
}

function agree(more) {
  const sent = ledger.send(randomizer, record, { ...to, ...options, ...more });
  return sent.then(told, (error) => ({
    status: error?.code ? `error ${error.code}` : `${error}`,
    message: error?.message,
  }));
}

Object.assign(window, {
  agree, api, digest: task.digest, events, id: to.id, ledger, workers,
  states: async () => (await ledger.status()).reports.map(({ state }) => state),
});
document.querySelector("button").disabled = false;
// From the start of the visit; and what of it is the ledger's.
window.usable = [performance.now(), opened];
events.push(["usable"]);
// Behind the form.
window.flushed = ledger.flush(options).then(tellAll, (error) => [{ status: `error ${error.code}` }]);
window.flushed.then((outcomes) => events.push(["flushed", outcomes]));
