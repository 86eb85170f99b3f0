// Seconds to fetch a cache over each link, and to compute it again.
kv.figure("moving-cache", (() => {
  const row = ({ spec, p }) => spec.data.rows[p.model][p.tokens]
  const say = (kit, s) => (s >= 0.1 ? `${kit.fix(s, 2)} s` : s >= 0.01 ? `${kit.fix(1000 * s, 0)} ms` : `${kit.fix(1000 * s, 1)} ms`)
  const draw = (ctx) => {
    const { spec, w, kit } = ctx
    const r = row(ctx)
    const all = [...spec.data.links.map((link, i) => [link.name, r.load[i], "key", link]), ["compute again", r.again, "accent", null]]
    const most = Math.max(...all.map(([, s]) => s))
    const labelW = Math.min(150, w * 0.38)
    const h = w < 430 ? 18 : 26
    const marks = [kit.label("t", 0, 12, `${kit.bytes(r.bytes)} of keys and values`, { cls: "title", max: w })]
    all.forEach(([name, s, role, link], i) => {
      const y = 22 + i * (h + 5)
      const better = link && s < r.again
      marks.push(kit.label(`n${i}`, labelW - 8, y + h / 2 + 4, name, { anchor: "end", cls: better || !link ? "strong" : "", max: labelW - 10 }))
      marks.push(kit.bar(`b${i}`, labelW, y, Math.max(1, (w - labelW - 74) * (s / most)), h, role, { state: better || !link ? "now" : "wasted" }))
      marks.push(kit.cell(`v${i}`, w - 70, y, 70, h, say(kit, s), "number", "plain", { tip: link ? [`Over ${name}, ${kit.fix(link.bytes_per_s / 1e9, 0)} GB/s`, `${kit.whole(r.bytes)} bytes / ${kit.whole(link.bytes_per_s)} = ${kit.fix(s, 4)} s`, link.source] : [`A prefill at half of the ${spec.data.chip}'s peak`, `${kit.fix(s, 4)} s`] }))
    })
    const x = labelW + (w - labelW - 74) * (r.again / most)
    marks.push(kit.wire("line", `M ${x} 18 V ${22 + all.length * (h + 5)}`, { role: "accent", state: "dashed" }))
    return { marks, w, h: 26 + all.length * (h + 5) }
  }
  const status = (ctx) => {
    const { spec, p, kit } = ctx
    const r = row(ctx)
    return `${spec.data.models[p.model]}, ${kit.whole(spec.data.tokens[p.tokens])} tokens: a link faster than ${kit.fix(r.break_even / 1e9, 1)} GB/s beats computing again. Ten such prompts a second, prefilled on one machine and decoded on another, put ${kit.fix(r.handover / 1e9, 1)} Gb/s on the link between them.`
  }
  const note = ({ spec, kit, p }) => `Links at their nominal rates; the prefill at half of the published peak of one ${spec.data.chip}.${kit.conditions({ most: spec.data.most[p.model], assumed: [] }, spec.data.tokens[p.tokens])}`
  const table = (ctx) => ({ caption: `${ctx.spec.data.models[ctx.p.model]}, ${ctx.kit.whole(ctx.spec.data.tokens[ctx.p.tokens])} tokens`, head: ["way", "GB/s", "seconds"], rows: [...ctx.spec.data.links.map((link, i) => [link.name, ctx.kit.fix(link.bytes_per_s / 1e9, 0), ctx.kit.fix(row(ctx).load[i], 4)]), ["compute again", "", ctx.kit.fix(row(ctx).again, 4)]] })
  return { draw, status, note, table }
})())
