// A decode step and a prefill under a chip's roof.
kv.figure("roofline", (() => {
  const chip = (ctx) => (ctx.p.chip === "machine" ? ctx.run.answers.machine?.chip : ctx.spec.data.chips[ctx.p.chip])
  const passes = ({ spec, p }) => spec.data.passes[p.model]
  const decode = (ctx, batch = ctx.p.batch) => {
    const [one, n, at] = [passes(ctx), ctx.spec.data.batches[batch], ctx.p.context]
    return ctx.kit.timed(chip(ctx), n * one.flops[at], one.weights[batch] + n * one.cache[at])
  }
  const prefill = (ctx) => ctx.kit.timed(chip(ctx), passes(ctx).prefill_flops[ctx.p.context], passes(ctx).prefill_bytes[ctx.p.context])
  const columns = (ctx) => {
    const [c, both] = [chip(ctx), [decode(ctx), prefill(ctx)]]
    const marks = { x: both.map((one) => one.intensity), y: both.map((one) => one.rate), name: ["decode", "prefill"], colour: ["#a34700", "#0b5fa5"] }
    return { roof: { x: c.intensity, y: c.roof }, ridge: { x: [c.ridge, c.ridge], y: [c.roof[0], c.roof.at(-1)] }, marks }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const [c, one] = [chip(ctx), decode(ctx)]
    const side = one.intensity < c.ridge ? "memory decides" : "arithmetic decides"
    return `${spec.data.models[p.model]} on ${c.name}: decoding ${kit.plural(spec.data.batches[p.batch], "sequence")} of ${kit.whole(spec.data.contexts[p.context])} tokens does ${kit.fix(one.intensity, 1)} FLOPs a byte, cache included, the ridge is at ${kit.fix(c.ridge, 0)}: ${side}; ${kit.fix(one.ms, 2)} ms at best. Prefill does ${kit.whole(prefill(ctx).intensity)}.`
  }
  /** A batch may be asked for that the memory has no room for: its intensity is still right, but it cannot run. */
  const overfull = (ctx) => {
    const { spec, p, kit } = ctx
    const [c, n] = [chip(ctx), spec.data.batches[p.batch]]
    const most = kit.roomFor(c, spec.data.kept[p.model], p.context)
    return n > most ? ` ${kit.plural(n, "such sequence")} ${n === 1 ? "does" : "do"} not fit into its ${kit.whole(c.nbytes / 1e9)} GB; ${most || "none"} would.` : ""
  }
  const note = (ctx) => (ctx.p.chip === "machine" ? "Measured here, just now; published chips are their makers' peaks." : `Published: ${chip(ctx).source}, ${chip(ctx).format}.`) + ctx.kit.conditions(passes(ctx), ctx.spec.data.contexts[ctx.p.context]) + overfull(ctx)
  const table = (ctx) => {
    const { spec, p, kit } = ctx
    return { caption: `${spec.data.models[p.model]} on ${chip(ctx).name}, context ${kit.whole(spec.data.contexts[p.context])}`, head: ["sequences", "FLOPs per byte", "milliseconds a step, at best"],
      rows: spec.data.batches.map((b, i) => { const one = decode(ctx, i); return [b, kit.fix(one.intensity, 2), kit.fix(one.ms, 3)] }) }
  }
  const need = (ctx) => (ctx.p.chip === "machine" ? { part: "machine", key: "machine", text: "measure", again: (found) => found.state === "measuring", say: (found) => found.state === "failed" ? found.message : `Measuring this machine: ${found.what} …` } : null)
  return { columns, status, note, table, need }
})())
