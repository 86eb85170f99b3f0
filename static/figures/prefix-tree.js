// Edges of a prefix tree, the place of a word across and a line for each text that parts.
kv.figure("prefix-tree", (() => {
  const now = ({ spec, p }) => spec.data.after[p.texts]
  const draw = (ctx) => {
    const { spec, w, kit } = ctx
    const found = now(ctx)
    const last = spec.data.after.at(-1)
    const longest = Math.max(...spec.data.after.map((one) => one.n))
    const unit = (w - 2) / longest
    const [h, pitch] = w < 430 ? [20, 27] : [26, 36]
    const marks = [kit.label("t", 0, 12, "edges, each with its words and their rows", { cls: "title", max: w })]
    for (const edge of found.edges) {
      const key = `${edge.line}.${edge.start}`
      const y = 22 + edge.line * pitch
      const x = edge.start * unit
      if (edge.parent !== edge.line) marks.push(kit.wire(`w${key}`, `M${x + 5} ${22 + edge.parent * pitch + h} V${y + h / 2} H${x + 8}`, { state: "quiet" }))
      const shared = found.edges.some((one) => one.start === edge.start + edge.words.length && (one.parent === edge.line || one.line === edge.line) && one !== edge)
      const inset = edge.parent !== edge.line ? 8 : 0
      marks.push(kit.cell(`e${key}`, x + inset, y, edge.words.length * unit - 3 - inset, h, edge.words.join(" "), shared ? "value" : "key", shared ? "now" : "kept",
        { size: 11.5, tip: [edge.words.join(" "), `${kit.plural(edge.words.length, "row")}, from place ${edge.start}`, shared ? "read by every text that runs through here" : "of one text alone"] }))
    }
    const lines = Math.max(...last.edges.map((edge) => edge.line)) + 1
    let y = 22 + lines * pitch + 6
    const bars = [["one tree", found.rows, "value"], [`each alone`, found.alone, "number"]]
    const labelW = 76
    bars.forEach(([name, n, role], i) => marks.push(kit.label(`n${i}`, labelW - 8, y + i * 22 + 12, name, { anchor: "end" }), kit.bar(`b${i}`, labelW, y + i * 22, (w - labelW - 66) * (n / last.alone), 15, role), kit.cell(`v${i}`, w - 60, y + i * 22 - 2, 58, 20, `${n} rows`, "number", "plain")))
    return { marks, w, h: y + 46 }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const one = now(ctx)
    return `Of the ${kit.plural(one.n, "word")} of text ${p.texts + 1} the tree finds the first ${one.found}, blocks of ${spec.data.block} find ${one.by_blocks}; ${kit.plural(p.texts + 1, "text")} take ${one.rows} rows in the tree and ${one.alone} without sharing.`
  }
  const table = (ctx) => ({ caption: "Texts as they come", head: ["text", "words", "found by the tree", `found by blocks of ${ctx.spec.data.block}`, "rows in the tree", "rows unshared"], rows: ctx.spec.data.after.slice(0, ctx.p.texts + 1).map((one, i) => [i + 1, one.n, one.found, one.by_blocks, one.rows, one.alone]) })
  return { draw, status, table }
})())
