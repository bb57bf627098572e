// A survey's page, as an app has it: what is tested here is that its tests can run it.

import { consent, init, issuedId, PrivacyLedger, Randomizer, Task } from "ldp-pca";

const WORDS = { accepted: "Counted.", duplicate: "Counted before.", pending: "Kept for later.", refused: "Closed." };

export async function show(root, url) {
  await init();
  const task = await Task.fetch(`${url}/tasks/current`);
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  const id = issuedId(task, { url });
  root.innerHTML = '<form><p></p><input name="running" value="4"><button>Agree</button></form><output></output>';
  root.querySelector("p").textContent = consent(task).text;
  root.querySelector("form").onsubmit = async (event) => {
    event.preventDefault();
    const running = Number(root.querySelector("input").value);
    const record = { running, cycling: 5, reading: -2, plan: "paid" };
    const { status } = await ledger.send(new Randomizer(task, { maxEpsilon: 2 }), record, { url, id });
    root.querySelector("output").textContent = WORDS[status];
  };
}
