import { consent, init, issuedId, LdpPcaError, PrivacyLedger, Randomizer, Task } from "ldp-pca";

const url = import.meta.env.VITE_AGGREGATOR;
const digest = import.meta.env.VITE_TASK;

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");

async function start() {
  await init();
  const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
  const randomizer = new Randomizer(task, { maxEpsilon: 2 });
  // The aggregator takes reports with ids that it issued. Asked for now, while there is a connection; it says nothing of a record.
  const id = await issuedId(task, { url });

  // One report per device. What an earlier visit could not send goes out now.
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  await ledger.flush();

  form.querySelector("#consent").textContent = consent(task).text;
  form.querySelector("button").disabled = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    participate(ledger, randomizer, id).catch(show);
  });
}

async function participate(ledger, randomizer, id) {
  const { running, cycling, reading, plan } = Object.fromEntries(new FormData(form));
  const record = { running: Number(running), cycling: Number(cycling), reading: Number(reading), plan };

  // The report is kept before it is sent: a reload or a second click sends the same one, which counts once.
  await ledger.report(randomizer, record, { url, id });
  status.textContent = "Sending …";
  const [outcome] = await ledger.flush();
  status.textContent = outcome?.error ? "Your report is kept, and sent when there is a connection." : "Counted. Thank you!";
}

function show(error) {
  const known = error instanceof LdpPcaError;
  status.textContent = known && error.code === "spent" ? "You took part already. Thank you!" : error.message;
  if (!known) throw error;
}

start().catch(show);
