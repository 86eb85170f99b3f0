// Measured numbers of a real model, one bar a way of running it.
kv.figure("measured-model", (() => {
  const LOOK_MS = 500
  const here = {} // kind of measurement -> what was found here, on a reader's wish
  let job = null
  const shipped = ({ spec, p }) => spec.data[p.measurement]
  const found = (ctx) => here[shipped(ctx).title] ?? shipped(ctx)
  const say = (kit, x) => kit.fix(x, x < 10 ? 2 : x < 100 ? 1 : 0)
  /** What a perplexity was taken over: all texts as one, or the one that is read here. */
  const over = (ctx) => (!shipped(ctx).live ? "" : here[shipped(ctx).title] ? ", one text" : ", all texts pooled")
  const draw = (ctx) => {
    const { w, h: room = Infinity, kit } = ctx
    const { rows, title, unit } = found(ctx)
    const shown = rows.slice(0, w < 430 ? 6 : 12)
    const most = Math.max(...shown.map((row) => row.value))
    const labelW = w * (w < 430 ? 0.42 : 0.48)
    const h = Math.max(13, Math.min(shown.length > 8 ? 18 : 24, (room - 54) / shown.length - 5))
    const marks = [kit.label("t", 0, 12, `${w < 430 ? "" : `${title}: `}${unit}${over(ctx)}`, { cls: "title", max: w })]
    shown.forEach((row, i) => {
      const y = 22 + i * (h + 5)
      marks.push(kit.label(`n${i}`, 0, y + h / 2 + 4, row.name, { max: labelW - 8 }), kit.bar(`b${i}`, labelW, y, Math.max(1, (w - labelW - 62) * (row.value / most)), h, "number"), kit.cell(`v${i}`, w - 58, y, 58, h, say(kit, row.value), "number", "plain", { tip: [row.name, `${row.value} ${unit}`] }))
    })
    let y = 22 + shown.length * (h + 5) + 14
    if (rows.length > shown.length) { marks.push(kit.label("more", 0, y, `and ${rows.length - shown.length} more in the table`, { cls: "quiet" })); y += 18 }
    return { marks, w, h: y }
  }
  const status = (ctx) => {
    const { kit } = ctx
    const { rows, unit, model, date, processor, device, threads } = found(ctx)
    const best = rows.reduce((a, b) => (b.value > a.value ? b : a))
    const least = rows.reduce((a, b) => (b.value < a.value ? b : a))
    return `${model}, measured on ${date}, ${device}, ${processor}, ${kit.plural(threads, "thread")}: from ${say(kit, least.value)} (${least.name}) to ${say(kit, best.value)} ${unit} (${best.name}).`
  }
  const note = (ctx) => (here[shipped(ctx).title] ? `Measured here, just now, ${found(ctx).command}. Shipped: ${shipped(ctx).command}, ${shipped(ctx).date}.` : `Shipped with this page; measured with: ${found(ctx).command}`)

  // ---- measuring it again on the machine that serves, on the reader's wish
  const ask = async (message) => {
    const reply = await kv.ask("quality", JSON.stringify(message))
    return reply?.message ? { state: "refused", message: reply.message } : reply?.quality ?? null
  }
  const words = (kit, seen) => {
    if (seen.message) return seen.message
    if (seen.state === "waiting") return `Waiting: ${kit.plural(seen.ahead, "run")} before yours.`
    const so = `${kit.whole(seen.n_done ?? 0)} of ${kit.whole(seen.n_cases ?? 0)}`
    if (seen.state === "running") return `Measuring, ${so} done: ${seen.what} …`
    return seen.state === "cancelled" ? `Stopped after ${so}.` : `Measured here, just now: ${so}.`
  }
  const makeBox = (stage) => {
    const box = kv.html("div", { class: "control measure-here", role: "group", "aria-label": "Measure it on this machine" })
    box.start = kv.html("button", { type: "button", onclick: () => begin(stage, box) }, "Measure it here")
    box.halt = kv.html("button", { type: "button", onclick: () => job && ask({ action: "cancel", job }) }, "Stop")
    box.bar = kv.html("progress", { max: 1, value: 0, "aria-label": "Share measured" })
    box.said = kv.html("span", { class: "small quiet", role: "status" })
    box.append(box.start, box.halt, box.bar, box.said)
    busy(box, false)
    return box
  }
  const busy = (box, on) => { box.start.disabled = on; box.halt.hidden = box.bar.hidden = !on }
  const show = (stage, box, what, seen) => {
    box.said.textContent = words(kv.kit, seen)
    if (seen.n_cases) box.bar.value = seen.n_done / seen.n_cases
    if (seen.found && seen.state !== "cancelled") { here[what] = seen.found; stage.redraw() }
  }
  const follow = async (stage, box, what) => {
    const seen = await ask({ action: "look", job })
    if (seen) show(stage, box, what, seen)
    if (!seen || ["waiting", "running"].includes(seen.state)) return setTimeout(() => follow(stage, box, what), LOOK_MS)
    job = null
    busy(box, false)
  }
  const begin = async (stage, box) => {
    const what = stage.spec.data[stage.params.measurement].title
    busy(box, true)
    const seen = await ask({ action: "start", what })
    if (seen?.job) { job = seen.job; show(stage, box, what, seen); return follow(stage, box, what) }
    busy(box, false)
    box.said.textContent = seen?.message ?? "The server did not answer."
  }
  /** The button stands beside the choice of measurements that can be taken here. */
  const act = (stage, ctx) => {
    const box = (stage.controls.measureBox ??= makeBox(stage))
    if (box.parentNode !== stage.controls) stage.controls.append(box)
    box.hidden = !shipped(ctx).live
  }

  const table = (ctx) => ({ caption: `${found(ctx).model}: ${found(ctx).title}${over(ctx)}`, head: ["way", found(ctx).unit], rows: found(ctx).rows.map((row) => [row.name, say(ctx.kit, row.value)]) })
  return { draw, status, note, table, act }
})())
