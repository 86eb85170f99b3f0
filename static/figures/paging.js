// Memory as cells with their reference counts; requests with the blocks they read; used and wasted.
kv.figure("paging", (() => {
  const memory = ({ spec, p }) => spec.data[p.memory]
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const m = memory(ctx)
    const t = ctx.p.tick
    const held = m.holders[t]
    const across = Math.min(held.length, 16)
    const size = Math.min(40, (w - 4) / across)
    const h = p.memory === "blocks" ? Math.min(30, size) : 34
    const marks = [kit.label("t", 0, 12, p.memory === "blocks" ? `${held.length} blocks of ${m.unit} tokens${w < 430 ? ", sequences reading each" : ", with how many sequences read each"}` : `${held.length} slabs of ${m.unit} tokens, one a sequence`, { cls: "title", max: w })]
    const wide = p.memory === "blocks" ? size : (w - 4) / held.length
    held.forEach((n, i) => {
      const owners = m.rows[t].filter((r) => r.blocks.includes(i)).map((r) => `${r.request}${r.sample ? `, sample ${r.sample + 1}` : ""}`)
      marks.push(kit.cell(`b${i}`, (i % across) * wide, 20 + Math.floor(i / across) * (h + 3), wide - 3, h, n ? `${n}` : "", n > 1 ? "value" : "key", n > 1 ? "now" : n ? "kept" : "future",
        { tip: [p.memory === "blocks" ? `Block ${i}` : `Slab ${i}`, n ? `${kit.plural(n, "reference")}` : "free", owners.length ? `read by ${owners.join("; ")}` : n ? "kept for a later prompt that begins the same" : "no one reads it"] }))
    })
    let y = 20 + Math.ceil(held.length / across) * (h + 3) + 20
    marks.push(kit.label("r", 0, y, "who is being served", { cls: "title" }))
    y += 8
    const small = w < 430
    const pitch = small ? 17 : 21
    const rows = m.rows[t].slice(0, small ? 2 : 7)
    rows.forEach((row, i) => {
      marks.push(kit.label(`n${i}`, 0, y + i * pitch + 14, `${row.request}${row.sample ? `′` : ""}: ${kit.plural(row.n_tokens, "token")} in ${p.memory === "blocks" ? "blocks" : "slab"} ${row.blocks.join(" ")}`, { max: w }))
    })
    if (m.rows[t].length > rows.length) marks.push(kit.label("more", 0, y + rows.length * pitch + 14, `and ${m.rows[t].length - rows.length} more`, { cls: "quiet" }))
    y += small ? 3 * pitch + 4 : 8 * pitch
    const bars = [["used", m.used[t], "value"], ["reserved", m.reserved[t], "key"], ["wasted", m.wasted[t], "bad"]]
    bars.forEach(([name, n, role], i) => {
      marks.push(kit.label(`bn${i}`, 66, y + i * 22 + 13, name, { anchor: "end" }), kit.bar(`bb${i}`, 74, y + i * 22 + 2, Math.max(1, (w - 74 - 70) * (n / m.total)), 14, role), kit.cell(`bv${i}`, w - 66, y + i * 22 - 1, 66, 20, `${kit.whole(n)} of ${m.total}`, "number", "plain"))
    })
    return { marks, w, h: y + 68 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const m = memory(ctx)
    const t = ctx.p.tick
    const events = m.events.filter((e) => e.tick === t).map((e) => `${e.request} ${e.kind}`)
    return `Tick ${t + 1} of ${m.used.length}: ${kit.whole(m.used[t])} token rows used, ${kit.whole(m.reserved[t])} reserved, ${kit.whole(m.wasted[t])} wasted, ${kit.plural(m.waiting[t], "request")} waiting${p.memory === "blocks" ? `; ${kit.percent(m.hit_rate[t], 1)} of prompt tokens were found in the cache` : ""}${events.length ? `; ${events.join(", ")}` : ""}.`
  }
  const table = (ctx) => { const m = memory(ctx); return { caption: "The workload, tick by tick", head: ["tick", "used", "reserved", "wasted", "waiting", "hit rate"], rows: m.used.map((_, i) => [i + 1, m.used[i], m.reserved[i], m.wasted[i], m.waiting[i], ctx.kit.percent(m.hit_rate[i], 1)]) } }
  const bounds = (ctx) => ({ tick: [0, memory(ctx).used.length - 1] })
  return { draw, status, table, bounds }
})())
