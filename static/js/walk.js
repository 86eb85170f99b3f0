// Arrow keys walk from number to number of a figure; Tab passes a figure in one stop.
(() => {
  const EDGE = 4 // px kept free round the number that has the focus
  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }

  /** The nearest number that way; one straight ahead is nearer than one aside. */
  const next = (svg, current, [dx, dy]) => {
    const here = current.getBoundingClientRect()
    let best = null
    let bestCost = Infinity
    for (const node of svg.querySelectorAll("[role=button]")) {
      if (node === current) continue
      const there = node.getBoundingClientRect()
      const x = there.left + there.width / 2 - here.left - here.width / 2
      const y = there.top + there.height / 2 - here.top - here.height / 2
      const along = x * dx + y * dy
      const across = Math.abs(x * dy) + Math.abs(y * dx)
      if (along > 2 && along + 3 * across < bestCost) { best = node; bestCost = along + 3 * across }
    }
    return best
  }
  /** Bring a number into the figure's own window; the page stays where it is. */
  const reveal = (canvas, node) => {
    const [seen, at] = [canvas.getBoundingClientRect(), node.getBoundingClientRect()]
    if (at.top < seen.top + EDGE) canvas.scrollTop -= seen.top + EDGE - at.top
    else if (at.bottom > seen.bottom - EDGE) canvas.scrollTop += at.bottom - seen.bottom + EDGE
  }
  kv.walk = (stage, event) => {
    const current = event.target.closest?.("[role=button]")
    if (!WAYS[event.key] || !current) return
    event.preventDefault()
    event.stopPropagation()
    const best = next(stage.svg, current, WAYS[event.key])
    if (!best) return
    current.setAttribute("tabindex", "-1")
    best.setAttribute("tabindex", "0")
    best.focus({ preventScroll: true })
    reveal(stage.canvas, best)
  }
})()
