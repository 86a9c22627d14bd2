// What the tasks of a page's main thread take: on a busy machine, their CPU time says more than how long they last.

export async function tracer(page) {
    const session = await page.context().newCDPSession(page);
    let events = [];
    session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
    const start = () => session.send("Tracing.start", { traceConfig: { includedCategories: ["disabled-by-default-devtools.timeline", "devtools.timeline"] }, transferMode: "ReportEvents" });
    /** The longest since the start, ms, and what the CPU time of the largest was. */
    const longest = async () => {
        const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
        await session.send("Tracing.end");
        await complete;
        // The browser has pages of its own, in processes of their own.
        const frames = events.flatMap(({ name, args }) => (name === "TracingStartedInBrowser" ? args.data.frames : name === "FrameCommittedInBrowser" ? [args.data] : []));
        const own = new Set(frames.filter(({ url }) => url.startsWith("http:")).map(({ processId }) => processId));
        const mains = new Set(events.filter((one) => one.args?.name === "CrRendererMain" && own.has(one.pid)).map((one) => `${one.pid}/${one.tid}`));
        const tasks = events.filter((one) => one.name === "RunTask" && mains.has(`${one.pid}/${one.tid}`));
        const [wall, cpu] = ["dur", "tdur"].map((time) => Math.max(0, ...tasks.map((task) => task[time] ?? 0)) / 1000);
        events = [];
        return { wall, cpu };
    };
    await start();
    return { start, longest };
}
