// One bug: per step what should be said, what is said, and how far the logits (or probabilities) are apart.
kv.figure("bug-trace", (() => {
  const LOW = -16, HIGH = 2 // of the bar, as powers of ten
  const of = ({ spec, p }) => spec.data.bugs[p.bug]
  const gap = (step, on) => (on ? step.difference : step.without)
  const said = (step, on) => (on ? step.wrong : step.right)
  const bad = (step, on) => on && step.bad
  const share = (x) => Math.max(0, Math.min(1, ((x === 0 ? LOW : Math.log10(x)) - LOW) / (HIGH - LOW)))
  const size = (x, kit) => (x >= 0.01 ? x.toPrecision(2) : kit.tiny(x))
  const shown = (x, kit) => (x === null ? "nothing" : size(x, kit))
  const brief = (word, w) => (w < 340 ? word.replace(/^token /, "#") : word)
  /** A bench that counts chances says nothing: it tells what is drawn most often. */
  const drawn = (ctx) => of(ctx).compared === "probabilities"
  const name = (i) => `step ${i + 1}`

  const tip = (ctx, step, i) => {
    const { p, kit } = ctx
    const x = gap(step, p.on)
    return [
      `Step ${i + 1}, after “${step.fed}”`,
      drawn(ctx) ? `Ought to draw “${step.right}” most often, draws “${said(step, p.on)}” most often.` : `Ought to say “${step.right}”, ${said(step, p.on) === null ? "says nothing" : `says “${said(step, p.on)}”`}.`,
      x === null ? "No logits came out." : `Largest difference over all ${of(ctx).compared}: ${shown(x, kit)}; wrong above ${kit.tiny(of(ctx).tolerance)}.`,
    ]
  }
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const { steps, tolerance } = of(ctx)
    const first = steps.findIndex((step) => bad(step, p.on))
    const wide = w > 460
    const mostly = (word) => (drawn(ctx) ? `mostly ${word}` : brief(word, w))
    const h = wide ? 28 : 18
    const at = [0, w * 0.22, w * 0.44, w * 0.64, Math.max(w * 0.78, w * 0.64 + 66)]
    const room = w - at[4]
    const marks = [["h0", drawn(ctx) ? "from" : "reads"], ["h1", wide ? `ought to ${drawn(ctx) ? "draw" : "say"}` : drawn(ctx) ? "should" : "should say"], ["h2", drawn(ctx) ? "draws" : "says"], ["h3", wide ? `${of(ctx).compared} differ by` : "differ by"]]
      .map(([k, text], i) => kit.label(k, at[i], 14, text, { cls: "title", max: i < 3 ? at[i + 1] - at[i] : w - at[3] }))
    steps.forEach((step, i) => {
      const y = 24 + i * h
      const middle = y + h / 2 + 4
      const x = gap(step, p.on)
      const wrong = bad(step, p.on)
      if (i === first) marks.push(kit.bar("first", at[2] - 10, y, 3, h - 3, "bad", { state: "now" }))
      marks.push(
        kit.label(`f${i}`, at[0], middle, brief(step.fed, w), { cls: i === first ? "strong" : "quiet", max: at[1] - 8 }),
        kit.label(`r${i}`, at[1], middle, mostly(step.right), { max: at[2] - at[1] - 16 }),
        kit.label(`s${i}`, at[2], middle, mostly(said(step, p.on) ?? "nothing"), { cls: said(step, p.on) === step.right ? "" : "bad", max: at[3] - at[2] - 8 }),
        kit.bar(`b${i}`, at[4], y + h / 2 - 3, room * (x === null ? 1 : Math.max(0.01, share(x))), 6, wrong ? "bad" : "number", { state: wrong ? "now" : "" }),
        kit.cell(`d${i}`, at[3], y, at[4] - at[3] - 6, h - 2, shown(x, kit), wrong ? "bad" : "number", "plain", { tip: () => tip(ctx, step, i), size: 12 }))
    })
    const bottom = 24 + steps.length * h
    const edge = at[4] + room * share(tolerance)
    marks.push(kit.wire("edge", `M ${edge} 24 V ${bottom}`, { state: "dashed" }),
      kit.label("edge.name", w, bottom + 14, "right of the dashes: wrong", { cls: "quiet", anchor: "end" }))
    return { marks, w, h: bottom + 22 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const bug = of(ctx)
    if (!p.on) return `${bug.title}, switched off: over ${kit.plural(bug.steps.length, "step")} the ${bug.compared} differ from ${drawn(ctx) ? "the target's" : "a full recompute"} by at most ${size(bug.without, kit)}.`
    if (drawn(ctx)) return `${bug.title}: the probabilities are off by up to ${size(bug.largest, kit)}, so “${bug.steps[0].wrong}” is drawn most often, not “${bug.steps[0].right}”; no single text shows it.`
    if (bug.first_bad_step === null) return `${bug.title}: no step shows it, every logit is within ${size(Math.max(bug.largest, 1e-16), kit)} of what it ought to be. The table in the text does.`
    const step = bug.steps[bug.first_bad_step]
    const where = `from step ${bug.first_bad_step + 1} on, after “${step.fed}”`
    const what = step.wrong === null ? "nothing comes out" : `the logits are off by ${size(step.difference, kit)}`
    return `${bug.title}: wrong ${where}, where ${what}; ${kit.whole(bug.n_wrong)} of ${kit.plural(bug.steps.length, "word")} wrong in all.`
  }
  const table = (ctx) => ({
    caption: `${of(ctx).title}, switched ${ctx.p.on ? "on" : "off"}`,
    head: drawn(ctx) ? ["step", "from", "ought to draw most often", "draws most often", "largest difference of a probability"] : ["step", "reads", "ought to say", "says", "largest logit difference"],
    rows: of(ctx).steps.map((step, i) => [name(i), step.fed, step.right, said(step, ctx.p.on) ?? "nothing", gap(step, ctx.p.on) ?? "none"]),
  })
  return { draw, status, table }
})())
