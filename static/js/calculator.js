// The calculator: the form is the state, the address holds it, the server computes every size.
(() => {
  const { html } = kv
  const { whole, bytes, bar, label, cell, wire, patch, el } = kv.kit
  const FIELDS = ["tokens", "batch", "encoder_tokens", "k_format", "v_format", "engine", "block_size", "memory", "tensor_parallel", "beams", "shared_prefix"]
  const OWN = ["model", ...FIELDS] // what the form writes into the address; the rest is the reader's and stays
  const PER_OCTAVE = 4
  let setup, form, out, models, answers

  const value = (name) => form.elements[name].value.trim()
  const sliderOf = (tokens) => Math.round(PER_OCTAVE * Math.log2(Math.max(1, tokens)))
  const tokensOf = (slider) => Math.round(2 ** (slider / PER_OCTAVE))

  // ---- the state, in the address
  const fromAddress = () => {
    const asked = new URLSearchParams(location.search)
    for (const name of FIELDS) if (asked.has(name)) {
      const control = form.elements[name]
      const given = asked.get(name).slice(0, 40)
      if (control.tagName !== "SELECT" || [...control.options].some((o) => o.value === given)) control.value = given
      else say(`The address asked for ${name.replace("_", " ")} “${given}”, which there is not; “${control.value}” is shown.`)
    }
    models = asked.getAll("model").slice(0, setup.options.max_models)
    if (!models.length) models = [setup.first]
    syncSlider()
  }
  const toAddress = () => {
    const query = new URLSearchParams([...new URLSearchParams(location.search)].filter(([name]) => !OWN.includes(name)))
    for (const name of models) query.append("model", name)
    for (const name of FIELDS) if (value(name) && value(name) !== form.elements[name].defaultValue && value(name) !== "auto" && value(name) !== "ideal") query.set(name, value(name))
    history.replaceState(null, "", `${location.pathname}?${query}`)
  }
  const syncSlider = () => { const n = Number(value("tokens").replaceAll(",", "")); if (n > 0) form.elements["tokens-slider"].value = sliderOf(n) }
  const say = (words) => { out.querySelector(".calc-message").textContent = words }

  // ---- asking
  const ask = async () => {
    const filled = { models, config: form.elements.config.value }
    for (const name of FIELDS) filled[name] = value(name)
    const text = JSON.stringify(filled)
    if (text.length > setup.options.max_chars) return say(`The form holds ${whole(text.length)} characters; a config.json and the rest may have ${whole(setup.options.max_chars)}.`)
    const reply = await kv.ask("size", text)
    if (!reply) return
    out.classList.toggle("stale", Boolean(reply.message))
    if (reply.message) return say(`${reply.message}. The sizes shown are of what was asked before.`)
    say(reply.size.notes.join("; "))
    answers = reply.size
    for (const [name, kept] of Object.entries(reply.size.moved)) if (document.activeElement !== form.elements[name]) form.elements[name].value = kept
    show()
    toAddress()
  }
  let due = 0
  const askSoon = () => { cancelAnimationFrame(due); due = requestAnimationFrame(ask) }

  // ---- showing
  const row = (name, text, note = "") => html("tr", {}, html("th", { scope: "row" }, name), html("td", {}, text, note ? html("span", { class: "quiet small" }, ` ${note}`) : null))
  const perToken = (a) => a.bytes_per_token_first === a.bytes_per_token_marginal
    ? row("each token", `${whole(a.bytes_per_token_first)} bytes`, bytes(a.bytes_per_token_first))
    : [row("each token at first", `${whole(a.bytes_per_token_first)} bytes`), row("each token once windows are full", `${whole(a.bytes_per_token_marginal)} bytes`)]
  const fits = (f) => row("fits", `${whole(f.sequences)} sequences of this length, or ${f.tokens === null ? "any length" : whole(f.tokens) + " tokens"} for this batch`, f.note)

  const answerOf = (a) => html("article", { class: "calc-model" },
    html("h2", {}, a.model),
    html("p", { class: "calc-total" }, html("b", {}, a.shown.total), html("span", { class: "quiet" }, ` ${whole(a.cache_bytes)} bytes for ${whole(a.tokens)} tokens × ${whole(a.batch * a.beams)}`)),
    strip(a),
    html("table", {}, html("tbody", {}, perToken(a),
      a.fixed_bytes ? row("fixed, whatever the length", `${whole(a.fixed_bytes)} bytes`) : null,
      a.bytes_per_gpu !== a.cache_bytes ? row("on each GPU", `${whole(a.bytes_per_gpu)} bytes`) : null,
      a.weight_bytes === null ? row("weights", "not known from this config") : row("weights", a.shown.weights, `${whole(a.parameters)} parameters; the cache is ${(a.cache_bytes / a.weight_bytes).toFixed(3)} times that`),
      Object.entries(a.without).map(([name, n]) => row(name, `${whole(n)} bytes`, a.cache_bytes ? `${(n / a.cache_bytes).toFixed(2)} times` : "")),
      a.fit ? fits(a.fit) : null,
      a.encoder_tokens ? row("encoder tokens", whole(a.encoder_tokens)) : null)),
    html("details", { open: true }, html("summary", {}, "The arithmetic"), html("ul", { class: "formula" }, a.formula.map((line) => html("li", {}, line.text)), html("li", {}, html("b", {}, a.total)))),
    html("details", {}, html("summary", {}, "As each engine allocates it"), html("table", {}, html("tbody", {}, Object.entries(setup.options.engines).map(([name, note]) => name in a.views ? row(name, `${whole(a.views[name])} bytes`, note) : row(name, a.not_in_engine[name]))))),
    a.assumed.length ? html("p", { class: "small" }, html("b", {}, "Assumed: "), a.assumed.join("; ")) : null,
    a.warnings.length ? html("p", { class: "small" }, html("b", {}, "Beware: "), a.warnings.join("; ")) : null,
    a.source ? html("p", { class: "small quiet" }, `Source: ${a.source}`) : null)

  // ---- the layer strip: one cell a layer, an arrow to the layer whose rows it reads
  const ROLES = { full: "key", sliding: "query", chunked: "query", latent: "latent", compressed: "latent", state: "value", none: "number" }
  const roleOf = (layer) => ROLES[layer.kind] ?? (layer.owner !== layer.index ? "number" : /window|slid|chunk/.test(layer.kind) ? "query" : /mla|latent|compress|index/.test(layer.kind) ? "latent" : /mamba|delta|state|conv|linear|recurrent/.test(layer.kind) ? "value" : "key")
  const strip = (a) => {
    const n = a.layers.length
    const w = 640
    const size = Math.max(5, Math.min(26, (w - 4) / n))
    const most = Math.max(1, ...a.layers.map((l) => l.bytes))
    const marks = []
    a.layers.forEach((l, i) => {
      const h = Math.max(3, 44 * (l.bytes / most))
      marks.push(cell(`l${i}`, i * size, 64 - h, size - 1.5, h, "", roleOf(l), l.bytes ? "kept" : "future",
        { tip: [`Layer ${i + 1}: ${l.kind}`, l.owner !== l.index ? `reads the rows of layer ${l.owner + 1}` : `${whole(l.numbers_per_token)} numbers a token${l.window ? `, window ${whole(l.window)}` : ""}`, `${whole(l.bytes)} bytes`] }))
      if (l.owner !== l.index && size > 6) {
        const x = i * size + size / 2, to = l.owner * size + size / 2
        marks.push(wire(`w${i}`, `M ${x} 66 C ${x} ${74 + Math.min(20, (x - to) / 8)}, ${to} ${74 + Math.min(20, (x - to) / 8)}, ${to} 66`, { role: "number" }))
      }
    })
    const kinds = [...new Map(a.layers.map((l) => [l.kind + (l.owner !== l.index ? " (reuses)" : ""), l])).entries()]
    let x = 0
    kinds.forEach(([kind, l], i) => {
      const count = a.layers.filter((other) => other.kind === l.kind && (other.owner !== other.index) === (l.owner !== l.index)).length
      const text = `${count} ${kind}`
      marks.push(cell(`k${i}`, x, 98, 12, 12, "", roleOf(l), l.bytes ? "kept" : "future"), label(`kt${i}`, x + 17, 108, text, { cls: "quiet" }))
      x += 30 + text.length * 6.2
    })
    const svg = el("svg", { class: "figure-svg strip", role: "group", "aria-label": `${n} layers: ${kinds.map(([k]) => k).join(", ")}` })
    patch(svg, { marks, w: Math.max(n * size, x), h: 114 })
    return html("div", { class: "stage-canvas" }, svg)
  }

  const COLOURS = ["key", "query", "value", "latent", "position"]
  const curve = () => {
    const holder = out.querySelector(".chart")
    const stage = (holder.kvStage ??= { spec: { plot: setup.plot }, chart: holder })
    const { tokens, bytes: sizes } = answers.curve
    const columns = {}
    for (let i = 0; i < 5; i++) columns[`curve${i}`] = sizes[i] ? { x: tokens, y: sizes[i].map((n) => Math.max(n, 1) / 2 ** 30) } : { x: [], y: [] }
    columns.here = { x: answers.answers.map((a) => Math.max(1, a.tokens)), y: answers.answers.map((a) => Math.max(1, a.cache_bytes) / 2 ** 30) }
    kv.chart(stage, columns)
    out.querySelector(".legend").replaceChildren(...answers.answers.map((a, i) => html("span", { class: `key-${COLOURS[i]}` }, a.model)))
    out.querySelector(".calc-curve").replaceChildren(html("details", {}, html("summary", {}, "These curves as a table"), html("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Cache over context" }, kv.tableOf({
      caption: "Bytes of cache", head: ["tokens", ...answers.answers.map((a) => a.model)], rows: tokens.map((n, j) => [whole(n), ...sizes.map((s) => whole(s[j]))]) }))))
  }
  const show = () => {
    out.querySelector(".calc-answer").replaceChildren(...answers.answers.map(answerOf))
    curve()
  }

  // ---- the models chosen
  const chips = () => form.querySelector(".chosen").replaceChildren(...models.map((name) => html("li", {}, name, html("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => { models = models.filter((m) => m !== name); chips(); askSoon() } }, "×"))))
  const add = (name) => {
    if (!name || models.includes(name)) return
    if (models.length >= setup.options.max_models) return say(`${models.length} models are shown; remove one to add another.`)
    models = [...models, name]
    form.elements.model.value = ""
    chips()
    askSoon()
  }

  const readFile = async (file) => {
    if (!file) return
    if (file.size > setup.options.max_chars) return say(`${file.name} has ${whole(file.size)} bytes; a config.json has at most ${whole(setup.options.max_chars)}.`)
    form.elements.config.value = await file.text()
    askSoon()
  }

  // ---- taking it away
  const rows = () => [["model", "tokens", "sequences", "cache bytes", "bytes a token", "weight bytes"], ...answers.answers.map((a) => [a.model, a.tokens, a.batch * a.beams, a.cache_bytes, a.bytes_per_token_marginal, a.weight_bytes ?? ""])]
  const asMarkdown = () => { const [head, ...rest] = rows(); return [head, head.map(() => "---"), ...rest].map((r) => `| ${r.join(" | ")} |`).join("\n") }
  const take = async (kind) => {
    const text = kind === "csv" ? kv.csvOf({ head: rows()[0], rows: rows().slice(1) }) : asMarkdown()
    const told = out.querySelector(".calc-take output")
    try { await navigator.clipboard.writeText(text); told.textContent = "copied" } catch { told.textContent = "this browser does not allow it" }
  }

  kv.extras = kv.extras ?? []
  kv.extras.push(() => {
    const data = document.getElementById("kv-calculator")
    if (!data) return
    setup = JSON.parse(data.textContent)
    form = document.querySelector(".calc-form")
    out = document.querySelector(".calc-out")
    fromAddress()
    chips()
    form.addEventListener("submit", (event) => { event.preventDefault(); add(value("model")) })
    form.addEventListener("input", (event) => {
      const { name } = event.target
      if (name === "tokens-slider") form.elements.tokens.value = tokensOf(Number(event.target.value))
      if (name === "tokens") syncSlider()
      if (name === "model") { if (setup.options.models.includes(value("model"))) add(value("model")); return }
      if (event.target.type !== "file") askSoon()
    })
    form.addEventListener("change", (event) => { if (event.target.name === "model") add(value("model")); if (event.target.type === "file") readFile(event.target.files[0]) })
    for (const type of ["dragover", "drop"]) form.addEventListener(type, (event) => { event.preventDefault(); if (type === "drop") readFile(event.dataTransfer.files[0]) })
    for (const button of out.querySelectorAll("[data-take]")) button.addEventListener("click", () => take(button.dataset.take))
    if (!OWN.some((name) => new URLSearchParams(location.search).has(name))) { answers = setup.initial; show() }
    else ask()
  })
})()
