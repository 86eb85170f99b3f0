// The page: one state (sentence, step, layer, head, figure params), kept in the address.
(() => {
  const SHARED = ["layer", "head"] // what stays as chosen from figure to figure
  const page = (kv.page = { shared: {}, stages: [] })
  const data = (id) => { const node = document.getElementById(id); return node ? JSON.parse(node.textContent) : null }

  // ---- address
  const address = new URLSearchParams(location.search)
  const write = () => {
    const query = new URLSearchParams(address) // what else was asked for stays
    query.delete("s")
    const said = page.waiting ?? kv.run?.text
    if (said !== undefined && said !== page.defaultText) query.set("s", said)
    for (const name of SHARED) if (page.shared[name] !== undefined) query.set(name, page.shared[name] + 1)
    const hash = page.steps?.active > 0 || location.hash ? `#${page.lesson?.steps[page.steps?.active]?.id ?? location.hash.slice(1)}` : ""
    const text = query.toString()
    history.replaceState(history.state, "", (text ? `?${text}` : location.pathname) + hash)
  }
  let writing = 0
  const writeSoon = () => { clearTimeout(writing); writing = setTimeout(write, 150) } // browsers limit how often the address may change
  page.keep = (text) => { page.waiting = text ?? undefined; writeSoon() }
  kv.tell = (words) => {
    const node = document.querySelector("[data-notice]")
    node.textContent = [node.textContent, words].filter(Boolean).join(" ")
    node.hidden = false
  }
  const readShared = () => {
    for (const name of SHARED) {
      const raw = address.get(name)
      if (raw === null) continue
      const asked = Number(raw)
      const value = Math.min(2, Math.max(1, Number.isInteger(asked) ? asked : 1))
      if (value !== asked) kv.tell(`The address asked for ${name} ${raw.slice(0, 12)}; the toy has 1 and 2, so ${name} ${value} is shown.`)
      page.shared[name] = value - 1
    }
  }

  // ---- the run
  kv.setRun = (payload) => {
    kv.run = new kv.Run(payload, page.weights)
    kv.sentence.chips(kv.run)
    for (const node of document.querySelectorAll("[data-live]")) {
      const value = kv.run.live[node.dataset.live]
      if (value) { node.textContent = value.text; node.dataset.tip = value.how }
    }
    for (const stage of page.stages) stage.newRun(kv.run)
    writeSoon()
    kv.sentence.completeSoon()
  }
  kv.addPart = (part, payload) => {
    kv.run.addPart(part, payload)
    for (const stage of page.stages) stage.newRun(kv.run)
  }

  // ---- stages
  const onParam = (name, value) => { if (SHARED.includes(name)) { page.shared[name] = value; writeSoon() } }
  const addStage = (root, choose) => {
    const stage = new kv.Stage(root, page.specs, onParam)
    stage.shown = () => { const { figure, params } = choose(); if (kv.run) stage.show(figure, { ...params, ...page.shared }, kv.run) }
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
    page.stage.shown()
    const counter = document.querySelector("[data-step-count]")
    if (counter) counter.textContent = `${index + 1} of ${page.lesson.steps.length}`
    document.querySelector("[data-go=previous]").disabled = index === 0
    document.querySelector("[data-go=next]").disabled = index === page.lesson.steps.length - 1
    writeSoon()
  }
  const typing = (node) => node.closest?.("input, select, textarea, [role=button], details, pre, table")
  const keys = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || typing(event.target)) return
    if (["ArrowRight", "j"].includes(event.key)) page.steps.go(page.steps.active + 1)
    else if (["ArrowLeft", "k"].includes(event.key)) page.steps.go(page.steps.active - 1)
    else return
    event.preventDefault()
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
        page.stage.show(figure, { ...params, ...page.shared, ...JSON.parse(button.dataset.try) }, kv.run)
      })
    }
    const asked = page.lesson.steps.findIndex((step) => `#${step.id}` === location.hash)
    if (asked > 0) page.steps.go(asked, false) // before the address is written: a long page scrolls there late
    else page.steps.read()
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
      write()
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

  const start = () => {
    comfort()
    reachFormulas()
    addEventListener("resize", reachFormulas)
    page.specs = data("kv-figures") ?? {}
    page.lesson = data("kv-lesson")
    page.weights = data("kv-weights")
    const parts = data("kv-parts") ?? {}
    page.parts = Object.keys(parts)
    readShared()
    kv.sentence.start()
    const first = data("kv-run")
    page.defaultText = first?.text
    if (page.lesson) startLesson()
    for (const root of document.querySelectorAll(".stage[data-show]")) {
      const stage = addStage(root, () => ({ figure: root.dataset.show, params: JSON.parse(root.dataset.params ?? "{}") }))
      if (root.dataset.autoplay && !matchMedia("(prefers-reduced-motion: reduce)").matches && document.documentElement.dataset.motion !== "off") page.autoplay = stage
    }
    if (first) {
      kv.setRun(first)
      for (const [part, payload] of Object.entries(parts)) kv.addPart(part, payload)
    }
    if (page.autoplay) page.autoplay.controls.querySelector(".time button")?.click()
    const typed = address.get("s")
    if (typed !== null) {
      const input = document.querySelector("form.sentence input")
      if (input) { input.value = typed; page.waiting = typed; kv.sentence.want(typed) }
    }
    kv.extras?.forEach((extra) => extra())
    document.documentElement.dataset.ready = "yes"
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start)
  else start()
})()
