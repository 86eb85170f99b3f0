// How a decode step's time grows with the context: measured, one curve an engine, over the least it can be.
kv.figure("measured-growth", (() => {
  const curves = ({ spec, p }) => spec.data.curves[p.batch]
  const columns = (ctx) => Object.fromEntries(Object.entries(curves(ctx)).map(([path, { x, y }]) => [path, { x, y, path: x.map(() => path) }]))
  const ms = (kit, value) => value < 100 ? kit.fix(value, 1) : kit.whole(value)
  const status = (ctx) => {
    const { kit, p } = ctx
    const { x, y } = curves(ctx).ours
    const others = Object.entries(curves(ctx)).filter(([path]) => path.startsWith("transformers")).map(([path, one]) => `${ms(kit, one.y.at(-1))} ms with its ${path.replace("transformers, ", "")}`)
    return `${kit.plural(p.batch, "sequence")} at once: a step of ours takes ${ms(kit, y[0])} ms with ${kit.whole(x[0])} tokens in the cache and ${ms(kit, y.at(-1))} ms with ${kit.whole(x.at(-1))}; transformers takes ${others.join(" and ")}. Reading the bytes takes ${ms(kit, curves(ctx)["at least"].y.at(-1))} ms.`
  }
  const note = ({ spec, kit, p }) => {
    const { model, date, device, processor, threads, command, skipped } = spec.data
    const left = skipped.filter((one) => one.batch === p.batch).map((one) => ` Left out: ${kit.whole(one.context)} tokens, ${one.skipped}.`)
    return `${model}, ${date}, ${device}, ${processor}, ${kit.plural(threads, "thread")}. Measured with: ${command}.${left.join("")}`
  }
  const table = (ctx) => {
    const { kit, p } = ctx
    const paths = Object.keys(curves(ctx))
    return { caption: `Milliseconds a step, ${kit.plural(p.batch, "sequence")} at once`, head: ["tokens", ...paths],
      rows: curves(ctx).ours.x.map((tokens, i) => [kit.whole(tokens), ...paths.map((path) => ms(kit, curves(ctx)[path].y[i]))]) }
  }
  return { columns, status, note, table }
})())
