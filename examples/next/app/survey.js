"use client";

import { init, PrivacyLedger, Randomizer, Task } from "ldp-pca";
import { useEffect, useState } from "react";

const WORDS = {
  accepted: "Counted. Thank you!",
  duplicate: "You took part already. Thank you!",
  pending: "Your report is kept, and sent when you come back.",
  refused: "The collection is closed.",
};

export default function Survey({ url, document, children }) {
  const [visit, setVisit] = useState();
  const [told, setTold] = useState("");
  const fail = (error) => setTold(error.message);

  useEffect(() => {
    let left = false;
    start(document).then((found) => {
      if (left) return found.ledger.close();
      setVisit(found);
      setTold(found.before ? WORDS.duplicate : "");
    }, fail);
    return () => {
      left = true;
    };
  }, [document]);

  function agree(event) {
    event.preventDefault();
    const { plan, ...numbers } = Object.fromEntries(new FormData(event.target));
    const record = { plan };
    for (const [name, text] of Object.entries(numbers)) record[name] = Number(text);
    setTold("Sending …");
    visit.ledger.send(visit.randomizer, record, { url }).then(({ status }) => setTold(WORDS[status]), fail);
  }

  return (
    <form onSubmit={agree}>
      {["running", "cycling", "reading"].map((name) => (
        <p key={name}>
          <label>
            {name} <input name={name} type="number" min="-5" max="5" defaultValue="0" required />
          </label>
        </p>
      ))}
      <p>
        <label>
          Your plan{" "}
          <select name="plan">
            <option>free</option>
            <option>paid</option>
          </select>
        </label>
      </p>
      {children}
      <button disabled={!visit || told !== ""}>Take part</button>
      <p role="status">{told}</p>
    </form>
  );
}

async function start(document) {
  await init();
  const task = Task.parse(document);
  const ledger = await PrivacyLedger.open({ maxEpsilon: 2 });
  void ledger.flush(); // in the background: reports that an earlier visit could not send
  const { reports } = await ledger.status();
  const before = reports.some(({ state, taskDigest }) => state === "sent" && taskDigest === task.digest);
  return { before, ledger, randomizer: new Randomizer(task, { maxEpsilon: 2 }) };
}
