const { init, issuedId, Randomizer, submit, Task } = require("ldp-pca");

const { participate } = require("./participate.js");

participate({ init, issuedId, Randomizer, submit, Task }, process.argv[2]).then((outcome) => console.log(JSON.stringify(outcome)));
