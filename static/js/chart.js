// Bokeh charts: drawn once from the figure's own plot, their sources filled for each state.
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  /** What a plot's own colours stand for: drawn in the colour that this role has on this paper. */
  const ROLES = { "#0b5fa5": "key", "#a34700": "query", "#00694f": "value", "#7a3f9d": "latent", "#8a5a00": "position", "#b3261e": "bad", "#5a5c63": "quiet" }
  const onPaper = (given) => (ROLES[given] ? colour(`--${ROLES[given]}`) : given)
  const COLOURED = ["line_color", "fill_color", "hatch_color", "text_color"]
  const given = new WeakMap() // glyph -> its colours as the plot gave them
  const own = (model) => COLOURED.map((name) => [name, model.properties[name] && model[name]?.value]).filter(([, value]) => ROLES[value])
  const dressGlyph = (model) => {
    if (!given.has(model)) given.set(model, own(model))
    const worn = given.get(model).map(([name, value]) => [name, { value: onPaper(value) }])
    if (worn.length) model.setv(Object.fromEntries(worn))
  }
  const dress = (doc) => {
    const ink = colour("--ink"), quiet = colour("--quiet"), rule = colour("--rule")
    for (const model of doc._all_models.values()) {
      if (/Axis$/.test(model.type)) model.setv({ axis_label_text_color: ink, major_label_text_color: quiet, axis_line_color: rule, major_tick_line_color: rule, minor_tick_line_color: null, axis_label_text_font_style: "normal" })
      else if (/Grid$/.test(model.type)) model.setv({ grid_line_color: rule, grid_line_alpha: 0.6 })
      else if (model.type === "Legend") model.setv({ background_fill_color: null, border_line_color: null, label_text_color: ink })
      else dressGlyph(model)
    }
  }
  const whenBokeh = () => new Promise((resolve) => {
    const look = () => (window.Bokeh?.embed ? resolve(window.Bokeh) : setTimeout(look, 50))
    look()
  })
  const fill = (doc, columns) => {
    for (const [name, data] of Object.entries(columns)) {
      const source = doc.get_model_by_name(name)
      if (source) source.data = data.colour ? { ...data, colour: data.colour.map(onPaper) } : data
    }
  }
  let count = 0
  const start = async (stage, node) => {
    const Bokeh = await whenBokeh()
    await document.fonts.load("12px Inter").catch(() => {})
    node.id = `chart-${++count}`
    const item = JSON.parse(JSON.stringify(stage.spec.plot))
    for (const root of item.doc.roots) root.attributes.sizing_mode = "stretch_both" // the place on the page decides the size
    const views = await Bokeh.embed.embed_item(item, node.id)
    const doc = [...views.roots][0].model.document
    dress(doc)
    const again = () => { dress(doc); if (node.wanted) fill(doc, node.wanted) }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again)
    new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] })
    return doc
  }
  const made = (stage, node) => (node.doc ??= start(stage, node).catch((error) => {
    node.doc = null // the reader went on while it was made: the next visit makes it
    if (node.isConnected) throw error
  }))
  /** Make a figure's chart out of sight: the first look at it then takes no longer than the next. */
  kv.chartAhead = async (stage, name) => {
    const spec = stage.specs[name]
    if (!spec?.plot || stage.charts[name]) return
    const node = (stage.charts[name] = kv.html("div", { class: "chart ahead", role: "img" }))
    stage.canvas.append(node)
    await made({ spec }, node)
    if (node.classList.contains("ahead")) node.remove()
  }
  /** Fill the stage's chart; sources are found by name, so a state is only numbers. */
  kv.chart = async (stage, columns) => {
    const node = stage.chart
    node.wanted = columns
    const doc = await made(stage, node)
    if (!doc || node.wanted !== columns) return
    fill(doc, columns)
    node.dataset.drawn = "yes"
  }
})()
