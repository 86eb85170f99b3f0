// The self-attention cache of one layer and head: a key and a value land at the bottom, nothing above changes.
kv.figure("append", (() => {
  const tip = (ctx, kind, row) => Array.from(ctx.run.at(kind, ctx.p.layer, ctx.p.head, row), (x, j) => () => {
    const { run, p, kit } = ctx
    const input = run.at("input", p.layer, row)
    const terms = Array.from(input, (v, i) => `${kit.fix(v, 3)}×${kit.fix(run.at(`w.${kind}`, p.layer, p.head, i)[j], 3)}`)
    return [`${kind === "k" ? "Key" : "Value"} of “${run.fed[row]}”, number ${j + 1}: made at step ${row + 1}, not touched since`, `${terms.join(" + ")} = ${kit.fix(x, 3)}`]
  })
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const n = run.fed.length
    const labelW = Math.min(96, w * 0.2)
    const cellW = Math.min(56, (w - labelW - 16) / 8)
    const digits = cellW >= 38 ? 2 : 1
    const cellH = Math.max(14, Math.min(26, 400 / n - 2))
    const rows = (kind) => Array.from({ length: p.t + 1 }, (_, row) => ({ label: run.fed[row], key: row, values: Array.from(run.at(kind, p.layer, p.head, row)), state: row === p.t ? "now" : "kept", tips: tip(ctx, kind, row) }))
    const at = { y: 0, cellW, cellH, digits }
    const left = kit.matrix({ ...at, k: "k", x: 0, title: "keys", role: "key", rows: rows("k"), labelW })
    const right = kit.matrix({ ...at, k: "v", x: labelW + 4 * cellW + 14, title: "values", role: "value", rows: rows("v"), labelW: 0 })
    const marks = [...left.marks, ...right.marks]
    for (let row = p.t + 1; row < n; row++) {
      const y = 20 + row * (cellH + 2)
      marks.push(kit.cell(`free.k${row}`, labelW, y, 4 * cellW - 2, cellH, "", "key", "future"), kit.cell(`free.v${row}`, labelW + 4 * cellW + 14, y, 4 * cellW - 2, cellH, "", "value", "future"))
    }
    return { marks, w, h: 22 + n * (cellH + 2) }
  }
  const status = ({ run, p, kit }) => {
    const rows = p.t + 1
    return `Step ${rows} of ${run.fed.length}: the key and value of “${run.fed[p.t]}” are appended; the cache now holds ${kit.plural(rows, "row")}, ${kit.whole(run.at("count.cached.numbers", p.t))} numbers in all layers and heads; the toy writes ${run.shown(p.t)}.`
  }
  const table = ({ run, p, kit }) => ({
    caption: `Cache of layer ${p.layer + 1}, head ${p.head + 1} after step ${p.t + 1}`,
    head: ["word", "k1", "k2", "k3", "k4", "v1", "v2", "v3", "v4"],
    rows: Array.from({ length: p.t + 1 }, (_, row) => [run.fed[row], ...["k", "v"].flatMap((kind) => Array.from(run.at(kind, p.layer, p.head, row), (x) => kit.fix(x, 4)))]),
  })
  return { draw, status, table }
})())
