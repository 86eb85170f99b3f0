// The drawing kit: figures return lists of keyed marks; patch() moves what is already on the page.
// No figure touches the DOM. Marks: cell, label, wire, bar, group of them in a matrix.
(() => {
  const NS = "http://www.w3.org/2000/svg"
  const kv = (window.kv = window.kv || { figures: {} })

  kv.figure = (name, figure) => { kv.figures[name] = figure }

  // ---- numbers, as printed everywhere
  const MINUS = "\u2212"
  const fix = (x, digits = 2) => {
    const s = Math.abs(x).toFixed(digits)
    return (x < 0 && Number(s) !== 0 ? MINUS : "") + s
  }
  const whole = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",")
  const RAISED = Object.fromEntries([..."0123456789-"].map((c, i) => [c, "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"[i]]))
  const raised = (exponent) => [...exponent].map((c) => RAISED[c] ?? "").join("")
  const tiny = (x) => (x === 0 ? "0.0" : x.toExponential(1).replace(/e(.*)/, (_, exponent) => ` · 10${raised(exponent)}`))
  const percent = (x, digits = 1) => (100 * x).toFixed(digits) + "\u202f%"
  const bytes = (n) => {
    for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
      if (n >= size) return `${+(n / size).toFixed(2)} ${unit}`
    }
    return `${whole(n)} bytes`
  }
  const plural = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : "s"}`

  /** The least time a chip takes for a pass, and where that puts it under the roof: model.costs:bound. */
  const timed = (chip, flops, moved) => {
    const seconds = Math.max(moved / chip.bytes_per_s, flops / chip.flops_per_s)
    return { intensity: flops / moved, ms: 1e3 * seconds, rate: flops / seconds / 1e12 }
  }

  /** Sequences whose caches fit beside the weights; as many as one likes where the memory is unknown: model.costs:sequences_that_fit. */
  const roomFor = (chip, { weights, cache }, context) => (chip.nbytes ? Math.max(0, Math.floor((chip.nbytes - weights) / cache[context])) : Infinity)

  /** What a model's count rests on, and whether the model was made for so many tokens. */
  const conditions = ({ most, assumed }, tokens) => {
    const beyond = most && tokens > most ? [`the model was made for ${whole(most)} tokens`] : []
    return [...assumed, ...beyond].map((told) => ` ${told[0].toUpperCase()}${told.slice(1)}.`).join("")
  }

  // ---- marks
  const cell = (k, x, y, w, h, text, role, state, more = {}) =>
    ({ type: "cell", k, x, y, w, h, text, role, state, ...more })
  const label = (k, x, y, text, more = {}) => ({ type: "label", k, x, y, text, ...more })
  const wire = (k, d, more = {}) => ({ type: "wire", k, d, ...more })
  const bar = (k, x, y, w, h, role, more = {}) => ({ type: "bar", k, x, y, w, h, role, ...more })

  /** A titled block of numbers. rows: [{label, values, state, tips?, key?}]. Returns {marks, w, h}. */
  const matrix = ({ k, x, y, title, role, rows, labelW = 64, cellW = 48, cellH = 24, gap = 2, digits = 2, columns }) => {
    const marks = []
    const head = title ? 20 : 0
    const top = y + head + (columns ? 16 : 0)
    if (title) marks.push(label(`${k}.title`, x, y + 12, title, { cls: "title" }))
    if (columns) columns.forEach((name, j) => marks.push(
      label(`${k}.col${j}`, x + labelW + j * cellW + cellW / 2, y + head + 11, name, { cls: "quiet", anchor: "middle" })))
    rows.forEach((row, i) => {
      const key = `${k}.${row.key ?? i}`
      const cy = top + i * (cellH + gap)
      if (labelW) marks.push(label(`${key}.label`, x + labelW - 8, cy + cellH / 2 + 4, row.label,
        { anchor: "end", cls: row.state === "now" ? "strong" : "", max: labelW - 10 }))
      row.values.forEach((value, j) => marks.push(cell(`${key}.${j}`, x + labelW + j * cellW, cy, cellW - gap, cellH,
        value === null ? "" : typeof value === "number" ? fix(value, digits) : value, role, row.states?.[j] ?? row.state ?? "kept",
        { tip: row.tips?.[j], value: typeof value === "number" ? value : undefined })))
    })
    const columnsN = Math.max(...rows.map((r) => r.values.length), 0)
    return { marks, w: labelW + columnsN * cellW, h: top - y + rows.length * (cellH + gap) }
  }

  /** q . k term by term, as lines of text. */
  const dotLines = (name, a, b, divisor, result) => {
    const terms = Array.from(a, (ai, i) => `${fix(ai, 3)}×${fix(b[i], 3)}`).join(" + ")
    const sum = Array.from(a, (ai, i) => ai * b[i]).reduce((s, t) => s + t, 0)
    return divisor
      ? [name, `${terms} = ${fix(sum, 3)}`, `${fix(sum, 3)} / √${divisor} = ${fix(result, 3)}`]
      : [name, `${terms} = ${fix(result, 3)}`]
  }

  // ---- patching
  const el = (tag, attributes, parent) => {
    const node = document.createElementNS(NS, tag)
    for (const name in attributes) node.setAttribute(name, attributes[name])
    if (parent) parent.append(node)
    return node
  }
  const set = (node, name, value) => {
    if (value === undefined || value === null) node.removeAttribute(name)
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value)
  }
  /** About how wide a text is, in its own font size. */
  const ems = (text) => [...text].reduce((sum, c) => sum + (/[.,:;'’ \u202filjftr|]/.test(c) ? 0.34 : /[mwMW]/.test(c) ? 0.9 : c.codePointAt(0) > 0x2e7f ? 1.05 : 0.62), 0)
  const clip = (text, max, px = 12.5) => {
    if (!max || ems(text) * px <= max) return text
    const letters = [...text]
    while (letters.length > 1 && ems(letters.join("") + "…") * px > max) letters.pop()
    return letters.join("") + "…"
  }

  const LEAST_PX = 9 // nothing is written smaller
  /** Numbers of one kind look alike: as many decimals, as large, as the widest of them has room for. */
  const fitting = ({ text = "", w, value, ...m }) => {
    const decimals = typeof value === "number" ? text.match(/^−?\d+\.(\d+)$/)?.[1].length ?? 0 : 0
    const widest = (digits) => `−8.${"8".repeat(digits)}`
    let digits = decimals
    while (digits > 0 && ems(widest(digits)) * LEAST_PX > w) digits--
    const shown = digits < decimals ? fix(value, digits) : clip(text, w + 2, m.clip ? 12.5 : LEAST_PX)
    return { shown, wide: Math.max(0.5, ems(shown), digits ? ems(widest(digits)) : 0) }
  }

  const FULL = 2 // a number as far from zero as this has the full colour
  /** A number there is no room to write is told by its colour: the stronger, the farther from zero. */
  const shade = (g, { text, value }) => {
    const untold = text === "" && typeof value === "number"
    for (const name of ["--tint", "--tint-strong"]) {
      if (untold) g.style.setProperty(name, `${Math.round(6 + 64 * Math.min(1, Math.abs(value) / FULL))}%`)
      else g.style.removeProperty(name)
    }
  }
  const SHADED = "stronger colour: farther from 0; tap for numbers"

  const makers = {
    cell() { const g = el("g", {}); el("rect", { rx: 3 }, g); el("text", { "text-anchor": "middle", dy: "0.35em" }, g); return g },
    label() { return el("text", {}) },
    wire() { return el("path", { fill: "none" }) },
    bar() { return el("rect", { rx: 2 }) },
  }
  const updaters = {
    cell(g, m) {
      const [rect, text] = g.children
      set(g, "class", `cell ${m.role ?? ""} ${m.state ?? ""}`)
      g.style.transform = `translate(${m.x}px, ${m.y}px)`
      set(rect, "width", Math.max(0, m.w)); set(rect, "height", Math.max(0, m.h))
      set(text, "x", m.w / 2); set(text, "y", m.h / 2)
      const { shown, wide } = fitting(m)
      if (text.textContent !== shown) text.textContent = shown
      shade(g, m)
      const size = Math.min(m.size ?? 12.5, Math.max(LEAST_PX, Math.min(10.5, (m.w - 2) / wide), (m.w - 6) / wide), Math.max(LEAST_PX, m.h * 0.62))
      text.style.fontSize = `${size.toFixed(1)}px`
    },
    label(t, m) {
      set(t, "class", `label ${m.cls ?? ""}`); set(t, "x", m.x); set(t, "y", m.y)
      set(t, "text-anchor", m.anchor ?? "start")
      const shown = clip(m.text, m.max)
      if (t.textContent !== shown) t.textContent = shown
    },
    wire(p, m) { set(p, "class", `wire ${m.role ?? ""} ${m.state ?? ""}`); set(p, "d", m.d); p.style.strokeWidth = m.width ? `${m.width}px` : "" },
    bar(r, m) { set(r, "class", `bar ${m.role ?? ""} ${m.state ?? ""}`); set(r, "x", m.x); set(r, "y", m.y); set(r, "width", Math.max(0, m.w)); set(r, "height", Math.max(0, m.h)) },
  }

  /** Make svg show these marks: what keeps its key moves, the rest enters or leaves. */
  const patch = (svg, { marks, w, h }) => {
    const old = svg.kvNodes ?? new Map()
    const now = new Map()
    set(svg, "viewBox", `0 0 ${Math.ceil(w)} ${Math.ceil(h)}`)
    svg.style.setProperty("--natural-w", `${Math.ceil(w)}px`)
    svg.style.setProperty("--natural-h", `${Math.ceil(h)}px`)
    for (const m of marks) {
      if (!m) continue
      const key = `${m.type}:${m.k}`
      if (now.has(key)) throw new Error(`two marks are called ${key}`)
      let node = old.get(key)
      if (!node) { node = makers[m.type](); node.dataset.key = m.k; svg.append(node); node.classList.add("enter") }
      updaters[m.type](node, m)
      node.kvTip = m.tip
      const asked = Boolean(m.tip)
      set(node, "role", asked ? "button" : null)
      set(node, "tabindex", asked ? -1 : null)
      set(node, "aria-label", asked ? tipTitle(m) : null)
      set(node, "aria-hidden", asked ? null : "true")
      now.set(key, node)
    }
    for (const [key, node] of old) if (!now.has(key)) node.remove()
    svg.kvNodes = now
    const first = svg.querySelector("[role=button]")
    if (first && !svg.querySelector('[tabindex="0"]')) first.setAttribute("tabindex", "0")
  }
  const tipTitle = (m) => {
    const lines = typeof m.tip === "function" ? m.tip() : m.tip
    return `${lines[0]}${m.text ? ": " + m.text : ""}`
  }

  kv.kit = { fix, whole, tiny, percent, bytes, plural, timed, roomFor, conditions, cell, label, wire, bar, matrix, dotLines, patch, el, MINUS, SHADED }
})()
