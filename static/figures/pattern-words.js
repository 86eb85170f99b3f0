// One row a pattern, one cell a word; what differs from the causal run is marked.
kv.figure("pattern-words", (() => {
  const causal = ({ run }) => run.patterns[0].words
  const differs = (ctx, row, i) => row.words[i] !== causal(ctx)[i]
  const changes = (ctx, row) => { let n = 0; for (let i = 0; i < Math.max(row.words.length, causal(ctx).length); i++) if (differs(ctx, row, i)) n++; return n }
  const draw = (ctx) => {
    const { run, w, kit } = ctx
    const labelW = Math.min(124, w * 0.28)
    const room = causal(ctx).length + 1
    const cellW = Math.min(74, (w - labelW - 26) / room)
    const h = 32
    const marks = []
    run.patterns.forEach((row, r) => {
      const y = 4 + r * h
      marks.push(kit.label(`n${r}`, labelW - 8, y + 17, row.pattern, { anchor: "end", max: labelW - 8, cls: r === 0 ? "strong" : "" }))
      row.words.slice(0, room).forEach((word, i) => marks.push(kit.cell(`c${r}.${i}`, labelW + i * cellW, y, cellW - 2, h - 6, word, "number", r === 0 ? "kept" : differs(ctx, row, i) ? "wrong" : "plain", { tip: [`${row.pattern}, word ${i + 1}: ${word}`, differs(ctx, row, i) ? `causal attention writes ${causal(ctx)[i] ?? "nothing here"}` : "the same as under the causal mask"] })))
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
