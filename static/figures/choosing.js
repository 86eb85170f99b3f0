// Words down, stages across: what each stage of sampling leaves, and the word that is drawn.
kv.figure("choosing", (() => {
  const KNOBS = ["t", "temperature", "top_k", "top_p", "min_p", "seed"]
  const asked = ({ run, p }) => ({ text: run.text, ...Object.fromEntries(KNOBS.map((name) => [name, p[name]])) })
  const isFirst = (ctx) => Object.entries(ctx.spec.data.asked).every(([name, value]) => asked(ctx)[name] === value)
  const key = (ctx) => JSON.stringify(asked(ctx))
  const found = (ctx) => (isFirst(ctx) ? ctx.spec.data.answer : ctx.run.answers[key(ctx)])
  const need = (ctx) => (isFirst(ctx) ? null : { part: "choice", key: key(ctx), text: key(ctx) })
  const say = (kit, x) => (x >= 0.0995 ? kit.percent(x, 0) : x >= 0.0095 ? kit.percent(x, 1) : x > 0 ? (x < 0.00001 ? "≈ 0" : kit.percent(x, 3)) : "0")
  const knob = ({ p }, name) => ({ temperature: `T = ${p.temperature / 100}`, "top-k": p.top_k ? `${p.top_k}` : "all", "top-p": `${p.top_p / 100}`, "min-p": `${p.min_p / 100}` }[name])
  const draw = (ctx) => {
    const { w, kit } = ctx
    const data = found(ctx)
    const shown = w < 430 ? 5 : 12
    const columns = ["softmax", ...data.stages]
    const labelW = Math.min(110, w * 0.23)
    const size = (w - labelW) / columns.length
    const h = w < 430 ? 19 : 21
    const marks = []
    columns.forEach((name, j) => {
      marks.push(kit.label(`c${j}`, labelW + (j + 0.5) * size, 12, name === "temperature" && size < 70 ? "temp." : name, { anchor: "middle", cls: "title", max: size }))
      marks.push(kit.label(`v${j}`, labelW + (j + 0.5) * size, 26, j ? knob(ctx, name) : "", { anchor: "middle", cls: "quiet", max: size }))
    })
    data.words.slice(0, shown).forEach((word, i) => {
      const y = 34 + i * (h + 2)
      const drawn = i === data.place
      marks.push(kit.label(`w${i}`, labelW - 6, y + 15, `${drawn ? "→ " : ""}${word}`, { anchor: "end", cls: drawn ? "strong" : "", max: labelW - 8 }))
      columns.forEach((name, j) => {
        const kept = data.keeps[j][i]
        const x = data.laws[j][i]
        const was = j ? data.laws[j - 1][i] : null
        marks.push(kit.bar(`b${j}.${i}`, labelW + j * size + 1, y, Math.max(kept ? 1 : 0, (size - 4) * x), h, j === columns.length - 1 ? "value" : "number", { state: "wasted" }))
        marks.push(kit.cell(`p${j}.${i}`, labelW + j * size + 1, y, size - 4, h, kept ? say(kit, x) : "–", drawn && j === columns.length - 1 ? "value" : "number", !kept ? "masked" : drawn && j === columns.length - 1 ? "now" : "plain",
          { tip: [`“${word}” after ${name}`, kept ? `probability ${kit.fix(x, 6)}` : "may not be drawn any more", ...(j ? [`before: ${kit.fix(was, 6)}`] : ["the whole vocabulary, before any stage"])] }))
      })
    })
    const y = 34 + Math.min(shown, data.words.length) * (h + 2) + 8
    marks.push(kit.label("kn", labelW - 6, y + 12, "words kept", { anchor: "end", cls: "quiet", max: labelW - 4 }), kit.label("mn", labelW - 6, y + 30, "mass kept", { anchor: "end", cls: "quiet", max: labelW - 4 }))
    columns.forEach((_, j) => marks.push(
      kit.label(`k${j}`, labelW + (j + 0.5) * size, y + 12, kit.whole(data.kept[j]), { anchor: "middle", cls: "strong" }),
      kit.label(`m${j}`, labelW + (j + 0.5) * size, y + 30, kit.percent(data.mass[j], size < 48 ? 0 : 1), { anchor: "middle" })))
    return { marks, w, h: y + 38 }
  }
  const status = (ctx) => {
    const { run, p, kit } = ctx
    const data = found(ctx)
    return `Step ${p.t + 1}: ${kit.plural(data.kept.at(-1), "word")} of ${kit.whole(data.kept[0])} may be drawn; ${p.temperature ? `seed ${p.seed} draws` : "temperature 0 takes"} “${data.chosen}”, with probability ${kit.percent(data.probability, 1)}. The run on this page takes the likeliest, ${run.shown(p.t)}.`
  }
  const note = (ctx) => `Order: ${ctx.spec.data.order.join(", then ")}. ${ctx.spec.data.ties} Keys and values were made before any of this; none of it touches the cache.`
  const table = (ctx) => { const data = found(ctx); return { caption: `Step ${ctx.p.t + 1}: probabilities after each stage`, head: ["word", "softmax", ...data.stages], rows: data.words.map((word, i) => [word, ...data.laws.map((law, j) => (data.keeps[j][i] ? ctx.kit.fix(law[i], 6) : "out"))]) } }
  return { draw, status, note, table, need, hides: ({ p }) => (p.temperature ? [] : ["seed"]) }
})())
