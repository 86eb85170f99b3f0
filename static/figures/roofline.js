// A decode step and a prefill under a chip's roof.
kv.figure("roofline", (() => {
  const index = ({ spec, p }) => (p.model * spec.data.batches.length + p.batch) * spec.data.contexts.length + p.context
  const first = ({ spec, p }) => p.model * spec.data.contexts.length + p.context
  const chip = (ctx) => (ctx.p.chip === "machine" ? ctx.run.answers.machine?.chip : ctx.spec.data.chips[ctx.p.chip])
  const marks = (ctx) => {
    const c = chip(ctx)
    return { x: [ctx.spec.data.decode[index(ctx)], ctx.spec.data.prefill[first(ctx)]], y: [c.decode[index(ctx)], c.prefill[first(ctx)]] }
  }
  const columns = (ctx) => {
    const c = chip(ctx)
    const { x, y } = marks(ctx)
    return { roof: { x: c.intensity, y: c.roof }, ridge: { x: [c.ridge, c.ridge], y: [c.roof[0], c.roof.at(-1)] }, marks: { x, y, name: ["decode", "prefill"], colour: ["#c25e10", "#2b7bd0"] } }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const c = chip(ctx)
    const { x } = marks(ctx)
    const side = x[0] < c.ridge ? "memory decides, the arithmetic waits" : "arithmetic decides"
    return `${spec.data.models[p.model]} on ${c.name}: a decode step of ${kit.plural(spec.data.batches[p.batch], "sequence")} at ${kit.whole(spec.data.contexts[p.context])} tokens does ${kit.fix(x[0], 1)} FLOPs a byte, the ridge is at ${kit.fix(c.ridge, 0)}: ${side}; ${kit.fix(c.ms[index(ctx)], 2)} ms at best. Prefilling them does ${kit.whole(x[1])}.`
  }
  const note = (ctx) => (ctx.p.chip === "machine" ? "Measured here, just now; published chips are their makers' peaks." : `Published: ${chip(ctx).source}, ${chip(ctx).format}.`)
  const table = (ctx) => {
    const { spec, p, kit } = ctx
    const c = chip(ctx)
    return { caption: `${spec.data.models[p.model]} on ${c.name}, context ${kit.whole(spec.data.contexts[p.context])}`, head: ["sequences", "FLOPs per byte", "milliseconds a step, at best"],
      rows: spec.data.batches.map((b, i) => { const at = (p.model * spec.data.batches.length + i) * spec.data.contexts.length + p.context; return [b, kit.fix(spec.data.decode[at], 2), kit.fix(c.ms[at], 3)] }) }
  }
  const need = (ctx) => (ctx.p.chip === "machine" ? { part: "machine", key: "machine", text: "measure", again: (found) => found.state === "measuring", say: (found) => found.state === "failed" ? found.message : `Measuring this machine: ${found.what} …` } : null)
  return { columns, status, note, table, need }
})())
