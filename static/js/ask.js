// Questions to the server: one under way at a time, the latest of each kind wins, none blocks the page.
(() => {
  const PATIENCE = 20000
  const AWAY = { away: true, message: "The server is away, so this has to wait; the last figures stay." }
  const waiting = new Map() // part -> {text, resolve}
  let model = null
  let under = null
  let number = 0
  let timer = 0

  const next = () => {
    if (!model || under || !waiting.size) return
    const [part, { text, resolve }] = waiting.entries().next().value
    waiting.delete(part)
    under = { id: ++number, part, resolve }
    timer = setTimeout(() => finish({ message: "The server took too long; the last figures stay." }), PATIENCE)
    model.ask = { id: under.id, part, text }
  }
  const finish = (reply) => {
    clearTimeout(timer)
    const { resolve } = under
    under = null
    resolve(reply)
    next()
  }

  /** Ask for a part of the text: resolves with {[part]: …} or {message}; null when a later question took its place. */
  kv.ask = (part, text) => new Promise((resolve) => {
    if (kv.offline) return resolve(AWAY)
    if (document.documentElement.dataset.static) return resolve({ message: "This copy has no server behind it; run it with one to compute this." })
    waiting.get(part)?.resolve(null)
    waiting.set(part, { text, resolve })
    next()
  })
  document.addEventListener("kv:lost", () => {
    for (const { resolve } of waiting.values()) resolve(AWAY)
    waiting.clear()
    if (under) finish(AWAY)
  })
  kv.connect = (given) => {
    model = given
    model.on("reply", () => { if (under && model.reply?.id === under.id) finish(model.reply) })
    document.documentElement.dataset.live = "yes"
    kv.connected = true
    next()
  }
})()
