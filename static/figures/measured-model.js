// Measured numbers of a real model, one bar a way of running it.
kv.figure("measured-model", (() => {
  const found = ({ spec, p }) => spec.data[p.measurement]
  const say = (kit, x) => kit.fix(x, x < 10 ? 2 : x < 100 ? 1 : 0)
  const draw = (ctx) => {
    const { w, kit } = ctx
    const { rows, title, unit } = found(ctx)
    const shown = rows.slice(0, w < 430 ? 6 : 12)
    const most = Math.max(...shown.map((row) => row.value))
    const labelW = w * 0.48
    const h = shown.length > 8 ? 18 : 24
    const marks = [kit.label("t", 0, 12, `${title}: ${unit}`, { cls: "title", max: w })]
    shown.forEach((row, i) => {
      const y = 22 + i * (h + 5)
      marks.push(kit.label(`n${i}`, 0, y + h / 2 + 4, row.name, { max: labelW - 8 }), kit.bar(`b${i}`, labelW, y, Math.max(1, (w - labelW - 62) * (row.value / most)), h, i ? "number" : "value"), kit.cell(`v${i}`, w - 58, y, 58, h, say(kit, row.value), "number", "plain", { tip: [row.name, `${row.value} ${unit}`] }))
    })
    let y = 22 + shown.length * (h + 5) + 14
    if (rows.length > shown.length) { marks.push(kit.label("more", 0, y, `and ${rows.length - shown.length} more in the table`, { cls: "quiet" })); y += 18 }
    return { marks, w, h: y }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const { rows, unit, model, date, processor, device, threads } = found(ctx)
    const best = rows.reduce((a, b) => (b.value > a.value ? b : a))
    const least = rows.reduce((a, b) => (b.value < a.value ? b : a))
    return `${model}, measured on ${date}, ${device}, ${processor}, ${kit.plural(threads, "thread")}: from ${say(kit, least.value)} (${least.name}) to ${say(kit, best.value)} ${unit} (${best.name}).`
  }
  const note = (ctx) => `Measured with: ${found(ctx).command}`
  const table = (ctx) => ({ caption: `${found(ctx).model}: ${found(ctx).title}`, head: ["way", found(ctx).unit], rows: found(ctx).rows.map((row) => [row.name, say(ctx.kit, row.value)]) })
  return { draw, status, note, table }
})())
