// Bytes kept and read shrink with the key-value heads; scores do not; other arithmetic hardly.
kv.figure("grouping-work", (() => {
  const rowsOf = (ctx) => {
    const { run, spec, p, kit } = ctx
    if (p.model === "run") {
      const heads = [4, 2, 1]
      return { heads, of: 4, rows: [
        { name: "bytes kept", values: heads.map((n) => run.heads[n].bytes), say: (x) => `${kit.whole(x)} B`, how: (n) => `nbytes of the kept tensors after the last word, ${n} key-value heads` },
        { name: "scores computed", values: heads.map((n) => run.heads[n].scores), say: kit.whole, how: () => `query · key products of every step, 2 layers and 4 query heads, counted` },
        { name: "multiply-adds", values: heads.map((n) => run.heads[n].multiply_adds), say: kit.whole, how: () => `everything the decoder multiplied for this sentence, counted` },
      ] }
    }
    const heads = spec.data.kv_heads
    const at = spec.data.served[p.tokens]
    const flops = (x) => `${(x / 1e9).toFixed(x < 1e10 ? 2 : 1)} GFLOP`
    const tokens = kit.whole(spec.data.tokens[p.tokens])
    return { heads, of: 32, rows: [
      { name: "bytes kept", values: at.map((one) => one.kept), say: kit.bytes, how: (n) => `32 layers × 2 × ${n} heads × 128 × ${tokens} tokens × 2 bytes` },
      { name: "read in one step", values: at.map((one) => one.read), say: kit.bytes, how: () => `a decode step reads every kept row once` },
      { name: "scores and mix", values: at.map((one) => one.scores), say: flops, how: () => `32 layers × 2 × 2 × 32 query heads × 128 × ${tokens} tokens` },
      { name: "one step in all", values: at.map((one) => one.all), say: flops, how: () => `twice the weights of 32 layers, and the scores and mix` },
    ] }
  }
  const draw = (ctx) => {
    const { w, kit } = ctx
    const { heads, rows, of } = rowsOf(ctx)
    const marks = []
    const labelW = Math.min(110, w * 0.26)
    const valueW = 82
    const narrow = w < 480
    const barH = narrow ? 12 : 18
    const head = narrow ? 18 : 22
    const blockH = heads.length * (barH + (narrow ? 2 : 4)) + head + (narrow ? 4 : 6)
    rows.filter((row) => !narrow || row.name !== "read in one step").forEach((row, i, shown) => {
      const y = i * blockH
      const most = Math.max(...row.values)
      const same = row.values.every((x) => x === row.values[0])
      marks.push(kit.label(`t${i}`, 0, y + 14, row.name, { cls: "title" }))
      marks.push(kit.label(`s${i}`, w, y + 14, same ? "the same" : `down to ${kit.percent(row.values[heads.length - 1] / row.values[0], 0)}`, { anchor: "end", cls: same ? "bad" : "good" }))
      heads.forEach((n, j) => {
        const by = y + head + j * (barH + (narrow ? 2 : 4))
        const value = row.values[j]
        marks.push(kit.label(`l${i}.${j}`, labelW - 8, by + barH / 2 + 4, `${n} kv head${n === 1 ? "" : "s"}`, { anchor: "end", cls: "quiet", max: labelW }))
        marks.push(kit.bar(`b${i}.${j}`, labelW, by, Math.max(1, (w - labelW - valueW - 6) * (value / most)), barH, i < shown.length - 2 ? "key" : "query", { state: "now" }))
        marks.push(kit.cell(`v${i}.${j}`, w - valueW, by - 1, valueW, barH + 2, row.say(value), "number", "plain", { tip: () => [`${row.name}, ${n} of ${of} heads: ${row.say(value)}`, `${row.how(n)} = ${kit.whole(value)}`] }))
      })
    })
    return { marks, w, h: marks.filter((m) => m.type === "label" && m.cls === "title").length * blockH }
  }
  const status = (ctx) => {
    const { heads, rows } = rowsOf(ctx)
    const first = rows[0].values
    const scores = rows[rows.length - 2].values
    const all = rows[rows.length - 1].values
    const last = heads.length - 1
    const unchanged = scores[0] === scores[last] ? "the same number" : "another number"
    return `From ${heads[0]} key-value heads to ${heads[last]} the cache shrinks ${ctx.kit.whole(first[0] / first[last])} times, the attention over it takes ${unchanged} of products, and all arithmetic falls by ${ctx.kit.percent(1 - all[last] / all[0])}.`
  }
  const table = (ctx) => {
    const { heads, rows } = rowsOf(ctx)
    return { caption: ctx.p.model === "run" ? "The toy on your sentence, the same words written" : `Llama 3 8B's shape, one decode step at ${ctx.kit.whole(ctx.spec.data.tokens[ctx.p.tokens])} tokens`, head: ["key-value heads", ...rows.map((row) => row.name)], rows: heads.map((n, j) => [n, ...rows.map((row) => ctx.kit.whole(row.values[j]))]) }
  }
  return { draw, status, table, part: () => "heads", hides: ({ p }) => (p.model === "run" ? ["tokens"] : []) }
})())
