// Step time over batch size: the weights are shared, the caches are not.
kv.figure("batching", (() => {
  const chip = ({ spec, p }) => spec.data.chips[p.chip]
  const passes = ({ spec, p }) => spec.data.passes[p.model]
  const caches = (ctx, batch) => ctx.spec.data.batches[batch] * passes(ctx).cache[ctx.p.context]
  const ms = (ctx, batch, context = ctx.p.context) => {
    const [one, n] = [passes(ctx), ctx.spec.data.batches[batch]]
    return ctx.kit.timed(chip(ctx), n * one.flops[context], one.weights[batch] + n * one.cache[context]).ms
  }
  const columns = (ctx) => ({
    step: { x: ctx.spec.data.batches, y: ctx.spec.data.batches.map((_, b) => ms(ctx, b)) },
    short: { x: ctx.spec.data.batches, y: ctx.spec.data.batches.map((_, b) => ms(ctx, b, 0)) },
  })
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const last = spec.data.batches.length - 1
    const [one, many, n] = [ms(ctx, 0), ms(ctx, last), spec.data.batches[last]]
    return `${spec.data.models[p.model]} at ${kit.whole(spec.data.contexts[p.context])} tokens: one sequence takes ${kit.fix(one, 2)} ms a step, ${n} take ${kit.fix(many, 2)} ms, ${kit.fix(many / one, 1)} times as long for ${n} times the tokens; their caches are ${kit.bytes(caches(ctx, last))} beside ${kit.bytes(passes(ctx).weights[last])} of weights.`
  }
  const note = (ctx) => `A bound, not a measurement: bytes over the published bandwidth, or FLOPs over the published rate, whichever takes longer. ${chip(ctx).source}.`
  const table = (ctx) => ({ caption: `${ctx.spec.data.models[ctx.p.model]} on ${chip(ctx).name}`, head: ["sequences", "ms a step", "tokens a second", "cache read", "weights read"],
    rows: ctx.spec.data.batches.map((b, i) => { const t = ms(ctx, i); return [b, ctx.kit.fix(t, 3), ctx.kit.whole(1000 * b / t), ctx.kit.bytes(caches(ctx, i)), ctx.kit.bytes(passes(ctx).weights[i])] }) })
  return { columns, status, note, table }
})())
