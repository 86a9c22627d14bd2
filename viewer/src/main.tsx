import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./look.css";
import "./style.css";
import { App } from "./app";
import { Page, packsIn } from "./model/page";
import { Server } from "./model/server";

const root = document.getElementById("app");
const packs = packsIn(document);
if (root) render(<App source={packs.length > 0 ? new Page(packs) : new Server()} />, root);
