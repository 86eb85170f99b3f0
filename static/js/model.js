// The real model's page: start a run, look at it while it writes, stop it.
(() => {
  const { html } = kv
  const { whole, bytes, fix, bar, label, patch, el } = kv.kit
  const LOOK_MS = 250
  let form, status, job = null

  const node = (selector) => document.querySelector(selector)
  const settings = () => {
    const f = form.elements
    return { prompt: f.prompt.value, max_tokens: Number(f.max_tokens.value), temperature: Number(f.temperature.value), cache: f.cache.checked, format: f.cache.checked ? f.format.value : null, window: f.cache.checked ? Number(f.window.value) : 0, sinks: f.cache.checked ? Number(f.sinks.value) : 0 }
  }
  const nameOf = (s) => (s.cache ? `cache on${s.window ? `, window ${s.window}` : ""}${s.sinks ? `, ${s.sinks} sinks` : ""}${s.format && s.format !== form.elements.format.options[0].value ? `, ${s.format}` : ""}` : "cache off")
  const ask = async (message) => {
    const reply = await kv.ask("model", JSON.stringify(message))
    return reply?.message ? { state: "refused", message: reply.message } : reply?.model ?? null
  }

  const layers = (sizes) => {
    const w = 640, most = Math.max(1, ...sizes), width = w / Math.max(1, sizes.length)
    const svg = el("svg", { class: "figure-svg strip", role: "img", "aria-label": `Bytes held by each of ${sizes.length} layers` })
    patch(svg, { marks: [label("t", 0, 12, `${sizes.length} layers hold ${bytes(sizes.reduce((s, x) => s + x, 0))}`, { cls: "title" }), ...sizes.map((n, i) => bar(`b${i}`, i * width, 84 - 62 * (n / most), width - 2, 62 * (n / most), "key"))], w, h: 90 })
    node(".model-layers").replaceChildren(...(sizes.length ? [svg] : []))
  }
  const words = (seen) => {
    if (seen.state === "waiting") return `Waiting: ${whole(seen.ahead)} ${seen.ahead === 1 ? "run is" : "runs are"} before yours.`
    if (seen.what) return `Working: ${seen.what} …`
    const n = seen.n_new ?? 0
    const pace = seen.tokens_per_s ? `, ${fix(seen.tokens_per_s, 1)} tokens a second` : ""
    if (seen.state === "running") return n ? `Writing: ${whole(n)} tokens so far; the cache holds ${bytes(seen.nbytes_held ?? 0)}.` : `Reading the prompt of ${whole(seen.prompt ?? 0)} tokens …`
    if (seen.state === "failed" || seen.state === "refused") return seen.message
    return `${seen.state === "cancelled" ? "Stopped" : "Done"}: ${whole(n)} tokens${pace}; the cache holds ${bytes(seen.nbytes_held ?? 0)}.`
  }
  const show = (seen) => {
    status.textContent = words(seen)
    if (seen.text !== undefined) node("[data-text]").textContent = seen.text
    if (seen.layers) layers(seen.layers)
  }
  const keep = (seen, asked) => {
    if (!seen.n_new) return
    node(".model-runs tbody").prepend(html("tr", {}, html("th", { scope: "row" }, nameOf(asked)), html("td", {}, whole(seen.n_new)), html("td", {}, seen.tokens_per_s ? fix(seen.tokens_per_s, 1) : ""),
      html("td", {}, seen.prefill_seconds ? fix(seen.prompt / seen.prefill_seconds, 0) : ""), html("td", {}, bytes(seen.nbytes_held ?? 0))))
  }
  const busy = (on) => { form.querySelector("[type=submit]").disabled = on; form.querySelector("[data-cancel]").disabled = !on }

  const follow = async (asked) => {
    const seen = await ask({ action: "look", job })
    if (!seen) return setTimeout(() => follow(asked), LOOK_MS)
    show(seen)
    if (["waiting", "running"].includes(seen.state)) return setTimeout(() => follow(asked), LOOK_MS)
    busy(false)
    keep(seen, asked)
    job = null
  }
  const start = async () => {
    const asked = settings()
    busy(true)
    node("[data-prompt]").textContent = asked.prompt
    node("[data-text]").textContent = ""
    const seen = await ask({ action: "start", ...asked })
    if (!seen || seen.state === "refused") { busy(false); return show(seen ?? { state: "refused", message: "The server did not answer." }) }
    job = seen.job
    show(seen)
    follow(asked)
  }

  kv.extras = kv.extras ?? []
  kv.extras.push(() => {
    form = node(".model-form")
    if (!form || form.hasAttribute("inert")) return
    status = node(".model-status")
    form.addEventListener("submit", (event) => { event.preventDefault(); start() })
    form.querySelector("[data-cancel]").addEventListener("click", () => { if (job) ask({ action: "cancel", job }) })
    form.elements.cache.addEventListener("change", () => { const most = form.elements.cache.checked ? Number(form.dataset.cached) : Number(form.dataset.uncached); form.elements.max_tokens.max = most; if (Number(form.elements.max_tokens.value) > most) form.elements.max_tokens.value = most })
  })
})()
