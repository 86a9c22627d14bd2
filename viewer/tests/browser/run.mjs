// Tests of the viewer in a browser, on real recordings: all in one process, which makes the recordings once.

import "./address.mjs";
import "./advice.mjs";
import "./comparison.mjs";
import "./doors.mjs";
import "./exports.mjs";
import "./labels.mjs";
import "./memory.mjs";
import "./page.mjs";
import "./screens.mjs";
import "./server.mjs";
import "./source.mjs";
import "./texts.mjs";
import "./time_line.mjs";
import "./trees.mjs";
import "./views.mjs";
