// Keys and values of the sentence, made once from the encoder's memory; no step adds to them.
kv.figure("cross-store", (() => {
  const tipsOf = (ctx, kind, row) => {
    const { run, p, kit } = ctx
    const memory = run.at("memory", row)
    return Array.from(run.at(`cross.${kind}`, p.layer, p.head, row), (value, j) => () => {
      const terms = Array.from(memory, (m, i) => `${kit.fix(m, 3)}×${kit.fix(run.at(`w.cross.${kind}`, p.layer, p.head, i)[j], 3)}`)
      return [`${kind.toUpperCase()} of “${run.source[row]}”, number ${j + 1}: memory · W_${kind.toUpperCase()}`, `${terms.join(" + ")} = ${kit.fix(value, 3)}`]
    })
  }
  const rowsOf = (ctx, kind) => ctx.run.source.map((word, row) => ({
    label: word, key: row, values: Array.from(ctx.run.at(`cross.${kind}`, ctx.p.layer, ctx.p.head, row)), state: ctx.p.t === 0 ? "now" : "kept", tips: tipsOf(ctx, kind, row) }))
  const draw = (ctx) => {
    const { run, w, kit } = ctx
    const labelW = Math.min(96, w * 0.2)
    const cellW = Math.min(54, (w - labelW - 16) / 8)
    const digits = cellW >= 40 ? 2 : 1
    const cellH = Math.max(15, Math.min(24, 360 / run.source.length - 2))
    const left = kit.matrix({ k: "k", x: 0, y: 0, title: "memory · W_K", role: "key", rows: rowsOf(ctx, "k"), labelW, cellW, cellH, digits })
    const right = kit.matrix({ k: "v", x: labelW + 4 * cellW + 14, y: 0, title: "memory · W_V", role: "value", rows: rowsOf(ctx, "v"), labelW: 0, cellW, cellH, digits })
    return { marks: [...left.marks, ...right.marks], w, h: left.h + 6 }
  }
  const status = ({ run, p, kit }) => {
    const { bytes, max_change: change, numbers } = run.cross
    const head = p.t === 0 ? "Computed now, once for the whole sentence" : `Step ${p.t + 1} of ${run.fed.length}: nothing added, nothing recomputed`
    return `${head}: ${kit.plural(run.source.length, "row")}, ${kit.whole(numbers)} numbers over all layers and heads, ${kit.whole(bytes)} bytes; largest change over all steps ${change === 0 ? "0.0" : kit.tiny(change)}.`
  }
  const table = ({ run, p, kit }) => ({
    caption: `Cross-attention store of layer ${p.layer + 1}, head ${p.head + 1}`,
    head: ["source word", "k1", "k2", "k3", "k4", "v1", "v2", "v3", "v4"],
    rows: run.source.map((word, row) => [word, ...["k", "v"].flatMap((kind) => Array.from(run.at(`cross.${kind}`, p.layer, p.head, row), (x) => kit.fix(x, 4)))]),
  })
  return { draw, status, table }
})())
