// On paper every step carries its own figure; a chart is printed as its numbers.
(() => {
  const WIDTH = 480
  const printed = ({ figure: name, params }, page) => {
    const shown = Object.assign(Object.create(kv.Stage.prototype), { name, specs: page.specs, run: kv.run })
    const figure = kv.figures[name]
    const p = shown.resolve({ ...params, ...page.shared })
    const part = figure.part?.(p)
    if (part && !kv.run.has(part)) return null
    const ctx = { run: kv.run, p, w: WIDTH, kit: kv.kit, spec: shown.spec }
    const caption = kv.html("figcaption", {}, `${shown.spec.title}. ${figure.status(ctx)}`)
    if (!figure.draw) return kv.html("figure", { class: "printed-figure" }, kv.tableOf(figure.table(ctx)), caption)
    const svg = kv.kit.el("svg", { class: "figure-svg", role: "img", "aria-label": shown.spec.title })
    kv.kit.patch(svg, figure.draw(ctx))
    return kv.html("figure", { class: "printed-figure" }, svg, caption)
  }
  const clear = () => { for (const node of document.querySelectorAll(".printed-figure")) node.remove() }
  addEventListener("beforeprint", () => {
    const { page } = kv
    if (!page.lesson || !kv.run) return
    clear()
    document.querySelectorAll(".step").forEach((step, i) => {
      const node = printed(page.lesson.steps[i], page)
      if (node) step.append(node)
    })
  })
  addEventListener("afterprint", clear)
})()
