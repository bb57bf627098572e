import { consent, init, issuedId, LdpPcaError, PrivacyLedger, Randomizer, Task } from "ldp-pca";

const url = import.meta.env.VITE_AGGREGATOR;
const digest = import.meta.env.VITE_TASK;

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");

async function start() {
  await init();
  const task = await Task.fetch(`${url}/tasks/${digest}`, { digest });
  const randomizer = new Randomizer(task, { maxEpsilon: 2 });
  // The aggregator accepts only reports with ids that it issued. The id arrives while the visitor reads, and reveals
  // nothing about a record.
  const id = issuedId(task, { url });
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });

  form.querySelector("#consent").textContent = consent(task).text;
  form.querySelector("button").disabled = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    participate(ledger, randomizer, id).catch(show);
  });
  // Send in the background what an earlier visit could not send.
  ledger.flush().catch(show);
}

async function participate(ledger, randomizer, id) {
  const { running, cycling, reading, plan } = Object.fromEntries(new FormData(form));
  const record = { running: Number(running), cycling: Number(cycling), reading: Number(reading), plan };

  // The report is stored before it is sent: a reload or a second click sends the same report, which counts once.
  status.textContent = "Sending …";
  const outcome = await ledger.send(randomizer, record, { url, id });
  status.textContent = SAID[outcome.status];
}

const SAID = {
  accepted: "Counted. Thank you!",
  duplicate: "You took part already. Thank you!",
  pending: "Your report is kept, and sent at your next visit.",
  refused: "Your report was not taken. The survey may be over.",
};

function show(error) {
  status.textContent = error.message;
  if (!(error instanceof LdpPcaError)) throw error;
}

start().catch(show);
