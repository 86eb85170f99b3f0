// The slots of a ring; the newest token overwrites the oldest. Below: how far a stack of windows sees.
kv.figure("ring", (() => {
  const SHOWN = 20
  const slots = ({ spec, p }) => spec.data.slots[p.window][p.tokens - 1]
  const reach = ({ spec, p }) => spec.data.reach[p.window][p.layers - 1]
  const newest = ({ p }) => p.tokens - 1
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const held = slots(ctx)
    const before = p.tokens > 1 ? ctx.spec.data.slots[p.window][p.tokens - 2] : []
    const size = Math.min(58, (w - 8) / p.window)
    const marks = [kit.label("t", 0, 12, `${p.window} slots: token p goes to slot p mod ${p.window}`, { cls: "title" })]
    for (let slot = 0; slot < p.window; slot++) {
      const token = held[slot]
      const fresh = token === newest(ctx)
      const replaced = fresh && before.length === p.window ? before[slot] : null
      marks.push(kit.cell(`slot${slot}`, slot * size, 24, size - 3, 44, token === undefined ? "" : `${token}`, "key", token === undefined ? "future" : fresh ? "now" : "kept",
        { tip: token === undefined ? [`Slot ${slot}: empty`] : [`Slot ${slot} holds token ${token}`, `${token} mod ${p.window} = ${token % p.window}`, replaced === null ? "written into a free slot" : `it overwrote token ${replaced}`] }))
      marks.push(kit.label(`name${slot}`, slot * size + size / 2 - 1, 82, `slot ${slot}`, { cls: "quiet", anchor: "middle" }))
    }
    const cell = Math.max(9, (w - 4) / SHOWN)
    const y = 128
    marks.push(kit.label("r", 0, y - 10, `${p.layers} ${p.layers === 1 ? "layer" : "layers"}: what token ${newest(ctx)} can know of`, { cls: "title", max: w }))
    for (let token = 0; token < SHOWN; token++) {
      const back = newest(ctx) - token
      const state = back < 0 ? "future" : back === 0 ? "now" : back < p.window ? "kept" : back < reach(ctx) ? "wasted" : "evicted"
      marks.push(kit.cell(`token${token}`, token * cell, y, cell - 1.5, 30, cell > 13 ? `${token}` : "", state === "wasted" ? "latent" : "key", state, { tip: [`Token ${token}`, back < 0 ? "not there yet" : back < p.window ? "in the window: read directly" : back < reach(ctx) ? "out of the window: known only through rows of lower layers" : "out of reach"] }))
    }
    return { marks, w, h: y + 40 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const full = Math.min(p.tokens, p.window)
    return `After ${kit.plural(p.tokens, "token")} the ring holds ${kit.plural(full, "row")}; ${p.layers} such ${p.layers === 1 ? "layer reaches" : "layers reach"} ${p.layers} × (${p.window} − 1) + 1 = ${reach(ctx)} positions.`
  }
  const table = (ctx) => ({ caption: "Slots of the ring", head: ["slot", "token"], rows: Array.from({ length: ctx.p.window }, (_, slot) => [slot, slots(ctx)[slot] ?? "empty"]) })
  return { draw, status, table }
})())
