import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";
import { sourceOf } from "./model/source";

const root = document.getElementById("app");
if (root) render(<App source={sourceOf(document)} />, root);
