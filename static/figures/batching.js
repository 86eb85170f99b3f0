// Step time over batch size: the weights are shared, the caches are not, and both must fit.
kv.figure("batching", (() => {
  const chip = ({ spec, p }) => spec.data.chips[p.chip]
  const passes = ({ spec, p }) => spec.data.passes[p.model]
  const tokens = ({ spec, p }) => spec.data.contexts[p.context]
  const caches = (ctx, batch) => ctx.spec.data.batches[batch] * passes(ctx).cache[ctx.p.context]
  const ms = (ctx, batch, context = ctx.p.context) => {
    const [one, n] = [passes(ctx), ctx.spec.data.batches[batch]]
    return ctx.kit.timed(chip(ctx), n * one.flops[context], one.weights[batch] + n * one.cache[context]).ms
  }
  const fit = (ctx, context = ctx.p.context) => ctx.kit.roomFor(chip(ctx), ctx.spec.data.kept[ctx.p.model], context)
  const curve = (ctx, context) => {
    const { batches } = ctx.spec.data
    const all = batches.map((n, b) => [n, ms(ctx, b, context)])
    const within = batches.filter((n) => n <= fit(ctx, context)).length
    const axes = (points) => ({ x: points.map(([x]) => x), y: points.map(([, y]) => y) })
    return [axes(all.slice(0, within)), axes(within < all.length ? all.slice(Math.max(0, within - 1)) : [])]
  }
  const columns = (ctx) => {
    const [[step, over], [short, shortOver], n] = [curve(ctx, ctx.p.context), curve(ctx, 0), fit(ctx)]
    const y = [...step.y, ...over.y, ...short.y, ...shortOver.y]
    const ends = n >= 1 && n < ctx.spec.data.batches.at(-1)
    const full = ends ? { x: [n, n], y: [Math.min(...y), Math.max(...y)] } : { x: [], y: [] }
    const frame = { x: [1, 1], y: [Math.min(...y), 10 * Math.min(...y)] } // or a flat curve would fill the height
    return { step, "step-over": over, short, "short-over": shortOver, full, frame }
  }
  const memory = (ctx) => `${ctx.kit.whole(chip(ctx).nbytes / 1e9)} GB`
  /** How far the memory goes, in words. */
  const room = (ctx) => {
    const { spec, kit, p } = ctx
    const [n, most, { weights, cache }] = [fit(ctx), spec.data.batches.at(-1), spec.data.kept[p.model]]
    if (n >= most) return `All ${most} fit into the chip's ${memory(ctx)}`
    if (n > 0) return `${kit.plural(n, "sequence")} ${n === 1 ? "fills" : "fill"} the chip's ${memory(ctx)}`
    return `No batch fits into the chip's ${memory(ctx)}: ${weights > chip(ctx).nbytes ? `the weights alone are ${kit.bytes(weights)}` : `weights and one cache are ${kit.bytes(weights + cache[p.context])}`}`
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const last = Math.max(0, curve(ctx, p.context)[0].x.length - 1)
    const [one, many, n] = [ms(ctx, 0), ms(ctx, last), spec.data.batches[last]]
    const [takes, take] = fit(ctx) ? ["takes", "take"] : ["would take", "would take"]
    const grown = last ? `, ${n} ${take} ${kit.fix(many, 2)} ms, ${kit.fix(many / one, 1)} times as long; they read ${kit.bytes(caches(ctx, last))} of caches beside ${kit.bytes(passes(ctx).weights[last])} of weights` : ""
    return `${spec.data.models[p.model]} at ${kit.whole(tokens(ctx))} tokens: one sequence ${takes} ${kit.fix(one, 2)} ms a step${grown}. ${room(ctx)}.`
  }
  const note = (ctx) => `A bound, not a measurement: bytes over the published bandwidth, or FLOPs over the published rate, whichever takes longer. ${chip(ctx).source}.${ctx.kit.conditions(passes(ctx), tokens(ctx))}`
  const table = (ctx) => ({ caption: `${ctx.spec.data.models[ctx.p.model]} on ${chip(ctx).name}`, head: ["sequences", "ms a step", "tokens a second", "cache read", "weights read", `in ${memory(ctx)}`],
    rows: ctx.spec.data.batches.map((b, i) => { const t = ms(ctx, i); return [b, ctx.kit.fix(t, 3), ctx.kit.whole(1000 * b / t), ctx.kit.bytes(caches(ctx, i)), ctx.kit.bytes(passes(ctx).weights[i]), b <= fit(ctx) ? "fits" : "does not fit"] }) })
  return { columns, status, note, table }
})())
