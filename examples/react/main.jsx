import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

import { visit } from "./visit.js";

const LIKED = ["running", "cycling", "reading"];

function Survey() {
  const [current, setCurrent] = useState();
  const [told, setTold] = useState("");
  const fail = (error) => setTold(error.message);

  useEffect(() => {
    visit.then((found) => {
      setCurrent(found);
      setTold(found.told);
    }, fail);
  }, []);

  function agree(event) {
    event.preventDefault();
    const { plan, ...numbers } = Object.fromEntries(new FormData(event.target));
    const record = { plan };
    for (const [name, text] of Object.entries(numbers)) record[name] = Number(text);
    setTold("Sending …");
    current.agree(record).then(setTold, fail);
  }

  return (
    <form onSubmit={agree}>
      {LIKED.map((name) => (
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
      <p>{current?.text ?? "…"}</p>
      <button disabled={!current || told !== ""}>Take part</button>
      <p role="status">{told}</p>
    </form>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <h1>How much do you like …</h1>
    <Survey />
  </StrictMode>,
);
