// The page: one state (sentence, step, layer, head, figure params); address.js keeps it in the address.
(() => {
  const page = (kv.page = { shared: {}, stages: [], specs: {} })
  const data = (id) => { const node = document.getElementById(id); return node ? JSON.parse(node.textContent) : null }

  const address = (page.address = new kv.Address(page))
  page.keep = (text) => { page.waiting = text ?? undefined; address.writeSoon() }
  page.stepNamed = (hash) => Math.max(0, page.lesson?.steps.findIndex((step) => `#${step.id}` === hash) ?? 0)
  kv.tell = (words) => {
    const node = document.querySelector("[data-notice]")
    node.textContent = [node.textContent, words].filter(Boolean).join(" ")
    node.hidden = false
  }

  // ---- the run
  kv.setRun = (payload) => {
    kv.run = new kv.Run(payload, page.weights)
    kv.sentence.chips(kv.run)
    for (const node of document.querySelectorAll("[data-live]")) {
      const value = kv.run.live[node.dataset.live]
      if (value) { node.textContent = value.text; node.dataset.tip = value.how }
    }
    if (address.asked) page.show()
    else for (const stage of page.stages) stage.newRun(kv.run)
    address.writeSoon()
    kv.sentence.completeSoon()
  }
  /** Every stage at its place, in the state the address asks for if it asks for one. */
  page.show = () => {
    const said = page.stages.map((stage) => stage.shown()).filter(Boolean)
    if (said.length) address.settle(said.flat())
  }
  kv.addPart = (part, payload) => {
    kv.run.addPart(part, payload)
    for (const stage of page.stages) stage.newRun(kv.run)
  }

  // ---- stages
  const addStage = (root, place) => {
    const onParam = (name, value, byHand = true) => {
      if (name && kv.Address.shared(stage, name)) page.shared[name] = value
      if (byHand) address.writeSoon()
    }
    const stage = new kv.Stage(root, page.specs, onParam)
    stage.place = place
    stage.shown = () => {
      if (!kv.run) return
      const { figure, params } = place()
      const here = { ...params, ...page.shared }
      stage.show(figure, here, kv.run) // first as it stands here: the ends of its sliders depend on that
      const asked = address.askedOf(stage, figure)
      const names = Object.keys(asked.params)
      if (names.length) stage.show(figure, { ...here, ...asked.params }, kv.run, names)
      return asked.here ? address.corrections(stage, asked) : null
    }
    page.stages.push(stage)
    return stage
  }
  const lessonStage = (root) => {
    const current = () => page.lesson.steps[Math.max(0, page.steps?.active ?? 0)]
    return addStage(root, current)
  }

  // ---- steps
  const onStep = (index) => {
    page.stage.stop()
    page.stage.more.open = false
    page.show()
    const counter = document.querySelector("[data-step-count]")
    if (counter) counter.textContent = `${index + 1} of ${page.lesson.steps.length}`
    document.querySelector("[data-go=previous]").disabled = index === 0
    document.querySelector("[data-go=next]").disabled = index === page.lesson.steps.length - 1
    address.writeSoon()
  }
  const typing = (node) => node.closest?.("input, select, textarea, [role=button], details, pre, table")
  const keys = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || typing(event.target)) return
    if (["ArrowRight", "j"].includes(event.key)) page.steps.go(page.steps.active + 1)
    else if (["ArrowLeft", "k"].includes(event.key)) page.steps.go(page.steps.active - 1)
    else return
    event.preventDefault()
  }
  /** A short sentence may not have the step that a try names: then it says which is shown. */
  const tellShort = (button, t) => {
    const told = (button.told ??= kv.html("span", { class: "small quiet", role: "status" }))
    const n = kv.run?.fed.length
    button.after(" ", told)
    told.textContent = Number.isInteger(t) && n && t >= n ? `Your sentence takes ${kv.kit.plural(n, "step")}; this is the last.` : ""
  }
  const startLesson = () => {
    page.stage = lessonStage(document.querySelector(".scrolly .stage"))
    page.steps = new kv.Steps([...document.querySelectorAll(".step")], onStep)
    document.querySelector("[data-go=previous]").addEventListener("click", () => page.steps.go(page.steps.active - 1, false))
    document.querySelector("[data-go=next]").addEventListener("click", () => page.steps.go(page.steps.active + 1, false))
    document.addEventListener("keydown", keys)
    for (const button of document.querySelectorAll("[data-try]")) {
      button.addEventListener("click", () => {
        const step = Number(button.closest(".step").dataset.step)
        if (page.steps.active !== step) page.steps.go(step, false)
        const { figure, params } = page.lesson.steps[step]
        const set = JSON.parse(button.dataset.try)
        page.stage.stop()
        page.stage.show(figure, { ...params, ...page.shared, ...set }, kv.run, Object.keys(set))
        tellShort(button, set.t)
        address.writeSoon()
      })
    }
    const asked = page.stepNamed(location.hash)
    if (asked > 0) page.steps.hold(asked) // before the address is written: a long page scrolls there late
    else page.steps.read()
    chartsAhead()
  }
  /** When the browser has nothing to do, the charts of later steps are made, one at a time. */
  const chartsAhead = async () => {
    for (const name of new Set(page.lesson.steps.map((step) => step.figure))) {
      await new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done) : setTimeout(done, 200)))
      await kv.chartAhead(page.stage, name)
    }
  }

  // ---- reading comfort
  const remember = (key, value) => { try { localStorage.setItem(key, value) } catch { /* private mode: for this page only */ } }
  const recall = (key) => { try { return localStorage.getItem(key) } catch { return null } }
  const comfort = () => {
    const root = document.documentElement
    for (const [key, values] of [["theme", ["auto", "light", "dark"]], ["motion", ["auto", "off"]]]) {
      const button = document.querySelector(`[data-switch=${key}]`)
      const show = (value) => { root.dataset[key] = value; if (button) button.querySelector("output").textContent = value }
      const saved = recall(`kv-${key}`)
      show(values.includes(saved) ? saved : "auto")
      button?.addEventListener("click", () => {
        const next = values[(values.indexOf(root.dataset[key]) + 1) % values.length]
        show(next)
        remember(`kv-${key}`, next)
      })
    }
    document.querySelector("[data-copy]")?.addEventListener("click", async (event) => {
      address.write()
      const say = event.currentTarget.querySelector("output")
      try { await navigator.clipboard.writeText(location.href); say.textContent = "copied" } catch { say.textContent = "copy it from the address bar" }
      setTimeout(() => { say.textContent = "" }, 2500)
    })
  }

  // A formula too wide for its column scrolls sideways, so it must be reachable by keyboard.
  const reachFormulas = () => {
    for (const math of document.querySelectorAll("math[display=block]")) {
      if (math.scrollWidth > math.clientWidth + 1) math.setAttribute("tabindex", "0")
      else math.removeAttribute("tabindex")
    }
  }

  const ask = (text) => {
    const input = document.querySelector("form.sentence input")
    if (!input) return
    input.value = text
    page.waiting = text
    kv.sentence.want(text)
  }
  /** Back or forward within the page: the address is the state. */
  page.restore = () => {
    const notice = document.querySelector("[data-notice]")
    notice.textContent = ""
    notice.hidden = true
    address.take()
    const text = address.query.get("s") ?? page.defaultText
    if (text !== undefined && text !== (page.waiting ?? kv.run?.text)) ask(text)
    const step = page.stepNamed(location.hash)
    if (page.steps && page.steps.active !== step) page.steps.go(step, false)
    else page.show()
  }

  const start = () => {
    comfort()
    reachFormulas()
    addEventListener("resize", reachFormulas)
    page.specs = data("kv-figures") ?? {}
    page.lesson = data("kv-lesson")
    page.weights = data("kv-weights")
    const parts = data("kv-parts") ?? {}
    page.parts = Object.keys(parts)
    kv.sentence.start()
    const first = data("kv-run")
    page.defaultText = first?.text
    for (const root of document.querySelectorAll(".stage[data-show]")) {
      const stage = addStage(root, () => ({ figure: root.dataset.show, params: JSON.parse(root.dataset.params ?? "{}") }))
      if (root.dataset.autoplay && !address.query.has("t") && !matchMedia("(prefers-reduced-motion: reduce)").matches && document.documentElement.dataset.motion !== "off") page.autoplay = stage
    }
    if (page.lesson) startLesson()
    address.take()
    const given = address.query.get("s")
    const typed = document.querySelector("form.sentence input") ? given : null
    page.carried = typed === null ? given ?? undefined : undefined // where none is typed it waits for the next lesson
    kv.takeAlong(address.query)
    page.waiting = typed ?? undefined
    if (first) {
      kv.setRun(first)
      for (const [part, payload] of Object.entries(parts)) kv.addPart(part, payload)
    }
    if (page.autoplay) page.autoplay.play("t", page.autoplay.controls.querySelector(".time button"), false)
    if (typed !== null) ask(typed)
    kv.extras?.forEach((extra) => extra())
    document.documentElement.dataset.ready = "yes"
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start)
  else start()
})()
