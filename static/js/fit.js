// A figure taller than its place keeps its words readable: it is seen through a window that
// follows what is new. Two buttons move the window; wheel and finger scroll the page, as anywhere.
(() => {
  const LEAST_PX = 9.2 // no word of a figure is smaller than that on the screen
  const EDGE = 6

  const smallest = (svg) => {
    let least = 12
    for (const text of svg.querySelectorAll("text")) if (text.textContent) least = Math.min(least, parseFloat(getComputedStyle(text).fontSize))
    return least
  }
  /** Size the picture: all of it when it can be read so, else as small as can be read. */
  const size = (stage) => {
    const { canvas, svg } = stage
    const { width, height } = svg.viewBox.baseVal
    const room = Math.min(canvas.clientWidth / width, canvas.clientHeight / height)
    const scale = Math.max(room, Math.min(canvas.clientWidth / width, LEAST_PX / smallest(svg)))
    Object.assign(svg.style, { width: `${width * scale}px`, height: `${height * scale}px` })
  }
  const hidden = ({ canvas }) => canvas.scrollHeight - canvas.clientHeight > EDGE
  /** Bring what is marked as new into the window, its top first when it is taller. */
  const follow = ({ canvas, svg, figure }) => {
    const boxes = [...(svg ?? canvas).querySelectorAll(figure.news ?? ".cell.now, .bar.now")].map((node) => node.getBoundingClientRect())
    if (!boxes.length) { canvas.scrollTop = 0; return }
    const from = canvas.getBoundingClientRect().top - canvas.scrollTop
    const [top, bottom] = [Math.min(...boxes.map((box) => box.top)) - from, Math.max(...boxes.map((box) => box.bottom)) - from]
    const spare = canvas.clientHeight - (bottom - top)
    canvas.scrollTop = spare > 0 ? top - spare / 2 : top - EDGE
  }
  const show = (stage) => {
    const { canvas, pan } = stage
    pan.hidden = !hidden(stage)
    const [up, down] = pan.children
    up.disabled = canvas.scrollTop <= 1
    down.disabled = canvas.scrollTop >= canvas.scrollHeight - canvas.clientHeight - 1
  }
  const panOf = (stage) => {
    const { canvas } = stage
    const by = (share) => () => { canvas.scrollTop += share * canvas.clientHeight; show(stage) }
    const node = kv.html("div", { class: "stage-pan", role: "group", "aria-label": "Move the figure", hidden: true },
      kv.html("button", { type: "button", "aria-label": "Show what is above", onclick: by(-0.7) }, "▲"),
      kv.html("button", { type: "button", "aria-label": "Show what is below", onclick: by(0.7) }, "▼"))
    stage.root.querySelector(".stage-head")?.append(node)
    canvas.addEventListener("scroll", () => show(stage), { passive: true })
    return node
  }
  /** How high a picture may be to be seen whole; none where the page makes room for any. */
  kv.room = ({ canvas }) => (canvas.closest(".stage-holder") && getComputedStyle(canvas).overflowY === "hidden" ? canvas.clientHeight : Infinity)
  /** Called when a picture has been drawn anew. */
  kv.fit = (stage) => {
    if (!stage.canvas.closest(".stage-holder")) return
    stage.pan ??= panOf(stage)
    const narrow = getComputedStyle(stage.canvas).overflowY === "hidden"
    if (!stage.chart) { if (narrow) size(stage); else stage.svg.removeAttribute("style") }
    const state = JSON.stringify([stage.name, stage.params])
    if (narrow && state !== stage.fitted) follow(stage)
    stage.fitted = state
    show(stage)
  }
})()
