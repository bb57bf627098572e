const { init, Randomizer, Task } = require("ldp-pca");

const { participate } = require("./participate.js");

participate({ init, Randomizer, Task }, process.argv[2]).then((outcome) => console.log(JSON.stringify(outcome)));
