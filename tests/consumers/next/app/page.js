"use client";

import { init, issuedId, Randomizer, submit, Task } from "ldp-pca";
import * as worker from "ldp-pca/worker";
import { useEffect } from "react";

import { participateInPage } from "../participate.js";

export default function Page() {
  useEffect(() => {
    participateInPage({ init, issuedId, Randomizer, submit, Task }, worker);
  }, []);
  return <p>Next</p>;
}
