// The text as token numbers; one round's drafts judged from the left; the rows left in the cache.
kv.figure("speculation", (() => {
  const told = ({ spec, p }) => spec.data.runs[`${p.drafter}/${p.drafts}`]
  const at = (ctx) => Math.min(ctx.p.round, told(ctx).rounds.length - 1)
  const name = ({ spec, p }) => { const s = spec.params.find((one) => one.name === "drafter"); return s.names[s.options.indexOf(p.drafter)] }
  const before = (ctx) => ctx.spec.data.prompt.concat(...told(ctx).rounds.slice(0, at(ctx)).map((r) => r.tokens))
  const draw = (ctx) => {
    const { spec, w, kit } = ctx
    const run = told(ctx)
    const now = at(ctx)
    const one = run.rounds[now]
    const old = before(ctx)
    const total = spec.data.prompt.length + run.n_tokens
    const across = w < 520 ? Math.ceil(total / 2) : total
    const size = Math.min(34, (w - 2) / across)
    const small = w < 430
    const h = small ? 20 : 26
    const tall = small ? 22 : 30
    const marks = [kit.label("t", 0, 12, "the text, as token numbers", { cls: "title" })]
    for (let i = 0; i < total; i++) {
      const fresh = i >= old.length && i < old.length + one.tokens.length
      const token = i < old.length ? old[i] : fresh ? one.tokens[i - old.length] : ""
      const own = fresh && i === old.length + one.tokens.length - 1
      marks.push(kit.cell(`x${i}`, (i % across) * size, 20 + Math.floor(i / across) * (h + 4), size - 2, h, `${token}`, own ? "accent" : i < spec.data.prompt.length ? "number" : "value", token === "" ? "future" : fresh ? "now" : "kept",
        { tip: [`Place ${i + 1}`, token === "" ? "not written yet" : i < spec.data.prompt.length ? `token ${token}, of the prompt` : own ? `token ${token}, the target's own after the last draft that stood` : fresh ? `token ${token}, a draft that stood this round` : `token ${token}`] }))
    }
    let y = 20 + Math.ceil(total / across) * (h + 4) + 22
    marks.push(kit.label("r", 0, y - 6, `round ${now + 1}: one pass reads ${kit.plural(one.drafted.length + 1, "token")}`, { cls: "title", max: w }))
    const wide = Math.min(62, (w - 2) / 7)
    marks.push(kit.cell("pending", 0, y, wide - 3, tall, `${old.at(-1)}`, "number", "kept", { tip: ["The last token of the text", "it has no row in the cache yet; this pass writes it"] }), kit.label("pn", wide / 2, y + tall + 13, "pending", { cls: "quiet", anchor: "middle" }))
    one.drafted.forEach((token, i) => {
      const stands = i < one.accepted
      const looked = i <= one.accepted
      marks.push(kit.cell(`d${i}`, (i + 1) * wide, y, wide - 3, tall, `${token}`, stands ? "value" : "bad", stands ? "now" : looked ? "wrong" : "wasted",
        { tip: [`Draft ${i + 1}: token ${token}`, stands ? "the target's own choice too: it stands" : looked ? `the target chose ${one.tokens[one.accepted]}: refused` : "after a refused one: not looked at"] }))
      marks.push(kit.label(`dn${i}`, (i + 1) * wide + wide / 2, y + tall + 13, stands ? "stands" : looked ? "refused" : "dropped", { cls: "quiet", anchor: "middle" }))
    })
    if (!one.drafted.length) marks.push(kit.label("none", wide + 6, y + 19, "no draft: an ordinary step", { cls: "quiet", max: w - wide }))
    y += small ? 50 : 66
    const most = spec.data.prompt.length + run.n_tokens + ctx.p.drafts
    const unit = (w - 2) / most
    const start = old.length - 1
    const dropped = one.drafted.length + 1 - (one.rows - start)
    marks.push(kit.label("c", 0, y, `cache: ${start} rows, ${one.drafted.length + 1} written, ${dropped} rolled back, ${one.rows} left`, { cls: "title", max: w }))
    marks.push(kit.bar("kept", 0, y + 8, start * unit, 18, "key"), kit.bar("new", start * unit, y + 8, (one.rows - start) * unit, 18, "key", { state: "now" }), kit.bar("gone", one.rows * unit, y + 8, dropped * unit, 18, "bad", { state: "ghost" }))
    y += small ? 34 : 50
    const rate = [["tokens a pass, counted", run.tokens_a_pass, "value"], ["(1 − a^(g+1)) / (1 − a)", run.expected, "number"]]
    rate.forEach(([text, x, role], i) => {
      const from = Math.min(178, w * 0.5)
      marks.push(kit.label(`rn${i}`, 0, y + i * (small ? 19 : 24) + 13, text, { max: from - 6 }), kit.bar(`rb${i}`, from, y + i * (small ? 19 : 24) + 1, (w - from - 50) * (x / (ctx.p.drafts + 1)), 15, role), kit.cell(`rv${i}`, w - 46, y + i * (small ? 19 : 24) - 2, 46, 21, kit.fix(x, 2), "number", "plain",
        { tip: i ? ["If every draft stood with the same chance a", `a = ${kit.fix(run.acceptance, 4)}, g = ${ctx.p.drafts}: ${kit.fix(x, 4)}`] : ["Tokens written over passes of the target", `${run.n_tokens} / ${run.rounds.length} = ${kit.fix(x, 4)}`] }))
    })
    return { marks, w, h: y + (small ? 38 : 48) }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const run = told(ctx)
    const one = run.rounds[at(ctx)]
    return `Round ${at(ctx) + 1} of ${run.rounds.length}, drafts by ${name(ctx)}: ${one.accepted} of ${one.drafted.length} stand. In all ${run.n_tokens} tokens in ${run.rounds.length} passes with ${kit.percent(run.acceptance, 1)} of the drafts looked at accepted; the text is ${run.same ? "the same as" : "different from"} plain greedy decoding's.`
  }
  const note = ({ spec, kit }) => `Sampled instead of greedy, all ${spec.data.exact.texts} texts of three tokens over two words have the target's own probability, every random decision enumerated: the largest difference is ${kit.tiny(spec.data.exact.gap)}.`
  const table = (ctx) => ({ caption: `Rounds, drafts by ${name(ctx)}`, head: ["round", "drafted", "accepted", "written", "rows in the cache"], rows: told(ctx).rounds.map((r, i) => [i + 1, r.drafted.join(" "), r.accepted, r.tokens.join(" "), r.rows]) })
  return { draw, status, note, table }
})())
