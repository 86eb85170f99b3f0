// A key as made and as stored; scores at each distance, here and moved on; sinusoidal codes below.
kv.figure("positions", (() => {
  const shift = ({ spec, p }) => spec.data.shifts[p.shift]
  const turned = (ctx, by = shift(ctx)) => ctx.spec.data.rotary[ctx.p.layout][by]
  const codes = (ctx, by = shift(ctx)) => ctx.spec.data.codes[by]
  const draw = (ctx) => {
    const { spec, p, w, kit } = ctx
    const n = spec.data.places
    const labelW = w < 430 ? 76 : 108
    const size = (w - labelW) / n
    const digits = size < 44 ? 1 : 2
    const h = w < 430 ? 19 : 24
    const marks = []
    let y = 0
    const row = (k, name, values, role, state, tips, high) => {
      marks.push(kit.label(`${k}.n`, labelW - 8, y + h / 2 + 4, name, { anchor: "end", max: labelW - 10 }))
      values.forEach((x, j) => marks.push(kit.cell(`${k}.${j}`, labelW + j * size, y, size - 3, h, kit.fix(x, digits), role, j === high ? "now" : state, { tip: tips(j, x) })))
      y += h + 3
    }
    const title = (k, text) => { marks.push(kit.label(k, 0, y + 13, text, { cls: "title", max: w })); y += 20 }
    title("t1", `the key of “${spec.data.key_word}”, made once and turned once to its place`)
    const place = p.key + shift(ctx)
    row("raw", "as made", spec.data.k, "key", "kept", (j, x) => [`Number ${j + 1} of the key`, kit.fix(x, 6)], -1)
    row("stored", `at ${place}`, turned(ctx).stored[p.key], "key", "now", (j, x) => [`Number ${j + 1}, turned to place ${place}`, kit.fix(x, 6), "this is what the cache holds"], -1)
    y += 6
    title("t2", `scores of “${spec.data.query_word}” at place ${n - 1 + shift(ctx)} by distance`)
    marks.push(kit.label("d.n", labelW - 8, y + 10, "distance", { anchor: "end", cls: "quiet" }))
    for (let j = 0; j < n; j++) marks.push(kit.label(`d${j}`, labelW + j * size + size / 2 - 1, y + 10, `${n - 1 - j}`, { anchor: "middle", cls: j === p.key ? "strong" : "quiet" }))
    y += 16
    row("here", "here", turned(ctx, 0).scores, "query", "kept", (j, x) => [`Query at ${n - 1}, key at ${j}`, `q · k after turning = ${kit.fix(x, 9)}`], p.key)
    row("moved", `moved by ${kit.whole(shift(ctx))}`, turned(ctx).scores, "query", "kept", (j, x) => [`Query at ${n - 1 + shift(ctx)}, key at ${j + shift(ctx)}`, `q · k after turning = ${kit.fix(x, 9)}`, `difference ${kit.tiny(Math.abs(x - turned(ctx, 0).scores[j]))}`], p.key)
    y += 6
    title("t3", "sinusoids, added to the rows: products of their codes")
    row("codes", "here", codes(ctx, 0).products, "position", "kept", (j, x) => [`Code of ${n - 1} · code of ${j}`, kit.fix(x, 9)], p.key)
    row("codes2", `moved by ${kit.whole(shift(ctx))}`, codes(ctx).products, "position", "kept", (j, x) => [`Code of ${n - 1 + shift(ctx)} · code of ${j + shift(ctx)}`, kit.fix(x, 9), `difference ${kit.tiny(Math.abs(x - codes(ctx, 0).products[j]))}`], p.key)
    return { marks, w, h: y + 4 }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const gap = turned(ctx).gap
    return shift(ctx)
      ? `Moved on by ${kit.whole(shift(ctx))}, the stored key is another, and no score of any pair of places changes by more than ${kit.tiny(gap)}; the products of codes by ${kit.tiny(codes(ctx).gap)}.`
      : `Nothing is moved yet: the key is stored turned to place ${ctx.p.key}, ${kit.plural(ctx.spec.data.places - 1 - ctx.p.key, "place")} before the query.`
  }
  const note = ({ p }) => (p.layout === "halves" ? "Layout halves: number i is turned with number i + half the width." : "Layout pairs: number 2i is turned with number 2i + 1. A key stored in one layout cannot be read in the other.")
  const table = (ctx) => ({ caption: `Moved by ${shift(ctx)}, layout ${ctx.p.layout}`, head: ["distance", "score here", "score moved", "code product here", "moved"], rows: turned(ctx).scores.map((x, j) => [ctx.spec.data.places - 1 - j, ctx.kit.fix(turned(ctx, 0).scores[j], 9), ctx.kit.fix(x, 9), ctx.kit.fix(codes(ctx, 0).products[j], 9), ctx.kit.fix(codes(ctx).products[j], 9)]) })
  return { draw, status, note, table }
})())
