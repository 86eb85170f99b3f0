// What the browser tests ask of a page. Put into every page before its own scripts run.
window.probe = {
  seen: { order: [], counts: new Set() },

  // Every change of the marked step, frame by frame, and how many are marked at each frame.
  watchSteps() {
    const { seen } = window.probe
    const steps = [...document.querySelectorAll(".step")]
    const look = () => {
      const on = steps.filter((step) => step.classList.contains("on"))
      const current = steps.filter((step) => step.getAttribute("aria-current") === "step")
      seen.counts.add(on.length === 1 && current.length === 1 && on[0] === current[0] ? 1 : on.length)
      const index = steps.indexOf(on[0])
      if (seen.order.at(-1) !== index) seen.order.push(index)
    }
    new MutationObserver(look).observe(document.querySelector(".steps"), { subtree: true, attributeFilter: ["class"] })
    const every = () => { look(); requestAnimationFrame(every) }
    every()
  },
  seenCounts: () => [...window.probe.seen.counts],

  // The step that is marked, and the one whose top passed the reading line last.
  nearest() {
    const tops = [...document.querySelectorAll(".step")].map((step) => step.getBoundingClientRect().top)
    const passed = tops.filter((top) => top <= kv.page.steps.line + 0.5).length
    return { active: kv.page.steps.active, expected: Math.max(0, passed - 1) }
  },

  drawn: () => Boolean((kv.page.stage.chart ?? kv.page.stage.root).dataset.drawn),

  // Paper colour, and where the figure is in the document.
  clip() {
    const box = document.querySelector(".scrolly .stage-canvas").getBoundingClientRect()
    const clip = { x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1 }
    return [getComputedStyle(document.body).backgroundColor, clip]
  },

  // What is drawn may not leave its place: words within the picture, the picture within the canvas or
  // the part of it that the figure's window can be moved to, the canvas clear of what follows.
  spills() {
    const canvas = document.querySelector(".scrolly .stage-canvas")
    const box = canvas.getBoundingClientRect()
    const svg = canvas.querySelector("svg.figure-svg")
    const picture = svg?.getBoundingClientRect() ?? box
    const [top, bottom] = [box.top - canvas.scrollTop, box.top - canvas.scrollTop + canvas.scrollHeight]
    const told = []
    for (const node of canvas.querySelectorAll("svg.figure-svg text, svg.figure-svg rect")) {
      const at = node.getBoundingClientRect()
      const out = at.left < box.left - 2 || at.right > box.right + 2 || at.top < Math.max(top, picture.top) - 3 || at.bottom > Math.min(bottom, picture.bottom) + 3
      if (at.width && out) told.push(`${node.tagName} “${node.textContent}” of ${node.closest("[data-key]")?.dataset.key}`)
    }
    const chart = canvas.querySelector(".chart > *")?.getBoundingClientRect()
    if (chart && chart.bottom > bottom + 2) told.push("the chart is taller than its place")
    const below = document.querySelector(".scrolly .stage-controls").getBoundingClientRect()
    if (box.bottom > below.top + 2 && box.right > below.left + 2) told.push("the canvas lies over the controls")
    if (document.documentElement.scrollWidth > innerWidth + 1) told.push("the page is wider than the window")
    return told
  },

  // All that is seen of the figure, in an order of its own.
  picture() {
    const marks = [...kv.page.stage.svg.children]
    const told = marks.map((node) => [node.dataset.key, node.getAttribute("class").replace(" enter", ""), node.textContent, node.style.transform].join())
    return told.sort().join("|")
  },

  // Every cell, label and bar in every state given, drawn by the page's own stage.
  sweep([name, states]) {
    const { stage } = kv.page
    return states.map((state) => {
      stage.show(name, state, kv.run)
      const cells = {}
      for (const node of stage.svg.querySelectorAll(".cell")) {
        const tip = (typeof node.kvTip === "function" ? node.kvTip() : node.kvTip) ?? []
        cells[node.dataset.key] = { text: node.textContent, state: node.getAttribute("class"), tip }
      }
      const read = (what, value) => Object.fromEntries([...stage.svg.querySelectorAll(what)].map((node) => [node.dataset.key, value(node)]))
      const labels = read("text.label", (node) => node.textContent)
      const bars = read(".bar", (node) => Number(node.getAttribute("width")))
      return { state, cells, labels, bars, params: stage.params, said: stage.status.textContent }
    })
  },

  // Params for which no two values draw anything different, whatever the others are.
  deadControls() {
    const looks = (stage, params) => {
      const p = stage.resolve(params)
      const ctx = { run: stage.run, p, w: 640, kit: kv.kit, spec: stage.spec }
      const { draw, columns } = stage.figure
      const need = stage.figure.need?.(ctx) // what is asked of the server differs, or has been answered
      if (need && !stage.run.answers?.[need.key]) return need.key
      const drawn = columns ? columns(ctx) : draw(ctx).marks.map((m) => m && [m.k, m.x, m.y, m.w, m.h, m.text, m.role, m.state, m.d, m.cls])
      return JSON.stringify([drawn, stage.figure.status(ctx)])
    }
    const valuesOf = (stage, spec) => {
      if (spec.kind === "toggle") return [false, true]
      if (spec.kind === "choice") return stage.options(spec)
      const [low, high] = stage.bounds(spec)
      return [...new Set([low, Math.floor((low + high) / 2), high])]
    }
    const dead = []
    for (const stage of kv.page.stages) {
      const { params } = stage.spec
      const others = params.flatMap((spec) => valuesOf(stage, spec).map((value) => ({ [spec.name]: value })))
      for (const spec of params.filter((one) => !one.hidden)) {
        const alive = [{}, ...others].some((base) => {
          const seen = valuesOf(stage, spec).map((value) => looks(stage, { ...stage.params, ...base, [spec.name]: value }))
          return new Set(seen).size > 1
        })
        if (!alive) dead.push(`${stage.name}: ${spec.name}`)
        if (!stage.controls.querySelector(`[name="${spec.name}"]`)) dead.push(`${stage.name}: ${spec.name} has no control`)
      }
    }
    return dead
  },

  // Everything the Tab key stops at, and whether the focus can be seen there.
  tabStops() {
    const found = []
    for (const node of document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')) {
      if (!node.checkVisibility({ visibilityProperty: true }) || node.disabled) continue
      node.focus()
      const rect = node.querySelector("rect")
      const ringed = getComputedStyle(node).outlineStyle !== "none" || (rect && getComputedStyle(rect).strokeWidth === "3px")
      const seen = ringed || node.classList.contains("skip") || document.activeElement !== node || !node.matches(":focus-visible")
      found.push([node.outerHTML.slice(0, 80), seen])
    }
    return found
  },

  smallTargets() {
    const targets = ".masthead :is(button, a, summary, input), .stage-holder :is(button, select, input, summary), .question :is(button, label)"
    return [...document.querySelectorAll(targets)].filter((node) => node.checkVisibility()).flatMap((node) => {
      const box = (node.closest("label") ?? node).getBoundingClientRect()
      return box.width && (box.height < 23.5 || box.width < 23.5) ? [`${node.outerHTML.slice(0, 90)} ${box.width}×${box.height}`] : []
    })
  },

  moving() {
    const moves = (node) => {
      const style = getComputedStyle(node)
      return parseFloat(style.transitionDuration) > 0 || (style.animationName !== "none" && parseFloat(style.animationDuration) > 0)
    }
    return [...document.querySelectorAll("*")].filter(moves).length + document.getAnimations().length
  },

  longestMotion() {
    return Math.max(...[...document.querySelectorAll("*")].flatMap((node) => {
      const style = getComputedStyle(node)
      return [style.transitionDuration, style.animationDuration].flatMap((one) => one.split(",").map(parseFloat))
    }))
  },

  stepsInInk() {
    const ink = getComputedStyle(document.body).color
    return [...document.querySelectorAll(".step")].every((step) => getComputedStyle(step).color === ink)
  },

  // Move every slider of every figure through all its positions, with every option of every choice.
  async sliders(names = null) {
    const found = { sliders: [], stuck: [], alike: [] }
    const frame = () => new Promise((done) => requestAnimationFrame(done))
    const seen = (stage) => {
      const chart = stage.chart && JSON.stringify(stage.figure.columns({ run: stage.run, p: stage.params, w: 600, kit: kv.kit, spec: stage.spec }))
      const marks = stage.chart ? chart : JSON.stringify(stage.figure.draw({ run: stage.run, p: stage.params, w: 600, kit: kv.kit, spec: stage.spec }))
      return marks + stage.status.textContent
    }
    const settled = async (stage) => {
      for (let i = 0; i < 600; i++) {
        const need = stage.figure.need?.({ run: stage.run, p: stage.params, w: 600, kit: kv.kit, spec: stage.spec })
        if (!need || stage.run.answers[need.key]) return true
        await frame()
      }
      return false
    }
    for (const stage of kv.page.stages.filter((one) => !names || names.includes(one.name))) {
      const choices = stage.spec.params.filter((one) => ["choice", "toggle"].includes(one.kind))
      const states = [{}, ...choices.flatMap((one) => (one.options ?? [false, true]).map((option) => ({ [one.name]: option })))]
      for (const state of states) for (const slider of stage.spec.params.filter((one) => ["range", "time"].includes(one.kind) && !one.hidden)) {
        const start = Object.fromEntries(stage.spec.params.map((one) => [one.name, one.default]))
        stage.show(stage.name, { ...start, ...state }, stage.run)
        if (!await settled(stage)) continue
        const input = stage.controls.querySelector(`input[name="${slider.name}"]`)
        if (!input || input.closest("[hidden]")) continue
        const [low, high] = [Number(input.min), Number(input.max)]
        if (!found.sliders.some(([figure, name]) => figure === stage.name && name === slider.name)) found.sliders.push([stage.name, slider.name])
        let before = null
        for (let v = low; v <= high; v++) {
          input.value = v
          input.dispatchEvent(new Event("input", { bubbles: true }))
          if (!await settled(stage)) { found.stuck.push([stage.name, slider.name, state, v, "no answer"]); continue }
          if (stage.params[slider.name] !== v) found.stuck.push([stage.name, slider.name, state, v])
          const now = seen(stage)
          if (now === before) found.alike.push([stage.name, slider.name, state, v])
          before = now
        }
      }
    }
    return found
  },
}
