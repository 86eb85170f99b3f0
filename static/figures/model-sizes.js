// Caches of served models for one sequence: at a chosen context, and at the length of the reader's sentence.
kv.figure("model-sizes", (() => {
  const tokensOf = ({ spec, p }) => spec.data.tokens[p.tokens]
  const sentence = ({ run, spec }, model) => model.short[Math.min(run.fed.length, model.short.length) - 1]
  const draw = (ctx) => {
    const { run, spec, p, w, kit } = ctx
    const { models } = spec.data
    const tokens = kit.whole(tokensOf(ctx))
    const wide = w > 480
    const valueW = 78
    const rowH = wide ? (p.plain ? 50 : 42) : p.plain ? 32 : 25
    const high = wide ? 12 : 6
    const barW = w - 2 * valueW - 12
    const most = Math.max(...models.map((m) => (p.plain ? m.bare[p.tokens] : m.bytes[p.tokens])))
    const marks = [
      kit.label("h.name", 0, 13, wide ? `one sequence of ${tokens} tokens` : `${tokens} tokens`, { cls: "title" }),
      kit.label("h.big", w - valueW - 6, 13, tokens, { anchor: "end", cls: "quiet" }),
      kit.label("h.small", w, 13, wide ? `your ${run.fed.length} tokens` : `${run.fed.length} tokens`, { anchor: "end", cls: "quiet" }),
    ]
    models.forEach((model, i) => {
      const y = 22 + i * rowH
      const size = model.bytes[p.tokens]
      marks.push(kit.label(`n${i}`, 0, y + (wide ? 14 : 12), model.name, { max: barW }))
      marks.push(kit.bar(`b${i}`, 0, y + (wide ? 20 : 16), Math.max(1.5, barW * (size / most)), high, "key", { state: "now" }))
      if (p.plain) marks.push(kit.bar(`g${i}`, 0, y + (wide ? 34 : 24), Math.max(1.5, barW * (model.bare[p.tokens] / most)), high - 1, "bad", { state: "ghost" }))
      marks.push(kit.cell(`v${i}`, w - 2 * valueW - 4, y + (wide ? 8 : 2), valueW, wide ? 26 : 20, kit.bytes(size), "number", "plain", { tip: () => [`${model.name}: ${kit.bytes(size)} at ${tokens} tokens`, `the first token costs ${kit.whole(model.per_token)} bytes, one far out ${kit.whole(model.marginal)}; with nothing shared it would be ${kit.bytes(model.bare[p.tokens])}`, model.source] }))
      marks.push(kit.cell(`s${i}`, w - valueW, y + (wide ? 8 : 2), valueW, wide ? 26 : 20, kit.bytes(sentence(ctx, model)), "number", "plain", { tip: () => [`${model.name}: ${kit.whole(sentence(ctx, model))} bytes`, `a context of ${run.fed.length} tokens`] }))
    })
    return { marks, w, h: 24 + models.length * rowH }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const by = [...spec.data.models].sort((a, b) => b.bytes[p.tokens] - a.bytes[p.tokens])
    const [big, small] = [by[0], by[by.length - 1]]
    const first = `At ${kit.whole(tokensOf(ctx))} tokens ${big.name} keeps ${kit.bytes(big.bytes[p.tokens])} and ${small.name} ${kit.bytes(small.bytes[p.tokens])}`
    return p.plain ? `${first}; with every query head's keys and values in every layer, ${small.name} would keep ${kit.bytes(small.bare[p.tokens])}.` : `${first}, for one sequence.`
  }
  const table = (ctx) => ({
    caption: `Cache of one sequence at ${ctx.kit.whole(tokensOf(ctx))} tokens, 16 bits unless the model says otherwise`, head: ["model", "bytes for the first token", "bytes for a late token", "bytes", "with nothing shared", "at your sentence's length"],
    rows: ctx.spec.data.models.map((m) => [m.name, ctx.kit.whole(m.per_token), ctx.kit.whole(m.marginal), ctx.kit.whole(m.bytes[ctx.p.tokens]), ctx.kit.whole(m.bare[ctx.p.tokens]), ctx.kit.whole(sentence(ctx, m))]),
  })
  return { draw, status, table }
})())
