// Keys of one step beside those of the next: under the causal mask nothing behind you moves.
kv.figure("rows-move", (() => {
  const pair = ({ run, p }) => {
    const t = p.t
    return { t, next: Math.min(t + 1, run.fed.length - 1), name: p.bidirectional ? "bidirectional.k" : "naive.k" }
  }
  const difference = (ctx, row) => {
    const { t, next, name } = pair(ctx)
    const a = ctx.run.at(name, t, ctx.p.layer, ctx.p.head, row)
    const b = ctx.run.at(name, next, ctx.p.layer, ctx.p.head, row)
    return Math.max(...Array.from(a, (x, i) => Math.abs(x - b[i])))
  }
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const { t, next, name } = pair(ctx)
    const labelW = Math.min(86, w * 0.17)
    const deltaW = 62
    const cellW = Math.min(52, (w - labelW - deltaW - 26) / 8)
    const digits = cellW >= 40 ? 2 : 1
    const cellH = Math.max(15, Math.min(24, 330 / (next + 1) - 2))
    const rowsOf = (step, count) => Array.from({ length: count }, (_, row) => ({
      label: run.fed[row], key: row, values: Array.from(run.at(name, step, p.layer, p.head, row)),
      state: row === step ? "now" : difference(ctx, Math.min(row, t)) > 0 ? "wrong" : "kept",
      tips: [0, 1, 2, 3].map((j) => [`Key of “${run.fed[row]}”, number ${j + 1}, as computed at step ${step + 1}`, kit.fix(run.at(name, step, p.layer, p.head, row)[j], 6)]),
    }))
    const newest = { label: run.fed[next], key: next, values: [null, null, null, null], state: "future", tips: Array(4).fill([`“${run.fed[next]}”`, `not read yet at step ${t + 1}`]) }
    const left = kit.matrix({ k: "a", x: 0, y: 34, title: `keys at step ${t + 1}`, role: "key", rows: [...rowsOf(t, t + 1), ...(next > t ? [newest] : [])], labelW, cellW, cellH, digits })
    const x2 = labelW + 4 * cellW + 14
    const right = kit.matrix({ k: "b", x: x2, y: 34, title: `at step ${next + 1}`, role: "key", rows: rowsOf(next, next + 1), labelW: 0, cellW, cellH, digits })
    const marks = [...left.marks, ...right.marks]
    const x3 = x2 + 4 * cellW + 10
    marks.push(kit.label("delta", x3, 46, "moved by", { cls: "title" }))
    for (let row = 0; row <= t; row++) {
      const moved = difference(ctx, row)
      marks.push(kit.label(`moved${row}`, x3, 54 + row * (cellH + 2) + cellH / 2 + 4, moved === 0 ? "0.0" : kit.fix(moved, 3), { cls: moved === 0 ? "good" : "bad" }))
    }
    if (next > t) marks.push(kit.label("new", x3, 54 + next * (cellH + 2) + cellH / 2 + 4, "new", { cls: "quiet" }))
    marks.push(kit.label("mask", 0, 12, w > 480 ? "the first position may read" : "position 1 reads", { cls: "quiet" }))
    const maskX = w > 480 ? 180 : 112
    const side = Math.min(16, (w - maskX - 4) / (next + 1))
    for (let j = 0; j <= next; j++) {
      const reads = p.bidirectional || j === 0
      marks.push(kit.cell(`mask${j}`, maskX + j * side, 1, side - 2, 14, "", "accent", reads ? "now" : "masked"))
    }
    return { marks, w, h: 34 + right.h + 4 }
  }
  const largest = (ctx) => Math.max(...Array.from({ length: pair(ctx).t + 1 }, (_, row) => difference(ctx, row)))
  const status = (ctx) => {
    const { t, next } = pair(ctx)
    if (t === next) return "This run has a single step, so there is nothing behind it to move."
    const moved = largest(ctx)
    if (ctx.p.bidirectional && moved === 0) return ctx.p.layer === 0
      ? `Bidirectional, and yet no key of layer 1 moves: layer 1 makes its keys straight from the embeddings, before any word has read another. Layer 2's keys move.`
      : `Bidirectional: reading “${ctx.run.fed[next]}” moves no key behind it in this layer and head.`
    return ctx.p.bidirectional
      ? `With a bidirectional mask, reading “${ctx.run.fed[next]}” moves the keys behind it by up to ${ctx.kit.fix(moved, 3)} in this layer and head.`
      : `From step ${t + 1} to step ${next + 1} the ${ctx.kit.plural(t + 1, "key")} behind the new word moved by ${moved === 0 ? "exactly 0.0" : ctx.kit.tiny(moved)}.`
  }
  const table = (ctx) => {
    const { t, next, name } = pair(ctx)
    return {
      caption: `Keys of layer ${ctx.p.layer + 1}, head ${ctx.p.head + 1}, at steps ${t + 1} and ${next + 1}`,
      head: ["word", ...[1, 2, 3, 4].map((i) => `step ${t + 1}, k${i}`), ...[1, 2, 3, 4].map((i) => `step ${next + 1}, k${i}`), "moved by"],
      rows: Array.from({ length: t + 1 }, (_, row) => [ctx.run.fed[row],
        ...Array.from(ctx.run.at(name, t, ctx.p.layer, ctx.p.head, row), (x) => ctx.kit.fix(x, 4)),
        ...Array.from(ctx.run.at(name, next, ctx.p.layer, ctx.p.head, row), (x) => ctx.kit.fix(x, 4)), difference(ctx, row)]),
    }
  }
  const bounds = ({ run }) => ({ t: [0, Math.max(0, run.fed.length - 2)] }) // the last step has none after it
  return { draw, status, table, bounds, part: (p) => (p.bidirectional ? "extras" : null) }
})())
