// Twenty layers and the stores they read; below, rows each store holds and positions each layer computes in prefill.
kv.figure("layer-wiring", (() => {
  const NAMES = { plain: "every layer keeps its own rows", "cla-2": "CLA, two layers a store", "cla-3": "CLA, three layers a store", yoco: "YOCO" }
  const pick = ({ spec, p }) => {
    const scheme = spec.data.schemes[p.scheme]
    return { scheme, tokens: spec.data.tokens[p.tokens], rows: scheme.rows[p.tokens], positions: scheme.prefill[p.early ? "early" : "full"][p.tokens], bytes: scheme.bytes[p.tokens], read: scheme.read[p.tokens] }
  }
  const sum = (values) => values.reduce((a, b) => a + b, 0)
  const draw = (ctx) => {
    const { spec, p, w, kit } = ctx
    const { scheme, tokens, rows, positions } = pick(ctx)
    const n = spec.data.layers
    const step = w / n
    const cellW = step - 3
    const x = (layer) => layer * step + 1.5
    const at = w < 480 ? { layer: 16, box: 18, store: 56, rows: 90, work: 146, bars: 34 } : { layer: 22, box: 26, store: 112, rows: 168, work: 276, bars: 62 }
    const storeY = at.store
    const foot = at.layer + at.box
    const marks = [kit.label("t.layers", 0, 13, w > 480 ? "layers, the lowest on the left" : "layers", { cls: "title" })]
    for (let layer = 0; layer < n; layer++) {
      const owner = scheme.owner_of[layer]
      const owns = owner === layer && layer !== scheme.joint
      const from = x(layer) + cellW / 2
      const to = x(owner) + cellW / 2
      marks.push(kit.wire(`wire${layer}`, `M ${from} ${foot} C ${from} ${storeY - 6}, ${to} ${foot + 6}, ${to} ${storeY}`, { role: owns ? "key" : "query", state: owns ? "now" : "" }))
      marks.push(kit.cell(`layer${layer}`, x(layer), at.layer, cellW, at.box, cellW >= 13 ? String(layer + 1) : "", "query", owns ? "now" : "kept", { tip: () => [`Layer ${layer + 1}`, owns ? "projects its own keys and values, and keeps them" : scheme.joint === null ? `brings queries only and reads the store of layer ${owner + 1}` : `brings queries only and reads the one store made of layer ${scheme.joint}'s output`] }))
    }
    scheme.owners.forEach((owner, i) => marks.push(kit.cell(`store${owner}`, x(owner), storeY, cellW, at.box, cellW >= 22 ? "K V" : "", "key", "now", { tip: () => [owner === scheme.joint ? `The store of all upper layers, made of layer ${scheme.joint}'s output` : `Store of layer ${owner + 1}`, `holds ${kit.whole(rows[i])} rows at ${kit.whole(tokens)} tokens${rows[i] < tokens ? ", its window" : ""}`] })))
    const panel = (k, y, title, right, values, places, role, noun) => {
      const height = at.bars
      marks.push(kit.label(`${k}.title`, 0, y, title, { cls: "title" }), kit.label(`${k}.right`, w, y, right, { anchor: "end", cls: "quiet" }))
      marks.push(kit.wire(`${k}.floor`, `M 0 ${y + 8 + height} L ${w} ${y + 8 + height}`, { state: "quiet" }))
      values.forEach((value, i) => {
        const h = Math.max(1.5, height * (value / tokens))
        marks.push(kit.bar(`${k}.${places[i]}`, x(places[i]), y + 8 + height - h, cellW, h, role, { state: "now", tip: () => [`Layer ${places[i] + 1}`, `${kit.whole(value)} ${noun}`] }))
      })
    }
    const layers = Array.from({ length: n }, (_, layer) => layer)
    panel("rows", at.rows, "rows kept", `${kit.whole(sum(rows))} of ${kit.whole(tokens * n)}`, rows, scheme.owners, "key", "rows kept")
    panel("work", at.work, w > 480 ? "prompt positions computed in prefill" : "prefill positions", `${kit.whole(sum(positions))} of ${kit.whole(tokens * n)}`, positions, layers, "query", "prompt positions computed")
    return { marks, w, h: at.work + at.bars + 14 }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const { scheme, tokens, bytes, read, positions } = pick(ctx)
    const plain = spec.data.schemes.plain
    const stored = `${NAMES[p.scheme][0].toUpperCase()}${NAMES[p.scheme].slice(1)}: ${kit.whole(scheme.per_token)} bytes a token${scheme.later === scheme.per_token ? "" : `, ${kit.whole(scheme.later)} once the windows of ${kit.whole(spec.data.window)} are full`}; ${kit.bytes(bytes)} at ${kit.whole(tokens)}, and a step reads ${kit.whole(read)} rows`
    if (!p.early) return `${stored}.`
    const work = sum(positions)
    return work === sum(plain.prefill.full[p.tokens]) ? `${stored}; here no layer may be left early, so prefill computes all ${kit.whole(work)} positions.` : `${stored}; leaving early, prefill computes ${kit.percent(work / sum(scheme.prefill.full[p.tokens]))} of the positions.`
  }
  const table = ({ spec, p, kit }) => ({
    caption: `20 layers, 16 query heads of 128 on 1 key-value head, ${kit.whole(spec.data.tokens[p.tokens])} tokens, 2 bytes a number`,
    head: ["scheme", "stores", "bytes a token", "in a long context", "bytes", "rows read in a step", "prefill positions", "with early exit"],
    rows: Object.entries(spec.data.schemes).map(([name, one]) => [NAMES[name], one.owners.length, kit.whole(one.per_token), kit.whole(one.later), kit.whole(one.bytes[p.tokens]), kit.whole(one.read[p.tokens]), kit.whole(sum(one.prefill.full[p.tokens])), kit.whole(sum(one.prefill.early[p.tokens]))]),
  })
  return { draw, status, table }
})())
