// Real keys or values, exact on the left; on the right what a smaller store gives back, or the codes it holds.
kv.figure("quantised", (() => {
  const arrays = (p, part = "") => `stored.${p.store}.${p.kind}${part}`
  const tip = (ctx, row, j) => () => {
    const { run, p, kit } = ctx
    const index = [p.layer, p.head, row, j]
    const exact = run.at(p.kind, ...index)
    const back = run.at(arrays(p), ...index)
    const scale = run.at(arrays(p, ".scale"), ...index)
    const zero = run.at(arrays(p, ".zero"), ...index)
    const units = run.at(arrays(p, ".units"), ...index)
    const title = `${p.kind === "k" ? "Key" : "Value"} of “${run.fed[row]}”, number ${j + 1}: ${kit.fix(exact, 5)}`
    if (scale === 0 && back === exact) return [title, "recent, so kept as it is"]
    return [title, `${zero ? `${kit.fix(zero, 5)} + ` : ""}${kit.fix(units, Number.isInteger(units) ? 0 : 3)} × ${kit.fix(scale, 5)} = ${kit.fix(back, 5)}, off by ${kit.fix(Math.abs(back - exact), 5)}`]
  }
  const draw = (ctx) => {
    const { run, spec, p, w, kit } = ctx
    const n = run.fed.length
    const labelW = Math.min(84, w * 0.18)
    const scaleW = w > 480 ? 78 : 0
    const gap = 14
    const cellW = Math.min(54, (w - labelW - scaleW - gap) / 8)
    const digits = cellW >= 40 ? 2 : 1
    const narrow = w < 480
    const cellH = Math.max(5, Math.min(22, (narrow ? 126 : 270) / n - 2))
    const text = (x, d = digits) => (cellH >= 11 && cellW >= 22 ? kit.fix(x, d) : "")
    const role = p.kind === "k" ? "key" : "value"
    const x2 = labelW + 4 * cellW + gap
    const top = narrow ? 18 : 24
    const names = { value: "read back", units: "codes" }
    const marks = [kit.label("t.exact", labelW, 13, "as computed", { cls: "title" }), kit.label("t.after", x2, 13, names[p.after], { cls: "title" })]
    if (scaleW) marks.push(kit.label("t.scale", w, 13, p.store.startsWith("kivi") && p.kind === "k" ? "scale of k1" : "scale", { anchor: "end", cls: "quiet" }))
    for (let row = 0; row < n; row++) {
      const y = top + row * (cellH + 2)
      if (cellH >= 8) marks.push(kit.label(`w${row}`, labelW - 8, y + cellH / 2 + 4, run.fed[row], { anchor: "end", max: labelW - 10, cls: cellH < 14 ? "quiet" : "" }))
      for (let j = 0; j < 4; j++) {
        const exact = run.at(p.kind, p.layer, p.head, row, j)
        const back = run.at(arrays(p), p.layer, p.head, row, j)
        const scale = run.at(arrays(p, ".scale"), p.layer, p.head, row, j)
        const untouched = scale === 0 && back === exact
        const units = run.at(arrays(p, ".units"), p.layer, p.head, row, j)
        const shown = p.after === "value" || untouched ? text(back) : text(units, Number.isInteger(units) ? 0 : 1)
        marks.push(kit.cell(`a${row}.${j}`, labelW + j * cellW, y, cellW - 2, cellH, text(exact), role, "kept", { value: exact, tip: tip(ctx, row, j) }))
        marks.push(kit.cell(`b${row}.${j}`, x2 + j * cellW, y, cellW - 2, cellH, shown, untouched ? role : "accent", untouched ? "kept" : "now", { value: p.after === "value" ? back : units, tip: tip(ctx, row, j) }))
      }
      if (scaleW) {
        const scale = run.at(arrays(p, ".scale"), p.layer, p.head, row, 0)
        marks.push(kit.label(`s${row}`, w, y + cellH / 2 + 4, scale === 0 ? "as it is" : kit.fix(scale, 4), { anchor: "end", cls: "quiet" }))
      }
    }
    const lineH = narrow ? 15 : 19
    const y = top + n * (cellH + 2) + (narrow ? 12 : 18)
    const { here, wide, arithmetic } = spec.data.formats[p.store]
    const one = run.stored[p.store]
    const lines = [
      [`${here} bits a number coded`, narrow ? `${wide} in a head of ${spec.data.wide}` : `${wide} in a head of ${spec.data.wide}: ${arithmetic}`],
      [`error at most ${kit.fix(one.error[p.kind], 4)}`, narrow ? `${kit.whole(one.bytes)} bytes of ${kit.whole(run.sizes.cache_bytes)}` : `${kit.whole(one.bytes)} bytes kept instead of ${kit.whole(run.sizes.cache_bytes)}${one.waiting ? `, ${kit.whole(one.waiting)} of them in rows that wait` : ""}`],
      [`logits moved by up to ${kit.fix(one.moved, 2)}`, one.n_changed ? `${kit.plural(one.n_changed, "word")} would change` : "no word would change"],
    ]
    const half = narrow ? Math.max(w * 0.46, labelW + 120) : w * 0.34
    lines.forEach(([left, right], i) => marks.push(kit.label(`f${i}.l`, 0, y + i * lineH, left, { cls: "strong", max: half - 4 }), kit.label(`f${i}.r`, half, y + i * lineH, right, { max: w - half })))
    return { marks, w, h: y + 3 * lineH - 8 }
  }
  const status = ({ run, spec, p, kit }) => {
    const one = run.stored[p.store]
    const form = spec.data.formats[p.store]
    return `${form.label}: the ${p.kind === "k" ? "keys" : "values"} are off by at most ${kit.fix(one.error[p.kind], 4)}${one.waiting ? `; of ${kit.whole(one.bytes)} bytes ${kit.whole(one.waiting)} are newest rows that wait as they are` : ""}; the logits of the same words move by up to ${kit.fix(one.moved, 2)}, and ${one.n_changed ? `${kit.plural(one.n_changed, "word")} of ${run.fed.length} would change` : "no word would change"}.`
  }
  const table = ({ run, p, kit }) => ({
    caption: `${p.kind === "k" ? "Keys" : "Values"} of layer ${p.layer + 1}, head ${p.head + 1}: as computed, codes, scales, read back`,
    head: ["word", ...["exact", "code", "scale", "read back"].flatMap((name) => [1, 2, 3, 4].map((j) => `${name} ${j}`))],
    rows: run.fed.map((word, row) => [word, ...[p.kind, arrays(p, ".units"), arrays(p, ".scale"), arrays(p)].flatMap((name) => Array.from(run.at(name, p.layer, p.head, row), (x) => kit.fix(x, 4)))]),
  })
  return { draw, status, table, part: () => "stored" }
})())
