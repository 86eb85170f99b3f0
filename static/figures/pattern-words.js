// One row a pattern, one cell a word; what differs from the causal run is marked.
kv.figure("pattern-words", (() => {
  const causal = ({ run }) => run.patterns[0].words
  const differs = (ctx, row, i) => row.words[i] !== causal(ctx)[i]
  const changes = (ctx, row) => { let n = 0; for (let i = 0; i < Math.max(row.words.length, causal(ctx).length); i++) if (differs(ctx, row, i)) n++; return n }
  const tip = (ctx, r, i) => {
    const row = ctx.run.patterns[r]
    return [`${row.pattern}, word ${i + 1}: ${row.words[i]}`, differs(ctx, row, i) ? `causal attention writes ${causal(ctx)[i] ?? "nothing here"}` : "the same as under the causal mask"]
  }
  const stateOf = (ctx, r, i) => (r === 0 ? "kept" : differs(ctx, ctx.run.patterns[r], i) ? "wrong" : "plain")
  /** Narrow: a pattern's name above its words, each word as wide as it is, in as many lines as they take. */
  const stacked = (ctx) => {
    const { run, w, kit } = ctx
    const room = causal(ctx).length + 1
    const marks = []
    let y = 0
    run.patterns.forEach((row, r) => {
      marks.push(kit.label(`n${r}`, 0, y + 11, row.pattern, { cls: r === 0 ? "title" : "quiet" }))
      const more = row.words.length > room ? `+${row.words.length - room}` : ""
      let x = 0
      y += 15
      row.words.slice(0, room).forEach((word, i) => {
        const wide = Math.min(w - 30, Math.max(18, 6.6 * [...word].length + 8))
        if (x + wide > w - 26) { x = 0; y += 19 }
        marks.push(kit.cell(`c${r}.${i}`, x, y, wide - 2, 17, word, "number", stateOf(ctx, r, i), { size: 10.5, tip: tip(ctx, r, i) }))
        x += wide
      })
      if (more) marks.push(kit.label(`m${r}`, x + 2, y + 13, more, { cls: "bad" }))
      y += 24
    })
    return { marks, w, h: y }
  }
  const draw = (ctx) => {
    const { run, w, kit } = ctx
    if (w < 480) return stacked(ctx)
    const labelW = Math.min(124, w * 0.28)
    const room = causal(ctx).length + 1
    const cellW = Math.min(74, (w - labelW - 26) / room)
    const h = 32
    const marks = []
    run.patterns.forEach((row, r) => {
      const y = 4 + r * h
      marks.push(kit.label(`n${r}`, labelW - 8, y + 17, row.pattern, { anchor: "end", max: labelW - 8, cls: r === 0 ? "strong" : "" }))
      row.words.slice(0, room).forEach((word, i) => marks.push(kit.cell(`c${r}.${i}`, labelW + i * cellW, y, cellW - 2, h - 6, word, "number", stateOf(ctx, r, i), { tip: tip(ctx, r, i) })))
      if (row.words.length > room) marks.push(kit.label(`m${r}`, labelW + room * cellW, y + 17, `+${row.words.length - room}`, { cls: "bad" }))
    })
    return { marks, w, h: 8 + run.patterns.length * h }
  }
  const status = (ctx) => {
    const same = ctx.run.patterns.slice(1).filter((row) => changes(ctx, row) === 0).map((row) => row.pattern)
    return same.length ? `Nothing changes under ${same.join("; ")}. Under the others at least one word does.` : "Every pattern but the causal one changes at least one word of this sentence."
  }
  const table = (ctx) => ({ caption: "What the toy writes under each pattern", head: ["pattern", "words", "changed"], rows: ctx.run.patterns.map((row) => [row.pattern, row.words.join(" "), changes(ctx, row)]) })
  return { draw, status, table, part: () => "patterns" }
})())
