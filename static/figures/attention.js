// One query against every cached key: scores, softmax, and the weighted sum of the values.
kv.figure("attention", (() => {
  const parts = ({ run, p }) => ({
    q: run.at("q", p.layer, p.head, p.t),
    scores: run.at("scores", p.layer, p.head, p.t),
    weights: run.at("weights", p.layer, p.head, p.t),
    mixed: run.at("mixed", p.layer, p.head, p.t),
    key: (row) => run.at("k", p.layer, p.head, row),
    value: (row) => run.at("v", p.layer, p.head, row),
  })
  const scoreTip = (ctx, row) => () => {
    const a = parts(ctx)
    return ctx.kit.dotLines(`Score of “${ctx.run.fed[ctx.p.t]}” and “${ctx.run.fed[row]}”: q · k / √4`, a.q, a.key(row), 4, a.scores[row])
  }
  const weightTip = (ctx, row) => () => {
    const { scores, weights } = parts(ctx)
    const { kit, p } = ctx
    const seen = Array.from(scores).slice(0, p.t + 1)
    const most = Math.max(...seen)
    const raised = seen.map((s) => Math.exp(s - most))
    return [`Weight of “${ctx.run.fed[row]}”`, `exp(${kit.fix(scores[row], 3)} − ${kit.fix(most, 3)}) = ${kit.fix(raised[row], 4)}`, `divided by the sum ${raised.map((e) => kit.fix(e, 4)).join(" + ")} = ${kit.fix(raised.reduce((s, e) => s + e, 0), 4)}`, `= ${kit.fix(weights[row], 4)}`]
  }
  const mixedTip = (ctx, j) => () => {
    const a = parts(ctx)
    const terms = Array.from({ length: ctx.p.t + 1 }, (_, row) => `${ctx.kit.fix(a.weights[row], 3)}×${ctx.kit.fix(a.value(row)[j], 3)}`)
    return [`Output of the head, number ${j + 1}: the values, weighted`, `${terms.join(" + ")} = ${ctx.kit.fix(a.mixed[j], 3)}`]
  }
  /** Where everything stands; on a phone narrower, and as high as is left of the place given. */
  const places = ({ run, w, h = Infinity }) => {
    const n = run.fed.length
    if (w > 520) {
      const labelW = Math.min(84, w * 0.19)
      const cellW = Math.min(46, (w - labelW - 222) / 8)
      return { labelW, cellW, scoreW: 52, weightW: 46, gap: 10, oneH: 24, cellH: Math.max(14, Math.min(26, 330 / n - 2)) }
    }
    return { labelW: w * 0.155, cellW: 22, scoreW: 34, weightW: 33, gap: 4, oneH: 17, cellH: Math.max(12, Math.min(24, (Math.min(h, 300) - 68) / n - 2)) }
  }
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const a = parts(ctx)
    const word = run.fed
    const { labelW, cellW, scoreW, weightW, gap, oneH, cellH } = places(ctx)
    const at = { cellW, cellH, digits: cellW >= 36 ? 2 : 1 }
    const rows = Array.from({ length: p.t + 1 }, (_, row) => row)
    const state = (row) => (row === p.t ? "now" : "kept")
    const query = kit.matrix({ ...at, cellH: oneH, k: "q", x: 0, y: 0, role: "query", labelW, rows: [{ key: "q", label: "query", values: Array.from(a.q), state: "now", tips: Array.from(a.q, (v, j) => [`Query of “${word[p.t]}”, number ${j + 1}`, kit.fix(v, 4)]) }] })
    const top = query.h + 4
    const keyRows = rows.map((row) => ({ label: word[row], key: row, values: Array.from(a.key(row)), state: state(row), tips: Array.from(a.key(row), (v, j) => [`Key of “${word[row]}”, number ${j + 1}`, kit.fix(v, 4), row === p.t ? "made in this step" : `kept since step ${row + 1}`]) }))
    const valueRows = rows.map((row) => ({ label: "", key: row, values: Array.from(a.value(row)), state: state(row), tips: Array.from(a.value(row), (v, j) => [`Value of “${word[row]}”, number ${j + 1}`, kit.fix(v, 4)]) }))
    const keys = kit.matrix({ ...at, k: "k", x: 0, y: top, title: "keys", role: "key", labelW, rows: keyRows })
    const valueX = w - 4 * cellW
    const values = kit.matrix({ ...at, k: "v", x: valueX, y: top, title: "values", role: "value", labelW: 0, rows: valueRows })
    const scoreX = labelW + 4 * cellW + gap - 2
    const barX = scoreX + scoreW + gap
    const barW = valueX - barX - weightW - gap - 4
    const marks = [...query.marks, ...keys.marks, ...values.marks]
    marks.push(kit.label("score", scoreX, top + 12, "score", { cls: "title" }), kit.label("weight", barW > 60 ? barX : valueX - gap, top + 12, "weight", { cls: "title", anchor: barW > 60 ? "start" : "end" }))
    for (const row of rows) {
      const y = top + 20 + row * (cellH + 2)
      marks.push(kit.cell(`s${row}`, scoreX, y, scoreW - 2, cellH, kit.fix(a.scores[row], 2), "query", "kept", { tip: scoreTip(ctx, row) }))
      if (barW > 8) marks.push(kit.bar(`bar${row}`, barX, y + 2, Math.max(1, barW * a.weights[row]), cellH - 4, "accent"))
      marks.push(kit.cell(`w${row}`, valueX - gap - weightW, y, weightW, cellH, kit.fix(a.weights[row], 3), "number", "plain", { tip: weightTip(ctx, row) }))
    }
    const bottom = top + 20 + run.fed.length * (cellH + 2) + gap - 2
    const out = kit.matrix({ ...at, cellH: oneH, k: "out", x: valueX - labelW, y: bottom, role: "value", labelW, rows: [{ key: "o", label: "output", values: Array.from(a.mixed), state: "now", tips: Array.from(a.mixed, (_, j) => mixedTip(ctx, j)) }] })
    return { marks: [...marks, ...out.marks], w, h: bottom + oneH + 2 }
  }
  const news = '.cell.now:is([data-key^="k."], [data-key^="out."])' // the query on top may leave a small window
  const status = ({ run, p, kit }) => {
    const weights = Array.from(run.at("weights", p.layer, p.head, p.t)).slice(0, p.t + 1)
    const best = weights.indexOf(Math.max(...weights))
    return `Step ${p.t + 1} of ${run.fed.length}: one query reads ${kit.plural(p.t + 1, "key")}, “${run.fed[best]}” with most weight, ${kit.percent(weights[best])}; no mask, for every row is in the past.`
  }
  const table = (ctx) => {
    const a = parts(ctx)
    const { run, p, kit } = ctx
    return { caption: `Layer ${p.layer + 1}, head ${p.head + 1}, step ${p.t + 1}`, head: ["key of", "score", "weight", "v1", "v2", "v3", "v4"],
      rows: [...Array.from({ length: p.t + 1 }, (_, row) => [run.fed[row], kit.fix(a.scores[row], 4), kit.fix(a.weights[row], 4), ...Array.from(a.value(row), (v) => kit.fix(v, 4))]),
        ["output", "", kit.fix(1, 4), ...Array.from(a.mixed, (v) => kit.fix(v, 4))]] }
  }
  return { draw, status, table, news }
})())
