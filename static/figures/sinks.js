// A window with sinks: tokens in the text above, rows in the cache below, wired to each other.
kv.figure("sinks", (() => {
  const N = 20
  const rows = ({ spec, p }) => spec.data.rows[`${p.window}/${p.sinks}`][p.tokens - 1]
  const draw = (ctx) => {
    const { p, w, kit } = ctx
    const held = rows(ctx)
    const size = Math.min(34, (w - 4) / N)
    const place = Math.min(44, (w - 4) / Math.max(held.length, p.window + p.sinks))
    const marks = [kit.label("a", 0, 12, "tokens of the text", { cls: "title" }), kit.label("b", 0, 204, "rows of the cache, and the positions their keys take", { cls: "title", max: w })]
    for (let token = 0; token < N; token++) {
      const at = held.indexOf(token)
      const state = token >= p.tokens ? "future" : at < 0 ? "evicted" : token === p.tokens - 1 ? "now" : "kept"
      marks.push(kit.cell(`t${token}`, token * size, 22, size - 2, 30, size > 14 ? `${token}` : "", token < p.sinks ? "position" : "key", state, { tip: [`Token ${token}`, state === "future" ? "not there yet" : at < 0 ? "evicted for good" : token < p.sinks ? "a sink: never evicted" : "in the window"] }))
      if (at >= 0) marks.push(kit.wire(`w${token}`, `M ${token * size + size / 2 - 1} 54 C ${token * size + size / 2} 84, ${at * place + place / 2} 94, ${at * place + place / 2 - 1} 126`, { role: token < p.sinks ? "position" : "key" }))
    }
    held.forEach((token, at) => {
      marks.push(kit.cell(`r${token}`, at * place, 128, place - 2, 34, `${token}`, token < p.sinks ? "position" : "key", token === p.tokens - 1 ? "now" : "kept", { tip: [`Row ${at} holds the key of token ${token}`, `its key is rotated to position ${at}, its place in the cache`] }))
      marks.push(kit.label(`p${at}`, at * place + place / 2 - 1, 180, `${at}`, { cls: "quiet", anchor: "middle" }))
    })
    return { marks, w, h: 212 }
  }
  const status = (ctx) => {
    const { p, kit } = ctx
    const held = rows(ctx)
    return `After ${kit.plural(p.tokens, "token")} the cache holds ${kit.plural(held.length, "row")} of at most ${p.window + p.sinks}: tokens ${held.join(", ")}, at positions 0 to ${held.length - 1}; ${kit.plural(p.tokens - held.length, "token")} evicted for good.`
  }
  const table = (ctx) => ({ caption: "Rows of the cache", head: ["position in the cache", "token of the text"], rows: rows(ctx).map((token, at) => [at, token]) })
  return { draw, status, table }
})())
