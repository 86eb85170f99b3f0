// Query heads on top, a wire to the key-value head each one reads, and what that one keeps below.
kv.figure("head-wiring", (() => {
  const HEADS = 4
  const readers = ({ spec, p }) => (p.tiled ? spec.data.dealt : spec.data.reads)[p.kv_heads]
  const tip = (ctx, kind, head, row, j) => () => {
    const { run, p, kit } = ctx
    return [`${kind === "k" ? "Key" : "Value"} of “${run.fed[row]}”, key-value head ${head + 1}, number ${j + 1}`, `${kit.fix(run.at(`heads.${p.kv_heads}.${kind}`, p.layer, head, row, j), 6)}, kept once for ${kit.plural(HEADS / p.kv_heads, "query head")}`]
  }
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const n = run.fed.length
    const at = w < 480 ? { query: 0, box: 19, kv: 40, rows: 64, room: 126 } : { query: 4, box: 28, kv: 98, rows: 132, room: 270 }
    const labelW = Math.min(84, w * 0.18)
    const column = (w - labelW) / p.kv_heads
    const cellW = Math.min(46, (column - 14) / 4)
    const blockW = 4 * cellW + 4
    const centre = (head) => labelW + column * (head + 0.5)
    const boxW = Math.min(64, (w - labelW) / HEADS - 8)
    const queryX = (i) => labelW + ((w - labelW) / HEADS) * (i + 0.5)
    const marks = [kit.label("q.title", 0, at.query + at.box / 2 + 4, "queries", { cls: "query", max: labelW }), kit.label("kv.title", 0, at.kv + at.box / 2 + 4, w > 420 ? "keys, values" : "k and v", { cls: "key", max: labelW })]
    const reads = readers(ctx)
    const right = ctx.spec.data.reads[p.kv_heads]
    for (let i = 0; i < HEADS; i++) {
      const head = reads[i]
      const wrong = head !== right[i]
      marks.push(kit.wire(`wire${i}`, `M ${queryX(i)} ${at.query + at.box} C ${queryX(i)} ${at.kv - 8}, ${centre(head)} ${at.query + at.box + 8}, ${centre(head)} ${at.kv}`, { role: wrong ? "bad" : "query", state: wrong ? "now dashed" : "now" }))
      marks.push(kit.cell(`q${i}`, queryX(i) - boxW / 2, at.query, boxW, at.box, w > 420 ? `query ${i + 1}` : `q${i + 1}`, "query", "now", { tip: () => [`Query head ${i + 1} of ${HEADS}`, `it reads key-value head ${right[i] + 1} = ⌈${i + 1} / ${HEADS / p.kv_heads}⌉${wrong ? `; dealt out in turn it gets ${head + 1}` : ""}`] }))
    }
    const top = at.rows
    const cellH = Math.max(5, Math.min(20, (at.room - (cellW < 26 ? 13 : 0)) / n - 2))
    for (let head = 0; head < p.kv_heads; head++) {
      const x = centre(head) - blockW / 2
      marks.push(kit.cell(`kv${head}`, x, at.kv, blockW - 2, at.box, p.kv_heads === 4 && w < 420 ? `kv ${head + 1}` : `key-value head ${head + 1}`, "key", "now", { clip: false }))
      for (let row = 0; row < n; row++) for (const [k, kind] of ["k", "v"].entries()) for (let j = 0; j < 2; j++) {
        const value = run.at(`heads.${p.kv_heads}.${kind}`, p.layer, head, row, j)
        marks.push(kit.cell(`${kind}${head}.${row}.${j}`, x + (2 * k + j) * cellW + 2 * k, top + row * (cellH + 2), cellW - 2, cellH, cellW >= 26 && cellH >= 12 ? kit.fix(value, cellW >= 36 ? 2 : 1) : "", kind === "k" ? "key" : "value", "kept", { tip: tip(ctx, kind, head, row, j), value }))
      }
    }
    for (let row = 0; row < n; row++) if (cellH >= 8) marks.push(kit.label(`word${row}`, labelW - 8, top + row * (cellH + 2) + cellH / 2 + 4, run.fed[row], { anchor: "end", max: labelW - 10, cls: cellH < 14 ? "quiet" : "" }))
    const bottom = top + n * (cellH + 2) + 2
    if (cellW >= 26 && cellH >= 12) return { marks, w, h: bottom }
    marks.push(kit.label("shaded", 0, bottom + 10, kit.SHADED, { cls: "quiet" }))
    return { marks, w, h: bottom + 13 }
  }
  const status = (ctx) => {
    const { run, spec, p, kit } = ctx
    const one = run.heads[p.kv_heads]
    const size = `${kit.plural(p.kv_heads, "key-value head")} for 4 query heads: ${spec.data.numbers[p.kv_heads]} numbers a word, ${kit.whole(one.bytes)} bytes for the ${run.fed.length} words of this run`
    if (p.tiled && p.kv_heads === 2) return `${size}; in the wrong order, query heads 2 and 3 read a stranger's rows and the logits move by up to ${kit.fix(run.tiled_gap, 2)}.`
    if (p.tiled) return `${size}; with ${p.kv_heads} there is only one order, so nothing can be dealt out wrongly.`
    return `${size}; each is read by ${kit.plural(4 / p.kv_heads, "query head")}.`
  }
  const table = (ctx) => {
    const { run, p, kit } = ctx
    const names = Array.from({ length: p.kv_heads }, (_, h) => h)
    return {
      caption: `Layer ${p.layer + 1}: rows kept by each key-value head; query heads read ${readers(ctx).map((h) => h + 1).join(", ")}`,
      head: ["word", ...names.flatMap((h) => [`head ${h + 1}, k1`, `k2`, `v1`, `v2`])],
      rows: run.fed.map((word, row) => [word, ...names.flatMap((h) => ["k", "v"].flatMap((kind) => [0, 1].map((j) => kit.fix(run.at(`heads.${p.kv_heads}.${kind}`, p.layer, h, row, j), 4))))]),
    }
  }
  return { draw, status, table, part: () => "heads" }
})())
