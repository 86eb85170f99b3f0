// Every beam's word by step, wired to the beam it continues; below, what each beam's cache is in.
kv.figure("beams", (() => {
  const told = ({ run, p }) => run.searched[p.width]
  const steps = (ctx) => told(ctx).steps
  const last = (ctx) => ctx.p.step === steps(ctx).length - 1
  const beams = (ctx, t = ctx.p.step) => steps(ctx)[t].beams
  /** The words of beam i after step t, oldest first. */
  const words = (ctx, t, i) => (t < 0 ? [] : [...words(ctx, t - 1, beams(ctx, t)[i].origin), beams(ctx, t)[i].word])
  /** By step: which beams are beginnings of those of this step. */
  const alive = (ctx) => {
    const found = [new Set(beams(ctx).keys())]
    for (let t = ctx.p.step; t > 0; t--) found.unshift(new Set([...found[0]].map((i) => beams(ctx, t)[i].origin)))
    return found
  }
  const adds = (ctx, t, { origin, gain, total }) => {
    const { kit } = ctx
    return t ? `log-probability ${kit.fix(beams(ctx, t - 1)[origin].total, 4)} − ${kit.fix(-gain, 4)} = ${kit.fix(total, 4)}` : `log-probability ${kit.fix(total, 4)}`
  }
  const scored = ({ p, kit }, one, n) => (p.penalty ? `${kit.fix(one.total, 4)} / ${kit.plural(n, "word")} = ${kit.fix(one.scores[1], 4)}` : `log-probability ${kit.fix(one.total, 4)}`)
  const trellis = (ctx) => {
    const { p, kit } = ctx
    const small = ctx.w < 430
    const w = ctx.w - 2 // the frame of what is new is drawn half outside
    const [h, gapY, gapX] = small ? [20, 6, 12] : [24, 9, 18]
    const left = 16
    const shown = Math.min(p.step + 1, Math.max(1, Math.floor((w - left + gapX) / ((small ? 52 : 62) + gapX))))
    const wide = Math.min(small ? 64 : 84, (w - left + gapX) / shown - gapX)
    const first = p.step + 1 - shown
    const on = alive(ctx)
    const top = 22
    const x = (t) => left + (t - first) * (wide + gapX)
    const y = (i) => top + i * (h + gapY)
    const marks = []
    for (let i = 0; i < p.width; i++) marks.push(kit.label(`r${i}`, 0, y(i) + h / 2 + 4, `${i + 1}`, { cls: "quiet" }))
    for (let t = first; t <= p.step; t++) {
      marks.push(kit.label(`t${t}`, x(t) + wide / 2, 12, `${small ? "" : "step "}${t + 1}`, { cls: t === p.step ? "strong" : "quiet", anchor: "middle" }))
      beams(ctx, t).forEach((one, i) => {
        const stays = on[t].has(i)
        const from = y(one.origin) + h / 2
        const to = y(i) + h / 2
        if (t > first) marks.push(kit.wire(`w${t}.${i}`, `M${x(t) - gapX} ${from} C${x(t) - gapX / 2} ${from} ${x(t) - gapX / 2} ${to} ${x(t)} ${to}`, { role: stays ? "key" : "", state: t === p.step ? "now" : stays ? "" : "quiet" }))
        marks.push(kit.cell(`b${t}.${i}`, x(t), y(i), wide, h, one.word, one.ended ? "accent" : "value", t === p.step ? "now" : stays || one.ended ? "kept" : "evicted", { clip: true,
          tip: [`Step ${t + 1}, beam ${i + 1}: “${one.word}”`, words(ctx, t, i).join(" "), ...(t ? [`continues beam ${one.origin + 1} of step ${t}`] : []), adds(ctx, t, one), `probability ${kit.percent(one.probability, 2)}`, ...(one.ended ? ["ended: it leaves, and its cache is given back"] : stays ? [] : ["dropped: no beam of this step goes back to it"])] }))
      })
    }
    return { marks, h: y(p.width) }
  }
  /** A beam's block: number, words in it, who else holds it, whether the last word was written into it. */
  const block = (ctx, i, j, place) => {
    const { kit, spec, run, p } = ctx
    const { blocks, copied } = steps(ctx)[p.step].move
    const number = blocks[i][j]
    const size = spec.data.block_size
    const holders = blocks.flatMap((table, k) => (table.includes(number) ? [k + 1] : []))
    const written = j === blocks[i].length - 1
    const inside = [run.fed[0], ...words(ctx, p.step, i)].slice(j * size, (j + 1) * size).join(" ")
    const why = written ? (copied[i] ? "copied before the word was written: another beam held it too" : "the new word was written here, nothing copied") : "not touched"
    return kit.cell(`c${i}.${j}`, place.x, place.y, place.w - 3, place.h, `${number}`, holders.length > 1 ? "key" : copied[i] && written ? "latent" : "number", written ? "now" : "kept",
      { tip: [`Block ${number}: ${inside}`, holders.length > 1 ? `held by beams ${holders.join(", ")}: once in memory` : `held by beam ${i + 1} alone`, why] })
  }
  const cached = (ctx, top) => {
    const { w, kit, p } = ctx
    const small = w < 430
    const h = small ? 18 : 22
    const said = small ? 0 : Math.min(210, w * 0.34)
    const from = 18 + said + 62
    const list = beams(ctx)
    const { blocks } = steps(ctx)[p.step].move
    const room = Math.min(34, (w - from) / Math.max(...blocks.map((table) => table.length)))
    const marks = [kit.label("s", from - 10, top + 12, "score", { cls: "title", anchor: "end" }), kit.label("c", from, top + 12, small ? "blocks of its cache" : "blocks of its cache, by number", { cls: "title", max: w - from })]
    if (said) marks.push(kit.label("b", 0, top + 12, `the beams after step ${p.step + 1}`, { cls: "title", max: said }))
    list.forEach((one, i) => {
      const y = top + 20 + i * (h + 4)
      marks.push(kit.label(`n${i}`, 0, y + h / 2 + 4, `${i + 1}`, { cls: "quiet" }), ...row(ctx, i, one, words(ctx, p.step, i), { x: 18, y, said, h }))
      if (one.ended) marks.push(kit.label(`e${i}`, from, y + h / 2 + 4, "ended: none", { cls: "quiet" }))
      else blocks[i].forEach((_, j) => marks.push(block(ctx, i, j, { x: from + j * room, y, w: room, h })))
    })
    return { marks, h: top + 20 + list.length * (h + 4) }
  }
  /** Words, as many of the last as there is room for, and the score. */
  const row = (ctx, i, one, text, { x, y, said, h }) => {
    const { kit, p } = ctx
    let from = 0
    while (from < text.length - 1 && 7 * text.slice(from).join(" ").length > said - 26) from++
    return [
      ...(said ? [kit.label(`x${i}`, x, y + h / 2 + 4, (from ? "… " : "") + text.slice(from).join(" "), { max: said - 8 })] : []),
      kit.cell(`v${i}`, x + said, y, 52, h, kit.fix(one.scores[p.penalty], 3), "number", "plain", { value: one.scores[p.penalty], tip: [text.join(" "), scored(ctx, one, text.length), `probability ${kit.percent(one.probability, 2)}`] }),
    ]
  }
  const ranked = (ctx) => told(ctx).ranked[ctx.p.penalty]
  const found = (ctx, top) => {
    const { w, kit, p } = ctx
    const h = 22
    const list = ranked(ctx).slice(0, p.width)
    const marks = [kit.label("f", 0, top + 12, `best ${list.length === 1 ? "" : `${list.length} `}of ${ranked(ctx).length} found`, { cls: "title", max: w - 70 }), kit.label("s", w - 10, top + 12, "score", { cls: "title", anchor: "end" })]
    list.forEach((one, i) => {
      const y = top + 20 + i * (h + 4)
      marks.push(kit.label(`n${i}`, 0, y + h / 2 + 4, `${i + 1}`, { cls: i ? "quiet" : "strong" }), ...row(ctx, i, one, one.words, { x: 18, y, said: w - 74, h }))
    })
    return { marks, h: top + 20 + list.length * (h + 4) }
  }
  const draw = (ctx) => {
    const above = trellis(ctx)
    const below = (last(ctx) ? found : cached)(ctx, above.h + 10)
    return { marks: [...above.marks, ...below.marks], w: ctx.w, h: below.h }
  }
  /** Which beams of the step before are continued more than once, and which not at all. */
  const changes = (ctx) => {
    const { p, kit } = ctx
    if (!p.step) return `The ${p.width === 1 ? "likeliest first word begins the beam" : `${p.width} likeliest first words begin the beams`}`
    const from = beams(ctx).map((one) => one.origin)
    const before = beams(ctx, p.step - 1).flatMap((one, i) => (one.ended ? [] : [i]))
    const said = before.flatMap((i) => {
      const n = from.filter((origin) => origin === i).length
      return n === 0 ? [`beam ${i + 1} is dropped`] : n > 1 ? [`beam ${i + 1} goes on ${n === 2 ? "twice" : `as ${n} beams`}`] : []
    })
    const ended = beams(ctx).filter((one) => one.ended).length
    if (ended) said.push(`${kit.plural(ended, "beam")} ${ended === 1 ? "ends" : "end"}`)
    const text = said.join(", ") || (from.every((origin, i) => origin === i) ? "every beam goes on where it stands" : "beams change places")
    return text[0].toUpperCase() + text.slice(1)
  }
  const status = (ctx) => {
    const { kit, p } = ctx
    const where = `Step ${p.step + 1} of ${steps(ctx).length}.`
    if (p.width === 1 && !last(ctx)) return `${where} One beam keeps its cache: nothing moves.`
    const at = `${where} ${changes(ctx)}`
    if (last(ctx)) return `${at}. Best of ${ranked(ctx).length} found: “${ranked(ctx)[0].words.join(" ")}”, ${told(ctx).greedy[p.penalty] ? "the words of greedy decoding" : "not the words of greedy decoding"}.`
    const { gathered, copied, copied_rows: rows } = steps(ctx)[p.step].move
    const n = copied.filter(Boolean).length
    return `${at}. Copying whole caches into the new order moves ${kit.plural(gathered, "row")}; exchanging block tables moves ${n ? `${rows}, in ${kit.plural(n, "block")} that had to be copied` : "none"}.`
  }
  const note = (ctx) => (last(ctx) ? "" : `A block holds ${ctx.kit.plural(ctx.spec.data.block_size, "row")}. Blue: held by several beams, once in memory. Purple: copied, since others hold the old one. Framed: the newest word is in it.`)
  const table = (ctx) => {
    const { kit, p } = ctx
    if (last(ctx)) return { caption: `All that was found with ${kit.plural(p.width, "beam")}, best first`, head: ["place", "words", "log-probability", "score", "probability"], rows: ranked(ctx).map((one, i) => [i + 1, one.words.join(" "), kit.fix(one.total, 4), kit.fix(one.scores[p.penalty], 4), kit.percent(one.probability, 2)]) }
    const { blocks } = steps(ctx)[p.step].move
    return { caption: `Beams after step ${p.step + 1}`, head: ["beam", "continues", "words", "log-probability", "score", "probability", "blocks"], rows: beams(ctx).map((one, i) => [i + 1, p.step ? one.origin + 1 : "the start", words(ctx, p.step, i).join(" "), kit.fix(one.total, 4), kit.fix(one.scores[p.penalty], 4), kit.percent(one.probability, 2), one.ended ? "ended" : blocks[i].join(" ")]) }
  }
  const bounds = (ctx) => ({ step: [0, steps(ctx).length - 1] })
  return { draw, status, note, table, bounds, part: () => "beams" }
})())
