// Both runs side by side, word by word, with the largest difference over all logits.
kv.figure("proof", (() => {
  const gaps = (p) => (p.arithmetic === "blas" ? "gap.blas" : "gap.fixed")
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const n = run.fed.length
    const h = Math.max(17, Math.min(28, 420 / n))
    const columns = [0, w * 0.27, w * 0.52, w * 0.77]
    const marks = [kit.label("h0", 0, 14, w > 340 ? "word written" : "written", { cls: "title" }), kit.label("h1", columns[1], 14, w > 460 ? "with the cache" : "cached", { cls: "title" }),
      kit.label("h2", columns[2], 14, w > 460 ? "without it" : "without", { cls: "title" }), kit.label("h3", columns[3], 14, w > 460 ? "largest difference" : "differ by", { cls: "title" })]
    for (let t = 0; t < n; t++) {
      const y = 24 + t * h
      const reached = t <= p.t
      const gap = run.at(gaps(p), t)
      marks.push(kit.label(`w${t}`, 0, y + h / 2 + 4, run.shown(t), { cls: t === p.t ? "strong" : reached ? "" : "quiet", max: columns[1] - 8 }))
      if (!reached) continue
      for (const [i, name] of [[1, "probability.cached"], [2, "probability.naive"]]) {
        const value = run.at(name, t)
        const width = w * 0.25 - 66
        if (width > 20) marks.push(kit.bar(`b${i}.${t}`, columns[i], y + 3, Math.max(1, width * value), h - 8, i === 1 ? "accent" : "number"))
        marks.push(kit.cell(`p${i}.${t}`, columns[i] + Math.max(0, width) + 4, y, 50, h - 2, kit.percent(value), "number", "plain", { tip: [`Probability of ${run.shown(t)} ${i === 1 ? "with the cache" : "computed again from nothing"}`, value.toFixed(12)] }))
      }
      marks.push(kit.label(`g${t}`, columns[3], y + h / 2 + 4, gap === 0 ? "0.0" : kit.tiny(gap), { cls: gap === 0 ? "good" : "" }))
    }
    return { marks, w, h: 28 + n * h }
  }
  const status = (ctx) => {
    const { run, p, kit } = ctx
    const most = Math.max(...Array.from({ length: p.t + 1 }, (_, t) => run.at(gaps(p), t)))
    const words = run.same_words ? "the same words" : "different words"
    return p.arithmetic === "blas"
      ? `With a matrix library choosing the order of its sums: ${words}, and logits that differ by at most ${most === 0 ? "0.0" : kit.tiny(most)}: rounding, not a change of meaning.`
      : `${kit.plural(p.t + 1, "word")} written, ${words} in both runs; the largest difference over ${kit.whole((p.t + 1) * run.vocabulary)} logits is ${most === 0 ? "exactly 0.0" : kit.tiny(most)}.`
  }
  const table = ({ run, p }) => ({
    caption: "Both runs, word by word", head: ["step", "word", "probability with cache", "probability without", "largest logit difference"],
    rows: Array.from({ length: p.t + 1 }, (_, t) => [t + 1, run.shown(t), run.at("probability.cached", t).toFixed(6), run.at("probability.naive", t).toFixed(6), run.at(gaps(p), t)]),
  })
  return { draw, status, table, part: (p) => (p.arithmetic === "blas" ? "extras" : null) }
})())
