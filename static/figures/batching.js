// Step time over batch size: the weights are shared, the caches are not.
kv.figure("batching", (() => {
  const at = ({ spec, p }, batch, context = p.context) => (p.model * spec.data.batches.length + batch) * spec.data.contexts.length + context
  const chip = ({ spec, p }) => spec.data.chips[p.chip]
  const columns = (ctx) => ({
    step: { x: ctx.spec.data.batches, y: ctx.spec.data.batches.map((_, b) => chip(ctx).ms[at(ctx, b)]) },
    short: { x: ctx.spec.data.batches, y: ctx.spec.data.batches.map((_, b) => chip(ctx).ms[at(ctx, b, 0)]) },
  })
  const last = ({ spec }) => spec.data.batches.length - 1
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const one = chip(ctx).ms[at(ctx, 0)]
    const many = chip(ctx).ms[at(ctx, last(ctx))]
    const n = spec.data.batches[last(ctx)]
    return `${spec.data.models[p.model]} at ${kit.whole(spec.data.contexts[p.context])} tokens: one sequence takes ${kit.fix(one, 2)} ms a step, ${n} take ${kit.fix(many, 2)} ms, ${kit.fix(many / one, 1)} times as long for ${n} times the tokens; their caches are ${kit.bytes(spec.data.cache[at(ctx, last(ctx))])} beside ${kit.bytes(spec.data.weights[at(ctx, last(ctx))])} of weights.`
  }
  const note = (ctx) => `A bound, not a measurement: bytes over the published bandwidth, or FLOPs over the published rate, whichever takes longer. ${chip(ctx).source}.`
  const table = (ctx) => ({ caption: `${ctx.spec.data.models[ctx.p.model]} on ${chip(ctx).name}`, head: ["sequences", "ms a step", "tokens a second", "cache read", "weights read"],
    rows: ctx.spec.data.batches.map((b, i) => { const ms = chip(ctx).ms[at(ctx, i)]; return [b, ctx.kit.fix(ms, 3), ctx.kit.whole(1000 * b / ms), ctx.kit.bytes(ctx.spec.data.cache[at(ctx, i)]), ctx.kit.bytes(ctx.spec.data.weights[at(ctx, i)])] }) })
  return { columns, status, note, table }
})())
