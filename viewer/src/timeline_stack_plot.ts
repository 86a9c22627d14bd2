// Draws a metric that is divided among functions or types.

import uPlot from "uplot";
import type { Span } from "./model/activity";
import { meets, scaleOf, type Stack } from "./model/stacked";

/** The variable of a layer's color. */
export const colorName = (color: number) => (color === 0 ? "--stack-rest" : `--stack-${color}`);

/** The layers one over the other, each down to zero, so that no gap is between them; above them the curve that they add up to. */
export function drawStack(of: uPlot, stack: Stack, seen: Span, color: (name: string) => string): void {
    const { ctx, bbox } = of;
    const [begin, end] = meets(stack, seen);
    if (begin >= end) return;
    const scale = scaleOf(stack);
    const x = (at: number) => of.valToPos((stack.start + at * stack.interval) / 1e9, "x", true);
    const y = (value: number) => of.valToPos(value * scale, "live", true);
    const steps = (top: ArrayLike<number>) => {
        for (let at = begin; at < end; at++) {
            ctx.lineTo(x(at), y(top[at]!));
            ctx.lineTo(x(at + 1), y(top[at]!));
        }
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const layer of stack.layers.toReversed()) {
        ctx.beginPath();
        ctx.moveTo(x(begin), y(0));
        steps(layer.top);
        ctx.lineTo(x(end), y(0));
        ctx.closePath();
        ctx.fillStyle = color(colorName(layer.color));
        ctx.fill();
    }
    ctx.beginPath();
    steps(stack.layers.at(-1)!.top);
    ctx.strokeStyle = color("--curve");
    ctx.lineWidth = devicePixelRatio;
    ctx.stroke();
    ctx.restore();
}
