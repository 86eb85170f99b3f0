// One decode step: the fed word, its embedding, the code of its place, then a query, a key, a value.
kv.figure("one-step", (() => {
  const layerIn = ({ run, p }) => run.at(p.zero ? "zero.input" : "input", p.layer, p.t)
  const projected = ({ run, p }, kind) => run.at(p.zero ? `zero.${kind}` : kind, p.layer, p.head, p.t)
  const projectionTip = (ctx, kind, j, value) => () => {
    const { run, p, kit } = ctx
    const terms = Array.from(layerIn(ctx), (x, i) => `${kit.fix(x, 3)}×${kit.fix(run.at(`w.${kind}`, p.layer, p.head, i)[j], 3)}`)
    return [`${kind}, number ${j + 1}: row into layer ${p.layer + 1} · W_${kind.toUpperCase()}`, `${terms.join(" + ")} = ${kit.fix(value, 3)}`]
  }
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const place = p.zero ? 0 : p.t
    const labelW = w > 460 ? 176 : w * 0.24
    const cellW = Math.min(58, (w - labelW) / 8)
    const digits = cellW >= 38 ? 2 : 1
    const word = run.fed[p.t]
    const e = run.at("embedding", p.t)
    const code = run.at("position", place)
    const x = run.at(p.zero ? "zero.x" : "x", p.t)
    const at = { labelW, cellW, digits, cellH: 26 }
    const first = kit.matrix({ ...at, k: "in", x: 0, y: 0, title: w > 460 ? `the word fed at step ${p.t + 1}: “${word}”` : `fed at step ${p.t + 1}: “${word}”`, role: "number", rows: [
      { key: "e", label: w > 460 ? "its embedding × √8" : "embedding", values: Array.from(e), state: "kept", tips: Array.from(e, (v, i) => [`Embedding of “${word}”, number ${i + 1}, times √8`, kit.fix(v, 4)]) },
    ] })
    const second = kit.matrix({ ...at, k: "pos", x: 0, y: first.h, role: "position", rows: [
      { key: "p", label: w > 460 ? `+ code of place ${place + 1}` : `+ place ${place + 1}`, values: Array.from(code), state: p.zero && p.t > 0 ? "wrong" : "kept", tips: Array.from(code, (v, i) => [`Position code of place ${place + 1}, number ${i + 1}`, `${i % 2 ? "cos" : "sin"}(${place} / ${run.base}^(${2 * Math.floor(i / 2)}/8)) = ${kit.fix(v, 4)}`]) },
    ] })
    const third = kit.matrix({ ...at, k: "sum", x: 0, y: first.h + second.h, role: "number", rows: [
      { key: "x", label: "= row", values: Array.from(x), state: "now", tips: Array.from(x, (v, i) => [`Row of “${word}”, number ${i + 1}`, `${kit.fix(e[i], 3)} + ${kit.fix(code[i], 3)} = ${kit.fix(v, 3)}`]) },
    ] })
    let y = first.h + second.h + third.h + 12
    const marks = [...first.marks, ...second.marks, ...third.marks]
    if (p.layer > 0) {
      const inner = layerIn(ctx)
      const block = kit.matrix({ ...at, k: "inner", x: 0, y, role: "number", rows: [{ key: "i", label: "after layer 1", values: Array.from(inner), state: "kept", tips: Array.from(inner, (v, i) => [`What layer 1 made of it, number ${i + 1}`, kit.fix(v, 4)]) }] })
      marks.push(...block.marks)
      y += block.h + 8
    }
    for (const [kind, role, long] of [["q", "query", "query: what it looks for"], ["k", "key", "key: kept"], ["v", "value", "value: kept"]]) {
      const values = projected(ctx, kind)
      const block = kit.matrix({ ...at, k: kind, x: 0, y, role, rows: [{ key: kind, label: w > 460 ? long : long.split(":")[0], values: Array.from(values), state: kind === "q" ? "kept" : "now", tips: Array.from(values, (v, j) => projectionTip(ctx, kind, j, v)) }] })
      marks.push(...block.marks)
      y += block.h
    }
    return { marks, w, h: y + 4 }
  }
  const status = ({ run, p, kit }) => {
    const head = `Step ${p.t + 1} of ${run.fed.length}: “${run.fed[p.t]}” `
    if (!p.zero) return `${head}enters at place ${p.t + 1}; layer ${p.layer + 1}, head ${p.head + 1} makes 4 numbers each of query, key and value.`
    const right = run.words[p.t]
    const wrong = run.zero.words[p.t]
    const all = run.zero.n_wrong
    return `${head}enters as if at place 1: the toy now says “${wrong}”${wrong === right ? ", still the same word" : ` instead of “${right}”`}; ${kit.plural(all, "word")} of ${run.fed.length} go wrong.`
  }
  const table = (ctx) => {
    const { run, p, kit } = ctx
    const row = (name, values) => [name, ...Array.from(values, (v) => kit.fix(v, 4)), ...Array(8 - values.length).fill("")]
    return {
      caption: `Step ${p.t + 1}, “${run.fed[p.t]}”, layer ${p.layer + 1}, head ${p.head + 1}`,
      head: ["row", ...[1, 2, 3, 4, 5, 6, 7, 8].map((i) => `number ${i}`)],
      rows: [row("embedding × √8", run.at("embedding", p.t)), row(`position code of place ${(p.zero ? 0 : p.t) + 1}`, run.at("position", p.zero ? 0 : p.t)), row("sum", run.at(p.zero ? "zero.x" : "x", p.t)),
        row(`into layer ${p.layer + 1}`, layerIn(ctx)), ...["q", "k", "v"].map((kind) => row({ q: "query", k: "key", v: "value" }[kind], projected(ctx, kind)))],
    }
  }
  return { draw, status, table, part: (p) => (p.zero ? "extras" : null) }
})())
