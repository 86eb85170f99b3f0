// DeepSeek-V4.1-Flash: forty layers by what they do, and the bytes a token adds, one sharing after the other.
kv.figure("v4-layers", (() => {
  const KINDS = { window: ["number", "masked", "Window"], full: ["key", "now", "Full"], reindex: ["query", "now", "Reindex"], reuse: ["latent", "kept", "Reuse"] }
  const DOES = {
    window: () => "reads its window only",
    full: (one) => `makes one entry per ${one.ratio === 1 ? "token" : `${one.ratio} tokens`}, and chooses among them`,
    reindex: (one) => `reads the entries of layer ${one.owner + 1}, and chooses among them anew`,
    reuse: (one) => `reads the entries of layer ${one.owner + 1} that layer ${one.chooser + 1} chose`,
  }
  const told = (layer) => (layer === null ? "none" : layer + 1)
  const draw = (ctx) => {
    const { spec, p, w, kit } = ctx
    const { layers, owners, row, sums } = spec.data
    const per = 10
    const step = Math.min(46, (w - 2) / per)
    const cell = step - 4
    const narrow = w < 480
    const high = narrow ? 17 : Math.min(26, cell)
    const gap = narrow ? 6 : 8
    const at = (layer) => ({ x: (layer % per) * step + 1, y: 4 + Math.floor(layer / per) * (high + gap) })
    const marks = []
    const chosen = layers[p.depth]
    // wires run in the gaps: up from the chosen cell, along, between two columns, to the source's lower edge
    const route = (source, lift) => {
      const [from, to] = [at(p.depth), at(source)]
      const [x1, x2] = [from.x + cell / 2 + lift, to.x + cell / 2 + lift]
      const lane = from.y - 4 + lift
      if (from.y === to.y) return `M ${x1} ${from.y} V ${lane} H ${x2} V ${to.y}`
      const under = to.y + high + 4 + lift
      return `M ${x1} ${from.y} V ${lane} H ${to.x + cell + 2 + lift / 2} V ${under} H ${x2} V ${to.y + high}`
    }
    const wires = chosen.owner === chosen.chooser ? [["owner", chosen.owner]] : [["owner", chosen.owner], ["chooser", chosen.chooser]]
    for (const [k, source] of wires) {
      if (source === null || source === p.depth) continue
      marks.push(kit.wire(`wire.${k}`, route(source, k === "owner" ? -1.5 : 1.5), { role: k === "owner" ? "key" : "query", state: k === "owner" ? "now" : "now dashed" }))
    }
    layers.forEach((one, layer) => {
      const [role, state] = KINDS[one.kind]
      const { x, y } = at(layer)
      marks.push(kit.cell(`l${layer}`, x, y, cell, high, String(layer + 1), role, state, { tip: () => [`Layer ${layer + 1}: ${KINDS[one.kind][2]}`, DOES[one.kind](one)] }))
    })
    marks.push(kit.bar("chosen", at(p.depth).x - 3, at(p.depth).y - 3, cell + 6, high + 6, "accent", { state: "ghost" }))
    const gridH = 4 + Math.ceil(layers.length / per) * (high + gap)
    const wide = w > 10 * step + 150
    const across = w < 340 ? 2 : 4
    const counts = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, layers.filter((one) => one.kind === kind).length]))
    Object.entries(KINDS).forEach(([kind, [role, state, name]], i) => {
      const x = wide ? 10 * step + 18 : (i % across) * (w / across)
      const y = wide ? 8 + i * (high + gap) : gridH + 2 + Math.floor(i / across) * 20
      marks.push(kit.cell(`key.${kind}`, x, y, 16, 16, "", role, state), kit.label(`key.${kind}.name`, x + 21, y + 13, `${name} ${counts[kind]}`, { cls: "quiet" }))
    })
    let y = gridH + (wide ? 10 : across === 2 ? 44 : narrow ? 24 : 36)
    const line = (k, text, value, done, how) => {
      marks.push(kit.label(`sum.${k}`, 0, y + 13, text, { max: w - 92, cls: done ? "" : "quiet" }))
      marks.push(kit.bar(`sum.${k}.bar`, 0, y + (narrow ? 17 : 19), Math.max(2, (w - 96) * (value / sums[0])), narrow ? 4 : 8, "key", { state: done ? "now" : "wasted" }))
      marks.push(kit.cell(`sum.${k}.n`, w - 88, y, 88, narrow ? 20 : 26, done ? kit.whole(value) : "", "number", done && k === String(p.stage) ? "now" : "plain", { tip: () => [`${text}: ${kit.whole(value)} bytes a token`, how] }))
      y += narrow ? 24 : 33
    }
    const ratios = owners.map((o) => (o.ratio === 1 ? "1" : `1/${o.ratio}`)).join(" + ")
    line("0", `${layers.length} layers × ${row.width} numbers × 2 bytes`, sums[0], p.stage >= 0, `${layers.length} × ${row.plain}`)
    line("1", w > 480 ? `4 owners: ${ratios} = ${spec.data.entries} entries a token` : `${ratios} = ${spec.data.entries} entries`, sums[1], p.stage >= 1, `${spec.data.entries} × ${row.plain}`)
    line("2", w > 480 ? `each in FP4: ${row.width}/2 + ${row.width}/16 = ${row.main} bytes` : `FP4: ${row.main} bytes each`, sums[2], p.stage >= 2, `${spec.data.entries} × ${row.main}`)
    line("3", w > 480 ? `and an index key each: ${row.index} bytes more` : `+ index key: ${row.index} bytes`, sums[3], p.stage >= 3, `${spec.data.entries} × (${row.main} + ${row.index})`)
    return { marks, w, h: y }
  }
  const status = ({ spec, p, kit }) => {
    const one = spec.data.layers[p.depth]
    const sum = spec.data.sums[p.stage]
    return `Layer ${p.depth + 1} (${KINDS[one.kind][2]}) ${DOES[one.kind](one)}. The sum so far: ${kit.whole(sum)} bytes a token; finished, ${kit.bytes(spec.data.bytes)} at ${kit.whole(spec.data.tokens)} tokens.`
  }
  const table = ({ spec }) => ({
    caption: "DeepSeek-V4.1-Flash, layer by layer", head: ["layer", "kind", "entries of layer", "chosen by layer", "tokens an entry"],
    rows: spec.data.layers.map((one, layer) => [layer + 1, KINDS[one.kind][2], told(one.owner), told(one.chooser), one.ratio || "none"]),
  })
  return { draw, status, table }
})())
