// Slots down, steps across: what each slot writes, and where it waits.
kv.figure("schedule", (() => {
  const line = ({ spec, p }) => spec.data[`${p.workload}/${p.policy}`]
  const other = ({ spec, p }) => spec.data[`${p.workload}/${p.policy === "static" ? "continuous" : "static"}`]
  const ROLES = ["key", "value", "query", "latent", "position"]
  const draw = (ctx) => {
    const { w, kit } = ctx
    const found = line(ctx)
    const steps = Math.max(found.steps, other(ctx).steps)
    const labelW = 50
    const size = (w - labelW - 4) / steps
    const h = 36
    const marks = []
    for (let slot = 0; slot < found.slots; slot++) {
      marks.push(kit.label(`s${slot}`, labelW - 8, 22 + slot * (h + 4) + h / 2 + 4, `slot ${slot + 1}`, { anchor: "end" }))
      for (let step = 0; step < found.steps; step++) marks.push(kit.cell(`e${slot}.${step}`, labelW + step * size, 22 + slot * (h + 4), Math.max(1, size - 1.5), h, "", "number", "future"))
    }
    found.cells.filter((c) => c.phase !== "idle").forEach((c) => {
      const number = Number(c.request.slice(1))
      marks.push(kit.cell(`c${c.slot}.${c.step}`, labelW + c.step * size, 22 + c.slot * (h + 4), Math.max(1, size - 1.5), h, size > 20 ? c.request : "", ROLES[number % ROLES.length], c.phase === "prefill" ? "now" : "kept", { tip: [`Step ${c.step + 1}, slot ${c.slot + 1}: ${c.request}`, c.phase === "prefill" ? "its prompt is read and the first token written" : "one more token", `${c.kept} rows in its cache`] }))
    })
    const y = 22 + found.slots * (h + 4) + 18
    marks.push(kit.label("end", labelW + found.steps * size, y, `done after ${found.steps} steps`, { anchor: "end", cls: "strong" }))
    marks.push(kit.label("steps", labelW, 14, "steps", { cls: "quiet" }))
    return { marks, w, h: y + 8 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const a = line(ctx)
    return `${p.policy === "static" ? "Static" : "Continuous"} batching needs ${a.steps} steps (${p.policy === "static" ? "continuous" : "static"}: ${other(ctx).steps}); ${kit.percent(a.busy, 1)} of the slots do work, and a request waits ${kit.fix(a.mean, 2)} steps on average until it is done.`
  }
  const table = (ctx) => ({ caption: `${ctx.p.workload}, ${ctx.p.policy}`, head: ["request", "finished after step"], rows: Object.entries(line(ctx).finish) })
  return { draw, status, table }
})())
