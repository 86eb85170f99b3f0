// Memory as numbered cells, under each how many texts read it; the texts with their blocks; used and wasted.
kv.figure("paging", (() => {
  const memory = ({ spec, p }) => spec.data[p.memory]
  /** A text is a request, or one of the answers of a request that asked for several. */
  const named = (m, row) => (m.answers[row.request] > 1 ? `${row.request}, answer ${row.sample + 1}` : row.request)
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const m = memory(ctx)
    const t = ctx.p.tick
    const held = m.holders[t]
    const across = Math.min(held.length, 16)
    const size = Math.min(40, (w - 4) / across)
    const h = p.memory === "blocks" ? Math.min(26, size) : 34
    const blocks = p.memory === "blocks"
    const small = w < 430
    const pitch = small ? 16 : 21
    const line = h + (small ? 15 : 19)
    const title = `${held.length} ${blocks ? "blocks" : "slabs"} of ${m.unit} tokens${small ? "; below: texts reading it" : ", numbered from 0; below each, how many texts read it"}`
    const marks = [kit.label("t", 0, 12, title, { cls: "title", max: w })]
    const wide = blocks ? size : (w - 4) / held.length
    held.forEach((n, i) => {
      const owners = m.rows[t].filter((r) => r.blocks.includes(i)).map((r) => named(m, r))
      const [x, y] = [(i % across) * wide, 20 + Math.floor(i / across) * line]
      marks.push(kit.cell(`b${i}`, x, y, wide - 3, h, `${i}`, n > 1 ? "value" : "key", n > 1 ? "now" : n ? "kept" : "future",
        { tip: [blocks ? `Block ${i}` : `Slab ${i}`, n ? kit.plural(n, "reference") : "free", n ? `read by ${owners.join("; ")}` : "no text reads it"] }))
      if (n) marks.push(kit.label(`c${i}`, x + (wide - 3) / 2, y + h + (small ? 11 : 12), `×${n}`, { anchor: "middle", cls: n > 1 ? "strong" : "quiet" }))
    })
    let y = 20 + Math.ceil(held.length / across) * line + (small ? 13 : 16)
    marks.push(kit.label("r", 0, y, `who is being served${small && blocks ? ", and from which blocks" : ""}`, { cls: "title" }))
    y += 8
    const rows = m.rows[t].slice(0, small ? 2 : 7)
    rows.forEach((row, i) => {
      marks.push(kit.label(`n${i}`, 0, y + i * pitch + 14, `${named(m, row)}${small && blocks ? ` (${kit.plural(row.n_tokens, "token")}):` : `: ${kit.plural(row.n_tokens, "token")} in ${blocks ? "blocks" : "slab"}`} ${row.blocks.join(" ")}`, { max: w }))
    })
    if (m.rows[t].length > rows.length) marks.push(kit.label("more", 0, y + rows.length * pitch + 14, `and ${m.rows[t].length - rows.length} more`, { cls: "quiet" }))
    y += small ? 3 * pitch + 2 : 8 * pitch
    const step = small ? 20 : 22
    const bars = [["used", m.used[t], "value"], ["reserved", m.reserved[t], "key"], ["wasted", m.wasted[t], "bad"]]
    bars.forEach(([name, n, role], i) => {
      marks.push(kit.label(`bn${i}`, 66, y + i * step + 13, name, { anchor: "end" }), kit.bar(`bb${i}`, 74, y + i * step + 2, Math.max(1, (w - 74 - 70) * (n / m.total)), 14, role), kit.cell(`bv${i}`, w - 66, y + i * step - 1, 66, 20, `${kit.whole(n)} of ${m.total}`, "number", "plain"))
    })
    return { marks, w, h: y + 3 * step + 2 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const m = memory(ctx)
    const t = ctx.p.tick
    const now = m.events.filter((e) => e.tick === t)
    const last = now.filter((e) => e.kind === "finishes").map((e) => e.request)
    const events = now.filter((e) => e.kind !== "finishes").map((e) => `${e.request} ${e.kind}`)
    if (last.length) events.push(last.length > 1 ? `${last.join(" and ")} write their last tokens` : `${last[0]} writes its last token`)
    return `Tick ${t + 1} of ${m.used.length}: ${kit.whole(m.used[t])} token rows used, ${kit.whole(m.reserved[t])} reserved, ${kit.whole(m.wasted[t])} wasted, ${kit.plural(m.waiting[t], "request")} waiting${p.memory === "blocks" ? `; ${kit.percent(m.hit_rate[t], 1)} of prompt tokens were found in the cache` : ""}${events.length ? `; ${events.join(", ")}` : ""}.`
  }
  const note = (ctx) => {
    const twice = Object.entries(memory(ctx).answers).filter(([, n]) => n > 1).map(([name]) => name)
    return `Requests ${twice.join(" and ")} ask for two answers each, two texts that share the rows of their prompt${ctx.p.memory === "blocks" ? "" : " in blocks, but not in slabs"}.`
  }
  const table = (ctx) => { const m = memory(ctx); return { caption: "The workload, tick by tick", head: ["tick", "used", "reserved", "wasted", "waiting", "hit rate"], rows: m.used.map((_, i) => [i + 1, m.used[i], m.reserved[i], m.wasted[i], m.waiting[i], ctx.kit.percent(m.hit_rate[i], 1)]) } }
  const bounds = (ctx) => ({ tick: [0, memory(ctx).used.length - 1] })
  return { draw, status, note, table, bounds }
})())
