// One bar a layer: windowed layers stop growing, global ones go on.
kv.figure("layer-stack", (() => {
  const stack = ({ spec, p }) => spec.data.models[p.model]
  const at = (ctx) => stack(ctx).bytes[ctx.p.tokens]
  const sum = (xs) => xs.reduce((s, x) => s + x, 0)
  const tokens = ({ spec, p }) => spec.data.tokens[p.tokens]
  const split = (ctx) => {
    const { windows } = stack(ctx)
    const local = sum(at(ctx).filter((_, i) => windows[i] !== null))
    return { local, global: sum(at(ctx)) - local, n: windows.filter((x) => x !== null).length }
  }
  const draw = (ctx) => {
    const { w, h: room = Infinity, kit } = ctx
    const { windows, without } = stack(ctx)
    const sizes = at(ctx)
    const most = Math.max(...sizes)
    const width = (w - 4) / sizes.length
    const lineH = room < 300 ? 20 : 28
    const high = Math.max(40, Math.min(170, room - 4 * lineH - 40))
    const floor = high + 30
    const marks = [kit.label("t", 0, 12, `${sizes.length} layers at ${kit.whole(tokens(ctx))} tokens`, { cls: "title" })]
    sizes.forEach((n, i) => {
      const h = Math.max(3, high * (n / most))
      marks.push(kit.cell(`l${i}`, i * width, floor - h, Math.max(2, width - 1.5), h, "", windows[i] === null ? "key" : "query", "kept", { tip: [`Layer ${i + 1}: ${windows[i] === null ? "reads everything" : `window ${kit.whole(windows[i])}`}`, `${kit.whole(n)} bytes = ${kit.bytes(n)}`] }))
    })
    const { local, global, n } = split(ctx)
    const total = local + global
    const full = without[ctx.p.tokens]
    const rows = [["windowed", local, "query", `${n} layers`], ["global", global, "key", `${sizes.length - n} layers`], ["all", total, "value", ""], ["all, without windows", full, "number", ""]]
    rows.forEach(([name, bytes, role, note], i) => {
      const y = floor + (lineH - 20) + 6 + i * lineH
      const labelW = Math.min(170, w * 0.44)
      marks.push(kit.label(`n${i}`, labelW - 8, y + 15, note && w > 460 ? `${name} (${note})` : name, { anchor: "end", max: labelW - 8 }))
      marks.push(kit.bar(`b${i}`, labelW, y + 2, Math.max(1, (w - labelW - 84) * (bytes / full)), 17, role))
      marks.push(kit.cell(`v${i}`, w - 80, y, 80, 22, kit.bytes(bytes), "number", "plain", { tip: [name, `${kit.whole(bytes)} bytes`] }))
    })
    return { marks, w, h: floor + (lineH - 20) + 6 + 4 * lineH }
  }
  const status = (ctx) => {
    const { kit, p } = ctx
    const { local, global } = split(ctx)
    const full = stack(ctx).without[p.tokens]
    const beyond = stack(ctx).most && tokens(ctx) > stack(ctx).most ? ` It is made for ${kit.whole(stack(ctx).most)} tokens at most.` : ""
    return `${p.model} at ${kit.whole(tokens(ctx))} tokens keeps ${kit.bytes(local + global)}, ${kit.percent((local + global) / full)} of the ${kit.bytes(full)} it would keep without windows.${beyond}`
  }
  const table = (ctx) => ({ caption: `Cache of each layer, ${ctx.p.model}`, head: ["layer", "window", "bytes"], rows: at(ctx).map((n, i) => [i, stack(ctx).windows[i] ?? "none", ctx.kit.whole(n)]) })
  return { draw, status, table }
})())
