/** All that a page needs to play pictures and to show live ones; a page has it once for each version. */

import * as following from "./following.js";
import * as stepper from "./stepper.js";

export { folded } from "./fold.js";
export { mount } from "./player.js";
export { following, stepper };
