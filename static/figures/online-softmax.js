// A row of scores in blocks; the running maximum, sum and mix after the chosen block.
kv.figure("online-softmax", (() => {
  const YOURS = "your sentence"
  const row = ({ run, spec, p }) => (p.scores === YOURS ? run.online[p.layer][p.head] : spec.data[p.scores])
  const steps = (ctx) => row(ctx).blocks[ctx.p.block]
  const names = (ctx) => (ctx.p.scores === YOURS ? ctx.run.fed : row(ctx).scores.map((_, i) => `key ${i + 1}`))
  const say = (kit, x, digits = 2) => (x === null ? "−∞" : kit.fix(x, digits))
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const data = row(ctx)
    const list = steps(ctx)
    const now = ctx.p.step
    const step = list[now]
    const n = data.scores.length
    const small = w < 430
    const [high, top, pitch] = small ? [24, 66, 25] : [30, 84, 34]
    const size = Math.min(56, (w - 4) / n)
    const marks = [kit.label("t", 0, 12, `scores, ${list.length} ${list.length === 1 ? "block" : "blocks"} of up to ${p.block}`, { cls: "title" })]
    data.scores.forEach((score, i) => {
      const block = Math.floor(i / p.block)
      const gap = block * 4
      const x = i * Math.min(size, (w - 4 - (list.length - 1) * 4) / n) + gap
      marks.push(kit.cell(`s${i}`, x, 20, Math.min(size, (w - 4 - (list.length - 1) * 4) / n) - 2, high, say(kit, score, small ? 1 : 2), "query", block === now ? "now" : block < now ? "kept" : "future", { tip: [`Score of ${names(ctx)[i]}`, score === null ? "hidden by a mask" : kit.fix(score, 6), block <= now ? "read" : "not read yet"] }))
    })
    const before = now ? list[now - 1] : null
    const short = { m: "largest", l: "sum of exp", o: "mix", "o / l": "output" }
    const rows = [
      ["m", "largest so far", before ? say(kit, before.m, 3) : "−∞", say(kit, step.m, 3), [`m: the largest score of the ${Math.min(n, (now + 1) * p.block)} read so far`, `${say(kit, step.m, 6)}`]],
      ["l", "sum of exp(s − m)", before ? kit.fix(before.l, 3) : "0", kit.fix(step.l, 3), ["l: the old sum rescaled, and the block's exponentials", `${before ? kit.fix(before.l, 4) : "0"} × ${kit.fix(step.rescale, 4)} + ${step.weights.map((x) => kit.fix(x, 4)).join(" + ")} = ${kit.fix(step.l, 4)}`]],
      ["o", "mix of values, undivided", before ? kit.fix(before.o[0], 3) : "0", kit.fix(step.o[0], 3), ["o, its first number: the old mix rescaled, and the block's values weighted", `${before ? kit.fix(before.o[0], 4) : "0"} × ${kit.fix(step.rescale, 4)} + ${step.weights.map((x, i) => `${kit.fix(x, 3)}×${kit.fix(data.values[step.first + i][0], 3)}`).join(" + ")} = ${kit.fix(step.o[0], 4)}`]],
      ["o / l", "the output so far", before ? kit.fix(before.output[0], 3) : "", kit.fix(step.output[0], 3), ["The output so far, its first number", `${kit.fix(step.o[0], 4)} / ${kit.fix(step.l, 4)} = ${kit.fix(step.output[0], 4)}`]],
    ]
    const c = [w * 0.5, w * 0.76]
    marks.push(kit.label("h1", c[0], top, "before", { cls: "title" }), kit.label("h2", c[1], top, w - c[1] > 96 ? "after this block" : "after it", { cls: "title" }))
    rows.forEach(([key, name, old, fresh, tip], i) => {
      const y = top + 8 + i * pitch
      marks.push(kit.label(`n${i}`, 0, y + (pitch - 6) / 2 + 5, small ? `${key}: ${short[key]}` : `${key}: ${name}`, { max: c[0] - 8 }))
      marks.push(kit.cell(`o${i}`, c[0], y, w * 0.24, pitch - 5, old, "number", "kept"), kit.cell(`f${i}`, c[1], y, w * 0.24, pitch - 5, fresh, "accent", "now", { tip }))
    })
    const y = top + 10 + rows.length * pitch
    if (small) return { marks, w, h: y }
    marks.push(kit.label("r", 0, y + 14, `old l and o are multiplied by exp(m before − m after) = ${kit.fix(step.rescale, 4)}`, { cls: step.rescale < 1 && now ? "strong" : "quiet", max: w }))
    marks.push(kit.label("d", 0, y + 36, `direct softmax of the whole row: ${kit.fix(data.direct[0], 6)}; in blocks: ${kit.fix(list.at(-1).output[0], 6)}`, { max: w }))
    return { marks, w, h: y + 44 }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const now = ctx.p.step
    const step = steps(ctx)[now]
    const gap = row(ctx).gap
    return `After block ${now + 1} of ${steps(ctx).length}: maximum ${say(kit, step.m)}, sum ${kit.fix(step.l, 3)}; ${now && step.rescale < 1 ? `a new maximum shrinks what came before to ${kit.percent(step.rescale, 2)}` : "nothing needs rescaling"}. Over all block sizes the result differs from the direct softmax by at most ${gap === 0 ? "0.0" : kit.tiny(gap)}.`
  }
  const table = (ctx) => ({ caption: `Running state, blocks of ${ctx.p.block}`, head: ["after block", "m", "l", "rescale", "o (first number)", "output (first number)"], rows: steps(ctx).map((s, i) => [i + 1, say(ctx.kit, s.m, 4), ctx.kit.fix(s.l, 4), ctx.kit.fix(s.rescale, 4), ctx.kit.fix(s.o[0], 4), ctx.kit.fix(s.output[0], 4)]) })
  const bounds = (ctx) => {
    const { low, high } = ctx.spec.params.find((one) => one.name === "block")
    return { block: [low, Math.min(high, row(ctx).scores.length)], step: [0, steps(ctx).length - 1] }
  }
  return { draw, status, table, bounds, part: (p) => (p.scores === YOURS ? "online" : null), hides: ({ p }) => (p.scores === YOURS ? [] : ["layer", "head"]) }
})())
