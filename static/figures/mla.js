// MLA: one latent and one rotary key a word; expanded to keys by the naive way, read as they are when absorbed.
kv.figure("mla", (() => {
  const scoreTip = (ctx, row) => () => {
    const { run, p, kit } = ctx
    const q = p.absorbed ? run.at("latent.absorbed", p.layer, p.head) : run.at("latent.q", p.layer, p.head)
    const k = p.absorbed ? [...run.at("latent.latent", p.layer, row), ...run.at("latent.rope", p.layer, row)] : run.at("latent.k", p.layer, p.head, row)
    const divisor = run.shape("latent.k")[3]
    const score = run.at(p.absorbed ? "latent.absorbed_scores" : "latent.scores", p.layer, p.head, row)
    return kit.dotLines(`Score of “${run.latent.fed[row]}” for the last query, ${p.absorbed ? "absorbed" : "expanded"}`, q, k, divisor, score)
  }
  const draw = (ctx) => {
    const { run, spec, p, w, kit } = ctx
    const { d_latent: dl, d_rope: dr } = spec.data
    const n = run.latent.fed.length
    const keyW = run.shape("latent.k")[3]
    const labelW = Math.min(78, w * 0.16)
    const scoreW = w > 480 ? 54 : 38
    const gap = 12
    const cellW = Math.min(42, (w - labelW - scoreW - 2 * gap - 4) / (dl + dr + keyW))
    const digits = cellW >= 36 ? 2 : 1
    const cellH = Math.max(5, Math.min(21, (w < 480 ? 126 : 280) / n - 2))
    const text = (x) => (cellW >= 25 && cellH >= 12 ? kit.fix(x, digits) : "")
    const x2 = labelW + (dl + dr) * cellW + 4 + gap
    const narrow = w < 480
    const top = narrow ? 66 : 96
    const y0 = narrow ? { query: 26, box: 16, head: 58, meets: 22 } : { query: 42, box: 24, head: 88, meets: 34 }
    const marks = [
      kit.label("t.kept", labelW, 12, w > 480 ? "kept: latent and rope key" : "kept", { cls: "title" }),
      kit.label("t.made", x2, 12, p.absorbed ? "nothing to expand" : w > 480 ? `made of them: keys of head ${p.head + 1}` : `keys, head ${p.head + 1}`, { cls: p.absorbed ? "quiet" : "title", max: keyW * cellW + 10 }),
      kit.label("t.score", w, y0.head, "score", { cls: "title", anchor: "end" }),
      kit.label("t.query", labelW - 8, y0.query + y0.box / 2 + 4, w > 480 ? "last query" : "query", { cls: "query", anchor: "end" }),
    ]
    const query = p.absorbed ? run.at("latent.absorbed", p.layer, p.head) : run.at("latent.q", p.layer, p.head)
    const queryX = p.absorbed ? labelW : x2
    const plainN = p.absorbed ? dl : keyW - dr
    Array.from(query, (x, j) => marks.push(kit.cell(`q${j}`, queryX + j * cellW + (p.absorbed && j >= dl ? 4 : 0), y0.query, cellW - 2, y0.box, text(x), "query", "now", { value: x, tip: () => [`Query, number ${j + 1}: ${j < plainN ? "without position" : "turned by its place"}`, `${kit.fix(x, 6)}${p.absorbed && j < dl ? ", the plain query times the key expansion, transposed" : ""}`] })))
    if (!narrow) marks.push(kit.label("t.meets", queryX, y0.meets, p.absorbed ? (w > 480 ? "the query, taken to the latents" : "query, absorbed") : "the query", { cls: "quiet" }))
    marks.push(kit.label("t.latent", labelW, y0.head, "latent", { cls: "quiet" }), kit.label("t.rope", labelW + dl * cellW + 4, y0.head, "rope", { cls: "quiet" }))
    if (!p.absorbed) marks.push(kit.label("t.plain", x2, y0.head, w > 480 ? "from the latent" : "latent", { cls: "quiet" }), kit.label("t.shared", x2 + (keyW - dr) * cellW, y0.head, "rope", { cls: "quiet" }))
    for (let row = 0; row < n; row++) {
      const y = top + row * (cellH + 2)
      const word = run.latent.fed[row]
      const state = row === n - 1 ? "now" : "kept"
      if (cellH >= 8) marks.push(kit.label(`w${row}`, labelW - 8, y + cellH / 2 + 4, word, { anchor: "end", max: labelW - 10, cls: cellH < 14 ? "quiet" : "" }))
      Array.from(run.at("latent.latent", p.layer, row), (x, j) => marks.push(kit.cell(`c${row}.${j}`, labelW + j * cellW, y, cellW - 2, cellH, text(x), "latent", state, { value: x, tip: () => [`Latent of “${word}”, number ${j + 1}: kept, for both heads`, kit.fix(x, 6)] })))
      Array.from(run.at("latent.rope", p.layer, row), (x, j) => marks.push(kit.cell(`r${row}.${j}`, labelW + dl * cellW + 4 + j * cellW, y, cellW - 2, cellH, text(x), "position", state, { value: x, tip: () => [`Rotary key of “${word}”, number ${j + 1}: kept, for both heads, turned by place ${row}`, kit.fix(x, 6)] })))
      if (!p.absorbed) Array.from(run.at("latent.k", p.layer, p.head, row), (x, j) => marks.push(kit.cell(`k${row}.${j}`, x2 + j * cellW, y, cellW - 2, cellH, text(x), j < keyW - dr ? "key" : "position", "wasted", { value: x, tip: () => [`Key of “${word}”, head ${p.head + 1}, number ${j + 1}: ${j < keyW - dr ? "made from the latent again at this step" : "the shared rotary key"}`, kit.fix(x, 6)] })))
      const score = run.at(p.absorbed ? "latent.absorbed_scores" : "latent.scores", p.layer, p.head, row)
      marks.push(kit.cell(`s${row}`, w - scoreW, y, scoreW, cellH, cellH >= 11 ? kit.fix(score, 2) : "", "number", cellH >= 11 ? "now" : "kept", { tip: scoreTip(ctx, row), value: score }))
    }
    const bottom = top + n * (cellH + 2)
    if (text(0)) return { marks, w, h: bottom }
    marks.push(kit.label("shaded", 0, bottom + 11, kit.SHADED, { cls: "quiet" }))
    return { marks, w, h: bottom + 14 }
  }
  const status = ({ run, spec, p, kit }) => {
    const kept = `${spec.data.numbers} numbers a word instead of ${spec.data.plain}, ${kit.whole(run.latent.bytes)} bytes for ${kit.plural(run.latent.fed.length, "word")}`
    return p.absorbed
      ? `Absorbed: the query reads the latents as they are; ${kept}; the largest difference of any logit from the naive way is ${kit.tiny(run.latent.gap)}.`
      : `Naive: keys and values of both heads are made from the latents again at every step; ${kept}.`
  }
  const table = ({ run, spec, p, kit }) => ({
    caption: `Layer ${p.layer + 1}: what is kept, and the scores of head ${p.head + 1} both ways`,
    head: ["word", ...Array.from({ length: spec.data.d_latent }, (_, j) => `latent ${j + 1}`), ...Array.from({ length: spec.data.d_rope }, (_, j) => `rope ${j + 1}`), "score, expanded", "score, absorbed"],
    rows: run.latent.fed.map((word, row) => [word, ...["latent.latent", "latent.rope"].flatMap((name) => Array.from(run.at(name, p.layer, row), (x) => kit.fix(x, 4))), kit.fix(run.at("latent.scores", p.layer, p.head, row), 6), kit.fix(run.at("latent.absorbed_scores", p.layer, p.head, row), 6)]),
  })
  return { draw, status, table, part: () => "latent" }
})())
