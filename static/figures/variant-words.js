// The same sentence through every trained variant: what each writes, and which words change.
kv.figure("variant-words", (() => {
  const ordered = ({ spec, p }) => p.sort === "kept" ? spec.data.variants : [...spec.data.variants].sort((a, b) => b.median - a.median)
  const PLAIN = "mha"
  const draw = (ctx) => {
    const { run, w, kit } = ctx
    const marks = []
    const wide = w > 520
    const labelW = wide ? 178 : 84
    const rowH = wide ? 46 : 24
    const lineH = wide ? 24 : 20
    ordered(ctx).forEach((variant, i) => {
      const one = run.variants[variant.name]
      const y = i * rowH
      const detail = `${variant.numbers} numbers a word${variant.most_words ? `, ≤ ${variant.most_words} words` : ""}`
      if (wide) marks.push(kit.label(`name.${variant.name}`, 0, y + 15, variant.label, { cls: variant.name === PLAIN ? "strong" : "", max: labelW }), kit.label(`kept.${variant.name}`, 0, y + 30, `${detail}`, { cls: "quiet", max: labelW + 20 }))
      else marks.push(kit.label(`name.${variant.name}`, 0, y + 14, `${variant.short}: ${variant.numbers}`, { cls: variant.name === PLAIN ? "strong" : "", max: labelW }))
      const top = y + (wide ? 2 : 0)
      const shown = one.words.slice(0, -1).length ? one.words.filter((word) => word !== "⟨end⟩") : ["(nothing)"]
      const space = w - labelW - 22
      const widths = shown.map((word) => Math.max(22, 7.4 * [...word].length + 10))
      const total = widths.reduce((a, b) => a + b + 3, 0)
      const scale = Math.min(1, space / total)
      let x = labelW
      shown.forEach((word, j) => {
        const wordW = widths[j] * scale
        marks.push(kit.cell(`w.${variant.name}.${j}`, x, top, wordW, lineH, word, "value", one.changed[j] ? "wrong" : "kept", { clip: true, tip: () => [`“${word}”, word ${j + 1}`, one.changed[j] ? "not what the plain variant wrote" : variant.name === PLAIN ? "the plain variant's word" : "as the plain variant wrote it"] }))
        x += wordW + 3 * scale
      })
      marks.push(kit.label(`right.${variant.name}`, w - 4, top + lineH / 2 + 5, one.right ? "✓" : "✗", { anchor: "end", cls: one.right ? "good" : "bad" }))
    })
    return { marks, w, h: ordered(ctx).length * rowH }
  }
  const counted = ({ run, spec }) => ({
    right: spec.data.variants.filter((v) => run.variants[v.name].right).length,
    different: spec.data.variants.filter((v) => run.variants[v.name].changed.some(Boolean)).map((v) => v.label),
  })
  const status = (ctx) => {
    const { right, different } = counted(ctx)
    const n = ctx.spec.data.variants.length
    const first = `${right} of ${n} variants write what the grammar they were taught says`
    return different.length ? `${first}; ${different.length === 1 ? "1 writes" : `${different.length} write`} other words than the plain one.` : `${first}; all write the same words.`
  }
  const table = (ctx) => ({
    caption: "The sentence by every variant (weights of the median seed)", head: ["variant", "numbers a word", "bytes kept", "as taught", "words"],
    rows: ordered(ctx).map((v) => { const one = ctx.run.variants[v.name]; return [v.label, v.numbers, ctx.kit.whole(one.bytes), one.right ? "yes" : "no", one.words.join(" ")] }),
  })
  return { draw, status, table, part: () => "variants" }
})())
