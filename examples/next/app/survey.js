"use client";

import { collect, explain, resume } from "ldp-pca/collect";
import { useEffect, useState } from "react";

export default function Survey({ survey, children }) {
  const [told, setTold] = useState("…");

  useEffect(() => {
    setTold("");
    void resume(survey); // in the background: what an earlier visit could not send
  }, [survey]);

  function takePart(event) {
    event.preventDefault();
    setTold("…");
    // The consent stands above the button.
    collect({ ...survey, consent: "given" }, event.currentTarget).then(explain, explain).then(setTold);
  }

  return (
    <form onSubmit={takePart} noValidate>
      {["running", "cycling", "reading"].map((name) => (
        <p key={name}>
          <label>
            {name} <input name={name} type="number" min="-5" max="5" />
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
      <button disabled={told === "…"}>Agree and take part</button>
      <p role="status">{told}</p>
    </form>
  );
}
