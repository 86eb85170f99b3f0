// What keeping costs: this run's measured bytes, then the same product for models people serve.
kv.figure("cost", (() => {
  const tokensOf = ({ spec, p }) => spec.data.tokens[p.tokens]
  const draw = (ctx) => {
    const { run, spec, w, kit } = ctx
    const { numbers_per_token: numbers, cache_bytes: cache, cross } = { ...run.sizes, cross: run.cross.bytes }
    const n = run.fed.length
    const marks = [
      kit.label("t0", 0, 14, "this run, measured", { cls: "title" }),
      kit.label("t1", 0, 38, `${spec.data.product} = ${numbers} numbers a word`, {}),
      kit.label("t2", 0, 60, `× ${n} words × 8 bytes = ${kit.whole(cache)} bytes; the cross store: ${kit.whole(cross)}`, { max: w }),
      kit.label("t3", 0, 96, `models people serve, ${kit.whole(tokensOf(ctx))} tokens, 16 bits`, { cls: "title" }),
    ]
    const labelW = Math.min(150, w * 0.34)
    const h = Math.min(34, 300 / spec.data.models.length)
    const most = Math.max(...spec.data.models.map((m) => m.bytes[ctx.p.tokens]))
    spec.data.models.forEach((model, i) => {
      const y = 108 + i * h
      const size = model.bytes[ctx.p.tokens]
      marks.push(kit.label(`n${i}`, labelW - 8, y + h / 2 + 4, model.name, { anchor: "end", max: labelW - 8 }))
      marks.push(kit.bar(`b${i}`, labelW, y + 4, Math.max(1, (w - labelW - 84) * (size / most)), h - 9, "key"))
      marks.push(kit.cell(`v${i}`, w - 80, y, 80, h - 2, kit.bytes(size), "number", "plain", { tip: [`${model.name}: ${model.product}`, `= ${kit.whole(model.numbers)} numbers a token × 2 bytes × ${kit.whole(tokensOf(ctx))} tokens = ${kit.whole(size)} bytes`] }))
    })
    return { marks, w, h: 112 + spec.data.models.length * h }
  }
  const status = (ctx) => {
    const { run, spec, kit } = ctx
    const big = spec.data.models[0]
    return `This run keeps ${run.sizes.numbers_per_token} numbers a word, ${kit.whole(run.sizes.cache_bytes)} bytes in all; ${big.name} keeps ${kit.whole(big.numbers)} a token, ${kit.bytes(big.bytes[ctx.p.tokens])} at ${kit.whole(tokensOf(ctx))} tokens.`
  }
  const table = (ctx) => ({
    caption: `Cache at ${ctx.kit.whole(tokensOf(ctx))} tokens, one sequence, 2 bytes a number`, head: ["model", "numbers a token", "bytes a token", "bytes"],
    rows: ctx.spec.data.models.map((m) => [m.name, ctx.kit.whole(m.numbers), ctx.kit.whole(2 * m.numbers), ctx.kit.whole(m.bytes[ctx.p.tokens])]),
  })
  return { draw, status, table }
})())
