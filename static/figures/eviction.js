// A bar a word: the weight its key received; kept rows stay, dropped ones fade.
kv.figure("eviction", (() => {
  const budget = ({ spec, p }) => spec.params.find((one) => one.name === "budget").values[p.budget]
  const data = ({ run, p }) => run.kept[p.layer][p.head]
  const kept = (ctx) => data(ctx)[ctx.p.rule][budget(ctx)]
  const scores = (ctx) => (ctx.p.rule === "h2o" ? data(ctx).received : data(ctx).observed)
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const list = scores(ctx)
    const most = Math.max(...list)
    const ids = new Set(kept(ctx).ids)
    const n = list.length
    const h = n > 12 ? 15 : w < 430 ? 17 : 24
    const labelW = Math.min(110, w * 0.26)
    const half = (w - labelW) / 2
    const marks = [kit.label("a", labelW, 12, p.rule === "h2o" ? "received from all" : "from the last two", { cls: "title", max: half - 8 }), kit.label("b", labelW + half, 12, "given by the last query", { cls: "title", max: half })]
    list.forEach((x, i) => {
      const y = 22 + i * (h + 3)
      const stays = ids.has(i)
      marks.push(kit.label(`n${i}`, labelW - 8, y + h / 2 + 4, run.fed[i], { anchor: "end", cls: stays ? "strong" : "quiet", max: labelW - 10 }))
      marks.push(kit.bar(`s${i}`, labelW, y, Math.max(1, (half - 60) * (x / most)), h, "key", { state: stays ? "now" : "ghost" }))
      marks.push(kit.cell(`v${i}`, labelW + half - 58, y, 50, h, kit.fix(x, 2), "key", stays ? "kept" : "evicted", { tip: [`Key of “${run.fed[i]}”, place ${i}`, `weight ${kit.fix(x, 6)}`, stays ? "kept" : "dropped for good"] }))
      marks.push(kit.bar(`l${i}`, labelW + half, y, Math.max(1, (half - 60) * data(ctx).last[i]), h, "query", { state: stays ? "now" : "ghost" }))
      marks.push(kit.cell(`lv${i}`, w - 56, y, 54, h, kit.percent(data(ctx).last[i], 0), "query", stays ? "plain" : "evicted", { tip: [`Weight of the last query on “${run.fed[i]}”`, kit.fix(data(ctx).last[i], 6)] }))
    })
    return { marks, w, h: 22 + n * (h + 3) + 4 }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const one = kept(ctx)
    const n = scores(ctx).length
    return `${one.ids.length} of ${kit.plural(n, "row")} stay in this head; they hold ${kit.percent(one.share, 1)} of what the last query looks at. ${n > one.ids.length ? "What was dropped cannot come back." : "Nothing has to go."}`
  }
  const table = (ctx) => ({ caption: `${ctx.p.rule}, at most ${budget(ctx)} rows`, head: ["place", "word", "weight received", "last query", "kept"], rows: scores(ctx).map((x, i) => [i, ctx.run.fed[i], ctx.kit.fix(x, 4), ctx.kit.fix(data(ctx).last[i], 4), kept(ctx).ids.includes(i) ? "yes" : "no"]) })
  const bounds = (ctx) => {
    const { low, high, values } = ctx.spec.params.find((one) => one.name === "budget")
    const enough = values.findIndex((rows) => rows >= data(ctx).received.length) // more room than rows changes nothing
    return { budget: [low, enough < 0 ? high : enough] }
  }
  return { draw, status, table, bounds, part: () => "kept" }
})())
