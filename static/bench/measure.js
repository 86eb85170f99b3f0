// What a benchmark asks of a page; put into it before its own scripts run, served to no reader.
window.bench = {
  idle: null,

  watch() {
    const look = () => {
      const { live, ready } = document.documentElement.dataset
      if (live === "yes" && ready) bench.idle ??= performance.now()
    }
    new MutationObserver(look).observe(document, { subtree: true, attributeFilter: ["data-live", "data-ready"] })
  },

  // After the frame in which the change is drawn has been handed over to be shown.
  painted: () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => done(performance.now())
    port2.postMessage(0)
  })),

  load() {
    const [page] = performance.getEntriesByType("navigation")
    const files = performance.getEntriesByType("resource")
    const sum = (name) => [page, ...files].reduce((total, entry) => total + entry[name], 0)
    return {
      paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
      idle: bench.idle, requests: files.length + 1, raw: sum("decodedBodySize"), sent: sum("encodedBodySize"),
    }
  },

  // A sentence put into the box, to the figure of it on the screen.
  async type(text) {
    const input = document.querySelector("#sentence")
    const setRun = kv.setRun
    const drawn = new Promise((done) => {
      kv.setRun = (run) => { setRun(run); if (run.text === text) { kv.setRun = setRun; done() } }
    })
    const start = performance.now()
    input.value = text
    input.dispatchEvent(new Event("input", { bubbles: true }))
    await drawn
    return (await bench.painted()) - start
  },

  // A scroll to a step: frames and time until its figure is on the screen.
  async step(index) {
    const { root } = kv.page.stage
    const before = root.dataset.drawn
    const section = document.querySelectorAll(".step")[index]
    await bench.painted()
    const start = performance.now()
    section.scrollIntoView({ behavior: "instant", block: "start" })
    let frames = 0
    while (root.dataset.drawn === before && frames < 60) {
      frames++
      await new Promise(requestAnimationFrame)
    }
    const active = Number(root.dataset.drawn)
    const end = await bench.painted()
    return { frames, ms: end - start, fromActive: end - active }
  },
}
bench.watch()
