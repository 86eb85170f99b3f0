// A stage shows one figure in one state: picture, controls, status sentence, table, code, take-away.
(() => {
  const { patch, el } = kv.kit
  const html = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
      else if (value === true) node.setAttribute(name, "")
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value)
    }
    node.append(...children.flat(2).filter((c) => c !== null))
    return node
  }
  kv.html = html

  const clamp = (value, low, high) => Math.min(high, Math.max(low, value))

  kv.Stage = class {
    /** root: a <figure class="stage">; specs: figure name -> {title, description, params, sources}. */
    constructor(root, specs, onParam) {
      this.root = root
      this.specs = specs
      this.onParam = onParam
      this.title = root.querySelector(".stage-title")
      this.controls = root.querySelector(".stage-controls")
      this.canvas = root.querySelector(".stage-canvas")
      this.status = root.querySelector(".stage-status")
      this.note = root.querySelector(".stage-note")
      this.more = root.querySelector(".stage-more")
      this.table = root.querySelector(".stage-table")
      this.code = root.querySelector(".stage-code")
      this.timer = 0
      this.charts = {} // figure name -> its chart: made once, for making one takes longer than a frame
      this.chosen = new Set() // the params the reader set since this place was come to
      root.querySelector('[data-save="csv"]')?.addEventListener("click", () => kv.saveCsv(this))
      root.querySelector('[data-save="svg"]')?.addEventListener("click", () => kv.saveSvg(this))
      root.querySelector('[data-save="png"]')?.addEventListener("click", () => kv.savePng(this))
      this.more?.addEventListener("toggle", () => {
        this.fillMore()
        if (this.more.open) this.root.scrollTop = this.root.scrollHeight // where the figure scrolls with its table
      }, true)
      this.canvas.addEventListener("keydown", (event) => kv.walk(this, event))
      new ResizeObserver(() => this.redraw()).observe(this.canvas)
    }

    get figure() { return kv.figures[this.name] }
    get spec() { return this.specs[this.name] }

    /** Show a figure in a state. The state alone decides what is seen. */
    show(name, params, run, chosen = []) {
      if (!this.specs[name] || !kv.figures[name]) return this.fail(`There is no figure called ${name}.`)
      const fresh = name !== this.name
      this.name = name
      this.run = run
      this.params = this.resolve(params)
      this.chosen = new Set(chosen)
      if (fresh) this.begin()
      this.redraw()
    }

    /** The same place in another run: what the reader chose stays, "last" follows the new length. */
    newRun(run) {
      if (!this.name) return this.shown?.()
      const atEnd = this.spec.params.filter((s) => s.kind === "time" && this.params[s.name] === this.bounds(s)[1]).map((s) => [s.name, "last"])
      this.run = run
      this.params = this.resolve({ ...this.params, ...Object.fromEntries(atEnd) })
      this.redraw()
    }

    begin() {
      this.stop()
      this.root.dataset.figure = this.name
      if (this.title) this.title.textContent = this.spec.title
      this.table?.setAttribute("aria-label", `Numbers: ${this.spec.title}`)
      this.svg = el("svg", { class: "figure-svg", role: "group", "data-name": this.name })
      this.chart = this.spec.plot ? (this.charts[this.name] ??= html("div", { class: "chart", role: "img" })) : null
      this.chart?.classList.remove("ahead")
      this.canvas.replaceChildren(this.chart ?? this.svg)
      this.controls.replaceChildren()
      this.controlNodes = null
      if (this.code) this.code.replaceChildren()
    }

    /** Every param of the figure, within its bounds for this run. */
    resolve(params) {
      const values = {}
      for (const spec of this.spec.params) {
        let value = params[spec.name] ?? spec.default
        if (spec.kind === "time" || spec.kind === "range") {
          const [low, high] = this.declared(spec)
          value = value === "last" ? high : value === "first" ? low : clamp(Number(value), low, high)
          if (Number.isNaN(value)) value = spec.default
        } else if (spec.kind === "choice") {
          const options = this.options(spec)
          if (!options.some((o) => String(o) === String(value))) value = options[0]
          else value = options.find((o) => String(o) === String(value))
        } else if (spec.kind === "toggle") value = value === true || value === "true" || value === "1"
        values[spec.name] = value
      }
      for (const spec of this.spec.params) if (["time", "range"].includes(spec.kind)) values[spec.name] = clamp(values[spec.name], ...this.bounds(spec, values))
      return values
    }
    /** The ends of a slider: the figure's own in this state, or the run's for a decode step, or those declared. */
    bounds(spec, p = this.params) {
      const own = !this.run || this.lacks(p) ? null : this.figure.bounds?.({ run: this.run, p, spec: this.spec })
      return own?.[spec.name] ?? this.declared(spec)
    }
    declared(spec) { return spec.kind === "time" ? [0, this.run.fed.length - 1] : [spec.low, spec.high] }
    /** The part of the run that this state draws and that has not come yet. */
    lacks(p) {
      const part = this.figure.part?.(p)
      return part && !this.run.has(part) ? part : null
    }
    options(spec) { return spec.options }

    redraw() {
      if (!this.name || !this.run) return
      const box = this.canvas.getBoundingClientRect()
      if (!box.width) return
      const ctx = { run: this.run, p: this.params, w: Math.floor(box.width), h: kv.room?.(this), kit: kv.kit, spec: this.spec }
      this.syncControls()
      if (this.lacks(this.params)) return this.say("Working it out for this sentence …")
      const need = this.figure.need?.(ctx)
      if (need && !this.run.answers[need.key]) return this.fetch(need)
      try {
        if (this.spec.plot) kv.chart(this, this.figure.columns(ctx))
        else patch(this.svg, (this.drawn = this.figure.draw(ctx)))
        this.say(this.figure.status(ctx))
        if (this.note) this.note.textContent = this.figure.note ? this.figure.note(ctx) : ""
        this.figure.act?.(this, ctx)
      } catch (error) {
        console.error(error)
        return this.fail("This figure could not be drawn for this sentence; the table and the text are unaffected.")
      }
      ;(this.chart ?? this.svg).setAttribute("aria-label", `${this.spec.title}. ${this.spec.description}`)
      const hidden = this.figure.hides?.(ctx) ?? []
      for (const [name, control] of Object.entries(this.controlNodes)) control.node.hidden = hidden.includes(name)
      for (const [name, told] of Object.entries(this.figure.names?.(ctx) ?? {})) this.controlNodes[name].node.firstChild.textContent = told
      if (this.more?.open) this.fillMore()
      kv.fit?.(this)
      this.root.dataset.drawn = String(performance.now())
    }

    /** Ask the server for what this state needs; the picture stays as it is until it comes. */
    async fetch(need) {
      if (this.fetching === need.key) return
      this.fetching = need.key
      this.say("Working it out …")
      const { run } = this
      const reply = await kv.ask(need.part, need.text)
      if (this.fetching === need.key) this.fetching = null
      if (!reply) return // a later question took its place, and will draw
      if (reply.message) return this.say(reply.message)
      const found = reply[need.part]
      if (need.again?.(found)) { this.say(need.say(found)); setTimeout(() => this.redraw(), 500); return }
      if (found.state === "failed") return this.say(need.say(found))
      run.answers[need.key] = found
      this.redraw()
    }

    fail(message) { this.say(message) }
    say(sentence) {
      if (this.status && this.status.textContent !== sentence) this.status.textContent = sentence
    }

    // ---- controls, from the figure's own params
    syncControls() {
      if (!this.controlNodes) {
        this.controlNodes = {}
        for (const spec of this.spec.params) {
          if (spec.hidden) continue
          const control = makers[spec.kind](this, spec)
          this.controlNodes[spec.name] = control
          this.controls.append(control.node)
        }
      }
      for (const spec of this.spec.params) this.controlNodes[spec.name]?.set(this.params[spec.name])
    }
    change(name, value, byHand = true) {
      if (byHand) this.stop()
      const next = this.resolve({ ...this.params, [name]: value })
      if (next[name] === this.params[name]) return
      this.params = next
      if (byHand) this.chosen.add(name)
      this.redraw()
      this.onParam?.(name, next[name], byHand)
    }
    /** Plays on its own until stopped; where the reader's own playing ends is where the reader is. */
    play(name, button, byHand = true) {
      if (this.timer) return this.stop()
      if (byHand) this.chosen.add(name)
      const spec = this.spec.params.find((s) => s.name === name)
      const [low, high] = this.bounds(spec)
      if (this.params[name] >= high) this.change(name, low, false)
      this.playing = button
      button.textContent = "Pause"
      button.setAttribute("aria-pressed", "true")
      this.timer = setInterval(() => {
        if (this.params[name] >= this.bounds(spec)[1]) return this.stop()
        this.change(name, this.params[name] + 1, false)
      }, 900)
    }
    stop() {
      clearInterval(this.timer)
      this.timer = 0
      if (!this.playing) return
      this.playing.textContent = "Play"
      this.playing.setAttribute("aria-pressed", "false")
      this.playing = null
      this.onParam?.()
    }

    // ---- the same numbers as a table, and the code that made them
    fillMore() {
      const data = this.figure.table({ run: this.run, p: this.params, w: 600, kit: kv.kit, spec: this.spec })
      this.table.replaceChildren(kv.tableOf(data))
      if (this.code && !this.code.childElementCount) {
        for (const source of this.spec.sources) this.code.append(
          html("p", { class: "code-name" }, source.name), html("pre", { tabindex: "0" }, html("code", {}, source.code)))
      }
    }
    tableData() {
      return this.figure.table({ run: this.run, p: this.params, w: 600, kit: kv.kit, spec: this.spec })
    }
  }

  kv.tableOf = ({ caption, head, rows }) => {
    const body = rows.map((row) => html("tr", {}, ...row.map((value, i) =>
      html(i ? "td" : "th", i ? {} : { scope: "row" }, String(value)))))
    return html("table", {}, html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...head.map((h) => html("th", { scope: "col" }, h)))), html("tbody", {}, ...body))
  }

  const labelled = (spec, control) => html("label", { class: `control ${spec.kind}`, title: spec.doc }, html("span", {}, spec.label), control)
  const makers = {
    toggle(stage, spec) {
      const input = html("input", { type: "checkbox", role: "switch", name: spec.name, onchange: () => stage.change(spec.name, input.checked) })
      return { node: labelled(spec, input), set: (v) => { input.checked = v } }
    },
    choice(stage, spec) {
      const select = html("select", { name: spec.name, onchange: () => stage.change(spec.name, select.value) },
        ...stage.options(spec).map((o, i) => html("option", { value: o }, spec.names?.[i] ?? String(o))))
      return { node: labelled(spec, select), set: (v) => { select.value = String(v) } }
    },
    range(stage, spec) {
      const output = html("output", {})
      const show = (v) => { output.textContent = spec.values ? kv.kit.whole(spec.values[v]) : kv.kit.whole(v) }
      const input = html("input", { type: "range", min: spec.low, max: spec.high, step: 1, name: spec.name,
        oninput: () => { show(Number(input.value)); stage.change(spec.name, Number(input.value)) } })
      const node = labelled(spec, input)
      node.append(output)
      return { node, set: (v) => {
        const [low, high] = stage.bounds(spec)
        Object.assign(input, { min: low, max: high, disabled: low >= high })
        input.value = v
        show(v)
        input.setAttribute("aria-valuetext", output.textContent)
      } }
    },
    time(stage, spec) {
      const step = (by) => () => stage.change(spec.name, stage.params[spec.name] + by)
      const output = html("output", {})
      const input = html("input", { type: "range", min: 0, step: 1, name: spec.name, "aria-label": spec.label,
        oninput: () => stage.change(spec.name, Number(input.value)) })
      const play = html("button", { type: "button", "aria-pressed": "false", onclick: () => stage.play(spec.name, play) }, "Play")
      const back = html("button", { type: "button", "aria-label": "One word back", onclick: step(-1) }, "‹")
      const on = html("button", { type: "button", "aria-label": "One word on", onclick: step(1) }, "›")
      const node = html("div", { class: "control time", role: "group", "aria-label": spec.label }, play, back, input, on, output)
      return { node, set: (v) => {
        const [low, high] = stage.bounds(spec)
        input.max = high
        input.value = v
        output.textContent = `step ${v + 1} of ${high + 1}`
        input.setAttribute("aria-valuetext", output.textContent)
        back.disabled = v <= low
        on.disabled = v >= high
      } }
    },
  }
})()
