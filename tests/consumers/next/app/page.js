"use client";

import { init, Randomizer, submit, Task } from "ldp-pca";
import * as worker from "ldp-pca/worker";
import { useEffect } from "react";

import { participateInPage } from "../participate.js";

export default function Page() {
  useEffect(() => {
    participateInPage({ init, Randomizer, submit, Task }, worker);
  }, []);
  return <p>Next</p>;
}
