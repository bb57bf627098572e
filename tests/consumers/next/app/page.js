"use client";

import { init, Randomizer, Task } from "ldp-pca";
import { useEffect } from "react";

import { participateInPage } from "../participate.js";

export default function Page() {
  useEffect(() => {
    participateInPage({ init, Randomizer, Task });
  }, []);
  return <p>Next</p>;
}
