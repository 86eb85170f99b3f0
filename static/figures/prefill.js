// The same prompt fed in one pass, in chunks, or word by word: the same rows come out.
kv.figure("prefill", (() => {
  const chosen = ({ run, p }) => run.prefill[p.split] ?? run.prefill[0]
  const chunkOf = (chunks) => chunks.flatMap((size, i) => Array(size).fill(i))
  const draw = (ctx) => {
    const { run, p, w, kit } = ctx
    const { chunks } = chosen(ctx)
    const owner = chunkOf(chunks)
    const labelW = Math.min(96, w * 0.2)
    const passW = 84
    const cellW = Math.min(50, (w - labelW - passW - 16) / 8)
    const digits = cellW >= 40 ? 2 : 1
    const cellH = Math.max(15, Math.min(24, 370 / owner.length - 2))
    const rows = (kind) => owner.map((_, row) => ({ label: run.fed[row], key: row, values: Array.from(run.at(kind, p.layer, p.head, row)), state: "kept",
      tips: Array.from(run.at(kind, p.layer, p.head, row), (x, j) => [`${kind.toUpperCase()} of “${run.fed[row]}”, number ${j + 1}`, kit.fix(x, 6), `made in pass ${owner[row] + 1} of ${chunks.length}`]) }))
    const left = kit.matrix({ k: "k", x: passW, y: 0, title: "keys", role: "key", rows: rows("k"), labelW, cellW, cellH, digits })
    const right = kit.matrix({ k: "v", x: passW + labelW + 4 * cellW + 12, y: 0, title: "values", role: "value", rows: rows("v"), labelW: 0, cellW, cellH, digits })
    const marks = [...left.marks, ...right.marks]
    let first = 0
    chunks.forEach((size, i) => {
      const y = 20 + first * (cellH + 2)
      const h = size * (cellH + 2) - 2
      marks.push(kit.cell(`pass${i}`, 0, y, passW - 12, h, chunks.length > 8 ? `${i + 1}` : `pass ${i + 1}`, "accent", "now", { tip: [`Pass ${i + 1}: ${size} positions at once`, `words ${first + 1} to ${first + size}`] }))
      first += size
    })
    return { marks, w, h: left.h + 6 }
  }
  const status = (ctx) => {
    const { name, chunks, max_abs_diff: gap } = chosen(ctx)
    const { kit } = ctx
    return `${name}: ${kit.plural(chunks.length, "pass").replace("passs", "passes")} for ${kit.plural(ctx.run.fed.length, "position")}; the rows differ from the step-by-step cache by ${gap === 0 ? "exactly 0.0" : kit.tiny(gap)}.`
  }
  const table = (ctx) => ({
    caption: "Every way of cutting the prompt that was run, and the largest difference in any key or value of any layer and head",
    head: ["cut", "passes", "positions a pass", "largest difference"],
    rows: ctx.run.prefill.map((one) => [one.name, one.chunks.length, one.chunks.join(" + "), one.max_abs_diff]),
  })
  return { draw, status, table, part: () => "extras" }
})())
