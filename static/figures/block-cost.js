// FLOPs of one block: matrices and attention, for a decode step and for a prefill.
kv.figure("block-cost", (() => {
  const block = ({ spec, p }) => spec.data.blocks[p.block]
  const n = ({ spec, p }) => spec.data.tokens[p.tokens]
  const classic = (ctx) => ctx.p.block.startsWith("2017")
  const parts = (ctx) => {
    const b = block(ctx)
    const i = ctx.p.tokens
    return [
      ["step", `one decode step, ${ctx.kit.whole(n(ctx))} keys`, b.matrices, b.attention[i], b.decode[i]],
      ["fill", `prefill of ${ctx.kit.whole(n(ctx))} tokens`, b.prefill_matrices[i], b.prefill_attention[i], b.prefill[i]],
    ]
  }
  const formula = (ctx) => {
    const { kit } = ctx
    const b = block(ctx)
    const T = kit.whole(n(ctx))
    return classic(ctx)
      ? ["24d² + 4dT", `24 × ${kit.whole(b.d_model)}² + 4 × ${kit.whole(b.d_model)} × ${T} = ${kit.whole(b.decode[ctx.p.tokens])}`]
      : ["2 × (2·d·d_h·(h + h_kv) + 3·d·d_ff) + 4·h·d_h·T", `2 × (2 × ${kit.whole(b.d_model)} × ${b.d_head} × (${b.heads} + ${b.kv_heads}) + ${b.feed_forward_matrices} × ${kit.whole(b.d_model)} × ${kit.whole(b.d_ff)}) + 4 × ${b.heads} × ${b.d_head} × ${T} = ${kit.whole(b.decode[ctx.p.tokens])}`]
  }
  const wrapped = (text, w) => {
    const fits = Math.max(24, Math.floor(w / 6.6))
    const lines = [""]
    for (const word of text.split(" ")) {
      if ((lines.at(-1) + word).length + 1 > fits) lines.push("")
      lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word
    }
    return lines
  }
  const draw = (ctx) => {
    const { w, kit } = ctx
    const [name, numbers] = formula(ctx)
    const marks = [kit.label("f", 0, 13, `a decode step: ${name}`, { cls: "title", max: w })]
    let y = 34
    wrapped(numbers, w).forEach((line, i) => { marks.push(kit.label(`l${i}`, 0, y, line, { max: w })); y += 18 })
    y += 8
    parts(ctx).forEach(([k, title, matrices, attention, all]) => {
      marks.push(kit.label(`${k}.t`, 0, y + 12, title, { cls: "title", max: w }))
      y += 20
      const rows = [["matrices", matrices, "value"], ["attention", attention, "query"]]
      const from = 74
      const last = w < 430 ? 128 : 150
      rows.forEach(([label, x, role]) => {
        marks.push(kit.label(`${k}.${label}.n`, from - 8, y + 15, label, { anchor: "end" }), kit.bar(`${k}.${label}.b`, from, y + 2, Math.max(1, (w - from - last - 4) * (x / all)), 17, role), kit.cell(`${k}.${label}.v`, w - last, y, last, 22, kit.whole(x), "number", "plain", { tip: [`${title}: ${label}`, `${kit.whole(x)} FLOPs`, `${kit.percent(x / all, 1)} of ${kit.whole(all)}`] }))
        y += 25
      })
      y += 8
    })
    const b = block(ctx)
    const i = ctx.p.tokens
    marks.push(kit.label("sum", 0, y + 12, `decode steps 1 to ${kit.whole(n(ctx))} added up, less the prefill: ${kit.whole(b.steps[i] - b.prefill[i])}`, { cls: "strong", max: w }))
    return { marks, w, h: y + 22 }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const b = block(ctx)
    const i = ctx.p.tokens
    return `Attention is ${kit.percent(b.attention[i] / b.decode[i], 1)} of a decode step at ${kit.whole(n(ctx))} tokens and ${kit.percent(b.prefill_attention[i] / b.prefill[i], 1)} of the prefill; in a step it equals the matrices at ${kit.whole(b.equal_at)} tokens.`
  }
  const table = (ctx) => ({ caption: `FLOPs of one block, ${ctx.p.block}`, head: ["tokens", "step: attention", "step: all", "prefill: attention", "prefill: all", "steps added up"], rows: ctx.spec.data.tokens.map((t, i) => { const b = block(ctx); return [ctx.kit.whole(t), ...[b.attention, b.decode, b.prefill_attention, b.prefill, b.steps].map((xs) => ctx.kit.whole(xs[i]))] }) })
  return { draw, status, table }
})())
