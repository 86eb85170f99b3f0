// The address is the state: the sentence, layer and head, what was chosen in a figure, the step.
// A figure's params are written as the reader sees them: steps from 1, the values a slider shows.
(() => {
  const SHARED = ["layer", "head"] // what stays as chosen from figure to figure
  const shared = (spec) => SHARED.includes(spec.name) && spec.kind === "choice"
  const own = (spec) => !shared(spec)
  const short = (text) => (text.length > 24 ? `${text.slice(0, 24)}…` : text)

  // ---- one param as a word, and back
  const names = { // what the positions of a slider are called
    time: (stage, spec) => Array.from({ length: stage.bounds(spec)[1] + 1 }, (_, i) => i + 1),
    range: (stage, spec) => spec.values ?? Array.from({ length: spec.high - spec.low + 1 }, (_, i) => spec.low + i),
  }
  const first = (spec) => (spec.kind === "time" ? 0 : spec.low)
  const word = (stage, spec, value) => {
    if (spec.kind === "toggle") return value ? "1" : "0"
    if (spec.kind !== "choice") return String(names[spec.kind](stage, spec)[value - first(spec)])
    const name = spec.names?.[spec.options.indexOf(value)]
    return typeof value === "number" && /^[\w.]+$/.test(name ?? "") ? name : String(value)
  }
  const readNumber = (stage, spec, raw) => {
    const known = names[spec.kind](stage, spec)
    const asked = { first: known[0], last: known.at(-1) }[raw] ?? (raw.trim() === "" ? NaN : Number(raw))
    if (Number.isNaN(asked)) return undefined
    return first(spec) + known.reduce((best, n, i) => (Math.abs(n - asked) < Math.abs(known[best] - asked) ? i : best), 0)
  }
  const read = { // a word's value; undefined when it says nothing
    time: readNumber,
    range: readNumber,
    toggle: (stage, spec, raw) => ({ 1: true, true: true, on: true, 0: false, false: false, off: false })[raw],
    choice: (stage, spec, raw) => {
      const at = [spec.names ?? [], spec.options.map(String)].map((known) => known.indexOf(raw)).find((i) => i >= 0)
      return spec.options[at]
    },
  }

  const kept = (stage, spec, text, shown) => (spec.kind === "time" || spec.kind === "range"
    ? ["first", "last"].includes(text) || Number(text) === Number(shown)
    : read[spec.kind](stage, spec, text) !== undefined)

  // ---- the query
  kv.Address = class {
    constructor(page) {
      this.page = page
      this.asked = null // {step, query}: what the address asks of the figures, until they show it
      addEventListener("popstate", (event) => { if (event.state?.kv) page.restore() }) // not for a link just followed
    }
    get query() { return new URLSearchParams(location.search) }
    /** One figure on the page: its params by their own names; several: with the figure's name before. */
    name(figure, spec) { return this.page.stages.length > 1 ? `${figure}.${spec.name}` : spec.name }
    named() {
      return Object.values(this.page.specs).flatMap(({ name, params }) => params.filter(own).map((spec) => this.name(name, spec)))
    }

    /** Take over what the address asks; layer and head are told from 1 and are the toy's two. */
    take() {
      const { page, query } = this
      page.shared = {}
      for (const name of SHARED) {
        const raw = query.get(name)
        if (raw === null) continue
        const asked = Number(raw)
        const value = Math.min(2, Math.max(1, Number.isInteger(asked) ? asked : 1))
        if (value !== asked) kv.tell(`The address asked for ${name} ${short(raw)}; the toy has 1 and 2, so ${name} ${value} is shown.`)
        page.shared[name] = value - 1
      }
      const names = this.named()
      this.asked = [...query.keys()].some((key) => names.includes(key)) ? { step: page.stepNamed(location.hash), query } : null
    }
    /** What the address asks of the figure that stands here, of this run. */
    askedOf(stage, figure) {
      const { page, asked } = this
      if (!asked || (page.lesson && asked.step !== page.steps?.active)) return { here: false, params: {}, raw: [] }
      const raw = (page.specs[figure]?.params ?? []).filter((spec) => own(spec) && asked.query.has(this.name(figure, spec)))
        .map((spec) => [spec, asked.query.get(this.name(figure, spec))])
      const params = raw.map(([spec, text]) => [spec.name, read[spec.kind](stage, spec, text)]).filter(([, value]) => value !== undefined)
      return { here: true, params: Object.fromEntries(params), raw }
    }
    /** What of it could not be shown as asked, in sentences. */
    corrections(stage, { raw }) {
      return raw.flatMap(([spec, text]) => {
        const shown = word(stage, spec, stage.params[spec.name])
        return kept(stage, spec, text, shown) ? [] : [`The address asked for ${spec.label.toLowerCase()} ${short(text)}; ${shown} is shown.`]
      })
    }
    /** Once the run that was asked for is there, what was asked has been shown, and its limits are told. */
    settle(said) {
      if (this.page.waiting !== undefined) return
      this.asked = null
      for (const sentence of said) kv.tell(sentence)
    }

    write() {
      clearTimeout(this.due)
      const { page, query } = this
      for (const name of ["s", ...SHARED, ...this.named()]) query.delete(name)
      const said = page.carried ?? page.waiting ?? kv.run?.text
      if (said !== undefined && said !== page.defaultText) query.set("s", said)
      for (const name of SHARED) if (page.shared[name] !== undefined) query.set(name, page.shared[name] + 1)
      for (const stage of page.stages) for (const [name, value] of this.chosen(stage)) query.set(name, value)
      if (this.asked) for (const name of this.named()) if (this.asked.query.has(name)) query.set(name, this.asked.query.get(name))
      const step = page.lesson?.steps[page.steps?.active]
      const hash = page.steps?.active > 0 || location.hash ? `#${step?.id ?? location.hash.slice(1)}` : ""
      const text = query.toString()
      kv.takeAlong(query)
      history.replaceState({ kv: true }, "", (text ? `?${text}` : location.pathname) + hash)
    }
    /** Browsers limit how often the address may change. */
    writeSoon() { clearTimeout(this.due); this.due = setTimeout(() => this.write(), 150) }
    /** What the reader chose in a figure that is not what its place on the page says. */
    chosen(stage) {
      if (!stage.spec || !stage.run) return []
      const base = stage.resolve({ ...stage.place().params, ...this.page.shared })
      return stage.spec.params.filter((spec) => own(spec) && stage.chosen.has(spec.name) && stage.params[spec.name] !== base[spec.name])
        .map((spec) => [this.name(stage.name, spec), word(stage, spec, stage.params[spec.name])])
    }
  }
  kv.Address.shared = (stage, name) => stage.spec.params.some((spec) => spec.name === name && shared(spec))
})()
