// One row a decode step, one cell a position the decoder computes: the triangle, or its diagonal.
kv.figure("work-grid", (() => {
  const MARKS = { now: "●", wasted: "↻", kept: "" }
  const stateOf = (row, column, t, cached) => (row > t ? "future" : column === row ? "now" : cached ? "kept" : "wasted")
  const told = { now: "computed here for the first time", wasted: "computed again: the same numbers as before", kept: "read from the cache, not computed", future: "not reached yet" }

  const draw = ({ run, p, w, kit }) => {
    const n = run.fed.length
    const labelW = Math.min(150, w * 0.3)
    const size = Math.max(9, Math.min(32, (w - labelW - 8) / n, 400 / n))
    const marks = []
    run.fed.forEach((word, column) => {
      if (size >= 20) marks.push(kit.label(`place${column}`, labelW + column * size + size / 2, 11, column + 1, { cls: "quiet", anchor: "middle" }))
    })
    for (let row = 0; row < n; row++) {
      const y = 18 + row * size
      marks.push(kit.label(`row${row}`, labelW - 8, y + size / 2 + 4, `writes ${run.shown(row)}`, { anchor: "end", cls: row === p.t ? "strong" : row > p.t ? "quiet" : "", max: labelW - 8 }))
      for (let column = 0; column <= row; column++) {
        const state = stateOf(row, column, p.t, p.cached)
        marks.push(kit.cell(`c${row}.${column}`, labelW + column * size, y, size - 2, size - 2, size >= 16 ? MARKS[state] ?? "" : "", "accent", state,
          { size: Math.min(13, size * 0.5), tip: [`Position ${column + 1} (“${run.fed[column]}”) at step ${row + 1}`, told[state]] }))
      }
    }
    const y = 18 + n * size + 18
    const key = p.cached ? [["now", "computed now"], ["kept", "read from the cache"]] : [["now", "computed, new"], ["wasted", "computed again"]]
    key.forEach(([state, text], i) => {
      const x = 4 + i * Math.min(170, w / 2)
      marks.push(kit.cell(`key${i}`, x, y - 12, 15, 15, "", "accent", state), kit.label(`keytext${i}`, x + 22, y, text, { cls: "quiet" }))
    })
    return { marks, w, h: y + 8 }
  }
  const status = ({ run, p, kit }) => {
    const where = `Step ${p.t + 1} of ${run.fed.length}: to write ${run.shown(p.t)} the decoder `
    const all = run.at("count.naive.positions", p.t)
    const few = run.at("count.cached.positions", p.t)
    return p.cached
      ? `${where}computes 1 position and reads ${p.t} from the cache; ${kit.whole(few)} computed so far, against ${kit.whole(all)} without.`
      : `${where}computes ${kit.plural(p.t + 1, "position")}, ${p.t} of them again; ${kit.whole(all)} so far.`
  }
  const table = ({ run, p, kit }) => ({
    caption: "Positions the decoder computes at each step, counted by the code that ran",
    head: ["step", "writes", "without cache", "so far", "with cache", "so far"],
    rows: run.fed.slice(0, p.t + 1).map((_, t) => [t + 1, run.shown(t), t + 1, kit.whole(run.at("count.naive.positions", t)), 1, kit.whole(run.at("count.cached.positions", t))]),
  })
  return { draw, status, table }
})())
