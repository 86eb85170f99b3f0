// A pattern as a grid: queries down, keys across; below, what a cache must keep for later queries.
kv.figure("pattern-grid", (() => {
  const keyOf = ({ spec, p }) => {
    const n = spec.data.families[p.pattern]
    const second = p.pattern === "fixed" ? Math.min(p.second, p.size) : p.second
    return [p.pattern, ...[p.size, second].slice(0, n)].join("/")
  }
  const tableOf = (ctx) => ctx.spec.data.tables[keyOf(ctx)]
  const width = ({ p }) => (p.pattern === "cross" ? p.size : p.n)
  const reads = (ctx, i, j) => (ctx.p.pattern === "cross" ? true : tableOf(ctx).reads[i][j] === "1")
  const kept = (ctx, j) => {
    const i = ctx.p.row
    if (ctx.p.pattern === "cross" || ctx.p.pattern === "full") return "kept"
    if (j > i && !(ctx.p.pattern === "prefix" && j < ctx.p.size)) return "future"
    return tableOf(ctx).needed[i][j] === "0" ? "evicted" : "kept"
  }
  const pairs = (ctx) => tableOf(ctx).pairs[ctx.p.n - 1]
  const told = { kept: "kept: a later query may read it", evicted: "may be dropped: no later query reads it", future: "not there yet" }

  const draw = (ctx) => {
    const { p, w, h = Infinity, kit } = ctx
    const columns = width(ctx)
    const labelW = Math.min(70, w * 0.16)
    const rowH = Math.max(5, Math.min(26, (w - labelW - 8) / Math.max(columns, p.n), (Math.min(h, 392) - 62) / p.n))
    const size = Math.max(rowH, Math.min(3 * rowH, 26, (w - labelW - 8) / Math.max(columns, p.n))) // low and wide where height is short
    const i = ctx.p.row
    const marks = []
    for (let q = 0; q < p.n; q++) {
      const y = 18 + q * rowH
      marks.push(kit.label(`q${q}`, labelW - 6, y + rowH / 2 + 4, rowH >= 13 || q === i ? (labelW < 62 ? `${q}` : `query ${q}`) : "", { anchor: "end", cls: q === i ? "strong" : "quiet" }))
      for (let j = 0; j < columns; j++) {
        const on = reads(ctx, q, j)
        marks.push(kit.cell(`c${q}.${j}`, labelW + j * size, y, size - 1.5, rowH - (rowH < 9 ? 1 : 1.5), "", q === i ? "query" : "key", on ? (q === i ? "now" : "kept") : "masked",
          q === i ? { tip: [`Query ${q}, key ${j}`, on ? "may be read" : "may not be read"] } : {}))
      }
    }
    marks.push(kit.label("keys", labelW, 11, p.pattern === "cross" ? "source keys, from 0 on" : "keys, from 0 on", { cls: "quiet" }))
    const y = 18 + p.n * rowH + 22
    marks.push(kit.label("store", labelW, y - 6, `the cache after query ${i}`, { cls: "title" }))
    for (let j = 0; j < columns; j++) marks.push(kit.cell(`s${j}`, labelW + j * size, y, size - 1.5, Math.max(16, rowH - 1.5), kept(ctx, j) === "evicted" && size >= 14 ? "×" : "", "value", kept(ctx, j), { tip: [`Row of key ${j}`, told[kept(ctx, j)]] }))
    return { marks, w, h: y + Math.max(18, rowH) + 2 }
  }
  const count = (ctx, state) => Array.from({ length: width(ctx) }, (_, j) => kept(ctx, j)).filter((s) => s === state).length
  const readBy = (ctx) => Array.from({ length: width(ctx) }, (_, j) => reads(ctx, ctx.p.row, j)).filter(Boolean).length
  const status = (ctx) => {
    const { p, kit, spec } = ctx
    const causal = spec.data.tables.causal.pairs[p.n - 1]
    const dropped = count(ctx, "evicted")
    return `${kit.whole(pairs(ctx))} pairs over ${p.n} tokens (causal attention: ${kit.whole(causal)}); query ${ctx.p.row} reads ${kit.plural(readBy(ctx), "key")}; after it ${kit.plural(count(ctx, "kept"), "row")} must stay${dropped ? ` and ${dropped} may be dropped` : ", and none may be dropped"}.`
  }
  const table = (ctx) => ({ caption: `Keys each query may read, pattern ${keyOf(ctx)}`, head: ["query", "keys it reads", "how many"],
    rows: Array.from({ length: ctx.p.n }, (_, q) => { const list = Array.from({ length: width(ctx) }, (_, j) => j).filter((j) => reads(ctx, q, j)); return [q, list.join(" "), list.length] }) })
  const hides = ({ spec, p }) => [["size"], ["second"]].slice(spec.data.families[p.pattern]).flat()
  /** What the two sizes are in each pattern. */
  const SIZES = { cross: ["Source"], window: ["Window"], "window-sinks": ["Window", "Sinks"], prefix: ["Prefix"], strided: ["Stride"], fixed: ["Block", "Summaries"], dilated: ["Window", "Gap"] }
  const names = ({ p }) => { const [size = "Size", second = "Second size"] = SIZES[p.pattern] ?? []; return { size, second } }
  const bounds = ({ p }) => ({ row: [0, p.n - 1] })
  return { draw, status, table, hides, names, bounds }
})())
