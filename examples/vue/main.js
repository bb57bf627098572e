import { createApp } from "vue";

import Survey from "./Survey.vue";

createApp(Survey).mount("#app");
