// The translation so far; one round's drafts judged from the left; the rows left in both caches.
kv.figure("speculation", (() => {
  const told = ({ run, p }) => run.drafted[`${p.drafter}/${p.writing}/${p.drafts}`]
  const round = (ctx) => told(ctx).rounds[ctx.p.round]
  const option = ({ spec, p }, name) => { const one = spec.params.find((s) => s.name === name); return one.names[one.options.indexOf(p[name])] }
  const before = (ctx) => [ctx.run.fed[0], ...told(ctx).rounds.slice(0, ctx.p.round).flatMap((one) => one.tokens)]
  const greedy = ({ p }) => p.writing === "greedy"
  /** Words side by side, as wide as they are, in as many lines as it takes. */
  const flow = (words, w, h, least = 0) => {
    let [x, y] = [0, 0]
    return words.map((word) => {
      const wide = Math.min(w, Math.max(least, 14 + 7.6 * [...word].length))
      if (x + wide > w && x) { x = 0; y += h }
      const place = { x, y, w: wide - 3 }
      x += wide
      return place
    })
  }
  const verdict = (ctx, i) => {
    const one = round(ctx)
    return i < one.accepted ? "stands" : i === one.accepted ? "refused" : "dropped"
  }
  const why = (ctx, i) => {
    const { kit } = ctx
    const one = round(ctx)
    if (i > one.accepted) return "after a refused one: not looked at"
    if (greedy(ctx)) return i < one.accepted ? "the toy's own choice too: it stands" : `the toy chooses “${one.tokens[one.accepted]}”: refused`
    return `p / q, at most 1, is ${kit.fix(one.odds[i], 4)}: with that probability it stands, and here it ${i < one.accepted ? "did" : "did not"}`
  }
  const draw = (ctx) => {
    const { w, kit } = ctx
    const found = told(ctx)
    const one = round(ctx)
    const old = before(ctx)
    const small = w < 430
    const [h, line] = small ? [19, 22] : [24, 28]
    const words = [...old, ...one.tokens]
    const own = (i) => i >= old.length && i - old.length === one.accepted // the pass's own word comes after the drafts that stand
    const marks = [kit.label("t", 0, 12, "the translation so far", { cls: "title" })]
    const places = flow(words, w, line)
    words.forEach((word, i) => marks.push(kit.cell(`x${i}`, places[i].x, 20 + places[i].y, places[i].w, h, word, own(i) ? "accent" : i ? "value" : "number", i >= old.length ? "now" : "kept",
      { clip: true, tip: [`“${word}”`, own(i) ? "the pass's own word, after the last draft that stands" : i >= old.length ? "a draft of this round that stands" : i ? "written in an earlier round" : "where every translation starts"] })))
    let y = 20 + places.at(-1).y + line + (small ? 20 : 28)
    marks.push(kit.label("r", 0, y - 6, `round ${ctx.p.round + 1}: one pass of the toy reads ${kit.plural(one.drafted.length + 1, "word")}`, { cls: "title", max: w }))
    const read = [old.at(-1), ...one.drafted]
    const seats = flow(read, w, h + 20, 62)
    read.forEach((word, j) => {
      const i = j - 1
      const says = j ? verdict(ctx, i) : "pending"
      const { x, y: down, w: wide } = seats[j]
      const look = { pending: ["number", "kept"], stands: ["value", "now"], refused: ["bad", "wrong"], dropped: ["bad", "wasted"] }[says]
      marks.push(kit.cell(`d${j}`, x, y + down, wide, h, word, ...look, { clip: true, tip: j ? [`Draft ${j}: “${word}”`, why(ctx, i)] : ["The last word of the text", "it has no row in the cache yet; this pass writes it"] }))
      marks.push(kit.label(`dn${j}`, x + wide / 2, y + down + h + 12, says, { cls: "quiet", anchor: "middle" }))
    })
    y += seats.at(-1).y + h + 34
    const most = Math.max(...found.rounds.map((r, i) => r.rows + found.rounds[i].drafted.length)) + 1
    const start = old.length - 1
    const labelW = small ? 62 : 76
    const unit = (w - labelW - 4) / most
    const written = one.drafted.length + 1
    const gone = start + written - one.rows
    marks.push(kit.label("c", 0, y, small ? `cache: ${start} + ${written} − ${gone} rolled back = ${one.rows} rows` : `the toy's cache: ${start} rows, ${written} written, ${gone} rolled back, ${one.rows} left`, { cls: "title", max: w }))
    const rows = (k, name, y0, kept, fresh, dropped) => marks.push(kit.label(`${k}.n`, labelW - 8, y0 + 11, name, { anchor: "end" }),
      kit.bar(`${k}.kept`, labelW, y0, kept * unit, 14, "key"), kit.bar(`${k}.new`, labelW + kept * unit, y0, fresh * unit, 14, "key", { state: "now" }), kit.bar(`${k}.gone`, labelW + (kept + fresh) * unit, y0, dropped * unit, 14, "bad", { state: "ghost" }))
    rows("target", "toy", y + 8, start, one.rows - start, gone)
    y += 26
    if (ctx.p.drafter === "smaller") {
      const had = ctx.p.round ? found.rounds[ctx.p.round - 1].draft_rows : 0
      const fed = one.drafted.length ? old.length + one.drafted.length - 1 : had
      rows("draft", "smaller", y, had, one.draft_rows - had, fed - one.draft_rows)
      y += 18
    }
    y += small ? 10 : 16
    const rate = [["words a pass, counted", found.tokens_a_pass, "value"], ["(1 − aᵍ⁺¹) / (1 − a)", found.expected, "number"]]
    rate.forEach(([text, x, role], i) => {
      const from = Math.min(170, w * 0.5)
      const top = y + i * 22
      marks.push(kit.label(`rn${i}`, 0, top + 13, text, { max: from - 6 }), kit.bar(`rb${i}`, from, top + 1, (w - from - 52) * (x / (ctx.p.drafts + 1)), 15, role), kit.cell(`rv${i}`, w - 46, top - 2, 46, 20, kit.fix(x, 2), "number", "plain",
        { tip: i ? ["If every draft stood with the same chance a, in a text without end", `a = ${kit.fix(found.acceptance, 4)} (measured here), g = ${ctx.p.drafts}: ${kit.fix(x, 4)}`] : ["Words written over passes of the toy", `${found.n_tokens} / ${found.rounds.length} = ${kit.fix(x, 4)}`] }))
    })
    return { marks, w, h: y + 42 }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const found = told(ctx)
    const one = round(ctx)
    const text = greedy(ctx) ? `the words are ${found.same ? "exactly those" : "not those"} of plain decoding` : `the words are ${found.same ? "those of the greedy run as well" : "others than the greedy ones"}, since they are drawn`
    return `Round ${ctx.p.round + 1} of ${found.rounds.length}, drafts by ${option(ctx, "drafter")}: ${one.accepted} of ${one.drafted.length} stand. In all ${kit.plural(found.n_tokens, "word")} in ${found.rounds.length} ${found.rounds.length === 1 ? "pass" : "passes"}, of the drafts looked at a share a = ${kit.fix(found.acceptance, 2)} stands; ${text}.`
  }
  const note = ({ spec: { data: { exact, measured } }, p, kit }) => {
    const many = measured.settings[`${p.drafter}/${p.writing}/${p.drafts}`]
    return `Over ${measured.sentences} test sentences: a = ${kit.fix(many.acceptance, 2)}, ${kit.fix(many.words_a_pass, 2)} words a pass counted, ${kit.fix(many.expected, 2)} by the formula, which knows no end of a sentence. Drawn words keep the toy's law: all ${exact.texts} beginnings of ${exact.words} words with ${exact.choices} to choose from each time, every random decision enumerated, are as likely with drafts as without, to within ${kit.tiny(exact.gap)}.`
  }
  const table = (ctx) => ({ caption: `Rounds, drafts by ${option(ctx, "drafter")}, ${option(ctx, "writing")}`, head: ["round", "drafted", "stand", "written", "rows, toy", "rows, drafter"], rows: told(ctx).rounds.map((r, i) => [i + 1, r.drafted.join(" "), r.accepted, r.tokens.join(" "), r.rows, r.draft_rows]) })
  const bounds = (ctx) => ({ round: [0, told(ctx).rounds.length - 1] })
  return { draw, status, note, table, bounds, part: () => "drafted" }
})())
