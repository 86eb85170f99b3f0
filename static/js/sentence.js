// The reader's sentence: sent as it is typed, never more than one run under way, the latest wins.
(() => {
  const MAX_CHARS = 2000 // what one message may hold; the page says so when it cuts
  const state = { text: null, wanted: null, asked: null, model: null, since: 0, id: 0, more: null }
  const form = () => document.querySelector("form.sentence")
  const tell = (words, tone = "") => {
    for (const node of document.querySelectorAll("[data-sentence-message]")) { node.textContent = words; node.dataset.tone = tone }
  }

  const ask = (part, text) => { state.model.ask = { id: ++state.id, part, text } }

  /** The rest of the run on the page (wrong twins, other cuts): asked for when typing has paused. */
  const askMore = () => {
    if (!state.model || state.asked !== null || kv.run.complete) return
    state.asked = kv.run.text
    ask("extras", kv.run.text)
  }
  const more = () => {
    clearTimeout(state.more)
    if (kv.page.wantsExtras && !kv.run.complete) state.more = setTimeout(askMore, 300)
  }

  const send = () => {
    if (!state.model || state.asked !== null || state.wanted === null || state.wanted === state.text) return
    state.asked = state.wanted
    state.since = performance.now()
    ask("run", state.asked)
    setTimeout(() => { if (state.asked !== null && performance.now() - state.since >= 490) tell("Working it out …", "busy") }, 500)
  }

  /** Ask for a run of this text. Nothing on the page changes until the answer is there. */
  const want = (text) => {
    const cut = text.length > MAX_CHARS
    state.cut = cut ? `Only the first ${kv.kit.whole(MAX_CHARS)} of ${kv.kit.whole(text.length)} characters were sent. ` : ""
    state.wanted = cut ? text.slice(0, MAX_CHARS) : text
    if (!state.model && kv.offline) tell("The server is away, so this sentence has to wait; the last figures stay.", "warn")
    send()
  }

  const answered = (reply) => {
    if (!reply || reply.id !== state.id) return
    const text = state.asked
    state.asked = null
    if (reply.extras) kv.addExtras(reply.extras)
    else if (reply.message) { state.text = text; tell((state.cut ?? "") + reply.message, "warn") }
    else { state.text = text; kv.setRun(reply.run, text); tell(state.cut ?? "") }
    send()
    more()
  }

  const connect = (model) => {
    state.model = model
    model.on("reply", () => answered(model.reply))
    document.documentElement.dataset.live = "yes"
    kv.onConnect?.(model)
    send()
    more()
  }

  const chips = (run) => {
    const box = document.querySelector("[data-tokens]")
    if (!box) return
    const names = { known: "a word the toy knows", expanded: "a contraction, read as two words", carried: "a word the toy does not know, carried over as it is" }
    const read = run.tokens.map((t) => kv.html("bdi", { class: `token ${t.why}`, "data-tip": `${t.typed}: ${names[t.why]}` }, t.typed))
    const left = run.left.slice(0, 12).map((t) => kv.html("bdi", { class: "token left" }, t))
    box.replaceChildren(...read, ...left)
    const words = [`${run.tokens.length} of at most ${run.limit} words read`]
    if (run.n_left) words.push(`${kv.kit.whole(run.n_left)} left over, shown grey`)
    if (run.dropped) words.push(`${kv.kit.plural(run.dropped, "invisible character")} left out`)
    for (const node of document.querySelectorAll("[data-count]")) node.textContent = words.join("; ") + "."
    for (const node of document.querySelectorAll("[data-output]")) node.textContent = run.output
  }

  const start = () => {
    const box = form()
    if (!box) return
    const input = box.querySelector("input")
    input.addEventListener("input", () => want(input.value))
    box.addEventListener("submit", (event) => { event.preventDefault(); want(input.value) })
    for (const button of document.querySelectorAll("[data-example]")) {
      button.addEventListener("click", () => { input.value = button.dataset.example; want(input.value); kv.hideTip() })
    }
  }
  kv.sentence = { want, connect, chips, start, tell, get text() { return state.text }, set text(t) { state.text = t; state.wanted = t } }
})()
