// Slots down, steps across: what each slot writes, where it waits, and what each step feeds.
kv.figure("schedule", (() => {
  const line = ({ spec, p }) => spec.data[`${p.workload}/${p.policy}`]
  const all = ({ spec, p }) => spec.params.find((one) => one.name === "policy").options.map((policy) => spec.data[`${p.workload}/${policy}`])
  const other = ({ spec, p }) => spec.data[`${p.workload}/${p.policy === "static" ? "continuous" : "static"}`]
  const ROLES = ["key", "value", "query", "latent", "position"]
  const draw = (ctx) => {
    const { w, kit } = ctx
    const found = line(ctx)
    const steps = Math.max(...all(ctx).map((one) => one.steps))
    const labelW = 50
    const size = (w - labelW - 4) / steps
    const h = w < 430 ? 24 : 34
    const marks = []
    for (let slot = 0; slot < found.slots; slot++) {
      marks.push(kit.label(`s${slot}`, labelW - 8, 22 + slot * (h + 4) + h / 2 + 4, `slot ${slot + 1}`, { anchor: "end" }))
      for (let step = 0; step < found.steps; step++) marks.push(kit.cell(`e${slot}.${step}`, labelW + step * size, 22 + slot * (h + 4), Math.max(1, size - 1.5), h, "", "number", "future"))
    }
    found.cells.filter((c) => c.phase !== "idle").forEach((c) => {
      const number = Number(c.request.slice(1))
      marks.push(kit.cell(`c${c.slot}.${c.step}`, labelW + c.step * size, 22 + c.slot * (h + 4), Math.max(1, size - 1.5), h, size > 20 ? c.request : "", ROLES[number % ROLES.length], c.phase === "prefill" ? "now" : "kept",
        { tip: [`Step ${c.step + 1}, slot ${c.slot + 1}: ${c.request}`, c.phase === "prefill" ? `${kit.plural(c.fed, "token")} read that it has no row of yet` : "one more token", `${kit.plural(c.kept, "row")} in its cache`] }))
    })
    let y = 22 + found.slots * (h + 4) + 14
    marks.push(kit.label("fed", labelW - 8, y, "fed", { anchor: "end", cls: "quiet" }))
    const most = Math.max(...found.fed)
    found.fed.forEach((n, step) => {
      if (size >= 13) marks.push(kit.label(`f${step}`, labelW + (step + 0.5) * size - 1, y, `${n}`, { anchor: "middle", cls: n === most && most > found.slots ? "strong" : "quiet" }))
      else marks.push(kit.bar(`f${step}`, labelW + step * size, y - (10 * n) / most, Math.max(1, size - 1.5), (10 * n) / most, "number"))
    })
    y += 20
    marks.push(kit.label("end", labelW + found.steps * size, y, `done after ${found.steps} steps`, { anchor: "end", cls: "strong" }))
    marks.push(kit.label("steps", labelW, 14, "steps", { cls: "quiet" }))
    return { marks, w, h: y + 8 }
  }
  const NAMES = { static: "Static batching", continuous: "Continuous batching", chunks: "With prompts in chunks continuous batching", small: "With little memory continuous batching" }
  const status = (ctx) => {
    const { p, kit } = ctx
    const a = line(ctx)
    const gone = a.preempted.map((one) => `${one.request} before step ${one.step + 1}`)
    return `${NAMES[p.policy]} needs ${a.steps} steps (${p.policy === "static" ? "continuous" : "static"}: ${other(ctx).steps}); ${kit.percent(a.busy, 1)} of the slots do work, a request waits ${kit.fix(a.mean, 2)} steps on average until it is done, and no step feeds more than ${kit.plural(Math.max(...a.fed), "token")}${gone.length ? `; preempted: ${gone.join(", ")}, to be fed again from the first token` : ""}.`
  }
  const table = (ctx) => ({ caption: `${ctx.p.workload}, ${ctx.p.policy}`, head: ["request", "finished after step"], rows: Object.entries(line(ctx).finish) })
  return { draw, status, table }
})())
