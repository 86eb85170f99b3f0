// The reader's sentence: run as it is typed, never more than one run under way, the latest wins.
(() => {
  const MAX_CHARS = 2000 // what one message may hold; the page says so when it cuts
  const PAUSE = 300 // after this much quiet the slower comparisons are asked for
  let latest = null
  let later = 0

  const tell = (words, tone = "") => {
    for (const node of document.querySelectorAll("[data-sentence-message]")) { node.textContent = words; node.dataset.tone = tone }
  }

  /** What the toy did not read, for a reader who does not see the words at the top of the page. */
  const left = ({ tokens, n_left: n }) => (n ? `Only the first ${kv.kit.plural(tokens.length, "word")} are read; ${kv.kit.whole(n)} more ${n === 1 ? "is" : "are"} left out.` : "")

  /** Ask for a run of this text. Nothing on the page changes until the answer is there. */
  const want = async (text) => {
    latest = text
    clearTimeout(later)
    const cut = text.length > MAX_CHARS ? `Only the first ${kv.kit.whole(MAX_CHARS)} of ${kv.kit.whole(text.length)} characters were read. ` : ""
    const slow = setTimeout(() => tell("Working it out …", "busy"), 500)
    const reply = await kv.ask("run", text.slice(0, MAX_CHARS))
    clearTimeout(slow)
    if (!reply || text !== latest) return
    kv.page.keep(reply.away ? text : null) // what waits for the server is asked again when it is back
    if (reply.message) { if (kv.page.address.asked) kv.page.show(); return tell(cut + reply.message, "warn") }
    tell(cut + left(reply.run), cut || reply.run.n_left ? "warn" : "")
    kv.setRun(reply.run)
  }

  /** The parts of the run that take longer (wrong twins, variants), once typing has paused. */
  const completeSoon = () => {
    clearTimeout(later)
    later = setTimeout(async () => {
      for (const part of kv.page.parts) {
        const { run } = kv
        if (run.has(part)) continue
        const reply = await kv.ask(part, run.text)
        if (!reply || kv.run !== run) return
        if (reply[part]) kv.addPart(part, reply[part])
      }
    }, PAUSE)
  }

  const NAMES = { known: "a word the toy knows", expanded: "a contraction, read as two words", carried: "a word the toy does not know, carried over as it is" }
  const chips = (run) => {
    const box = document.querySelector("[data-tokens]")
    if (box) box.replaceChildren(
      ...run.tokens.map((t) => kv.html("bdi", { class: `token ${t.why}`, "data-tip": `${t.typed}: ${NAMES[t.why]}` }, t.typed)),
      ...run.left.map((t) => kv.html("bdi", { class: "token left" }, t)))
    const words = [`${run.tokens.length} of at most ${run.limit} words read`]
    if (run.n_left) words.push(`${kv.kit.whole(run.n_left)} left over, shown grey`)
    if (run.n_left > run.left.length) words.push(`only the first ${run.left.length} of them are shown`)
    if (run.dropped) words.push(`${kv.kit.plural(run.dropped, "invisible character")} left out`)
    if (!run.finished) words.push("the toy stopped at its limit, without an end mark")
    for (const node of document.querySelectorAll("[data-count]")) node.textContent = words.join("; ") + "."
    for (const node of document.querySelectorAll("[data-output]")) node.textContent = run.output
  }

  /** On a phone the input scrolls away with the masthead: this button brings it to the reader. */
  const raise = (button, box, input) => {
    const up = (raised) => { box.classList.toggle("raised", raised); button.setAttribute("aria-expanded", `${raised}`) }
    button.addEventListener("click", () => { up(true); input.focus({ preventScroll: true }); input.select() })
    box.addEventListener("submit", () => { if (box.classList.contains("raised")) { up(false); button.focus({ preventScroll: true }) } })
    box.addEventListener("keydown", (event) => { if (event.key === "Escape" && box.classList.contains("raised")) { up(false); button.focus({ preventScroll: true }) } })
    box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) up(false) })
  }

  const start = () => {
    const box = document.querySelector("form.sentence")
    if (!box) return
    const input = box.querySelector("input")
    input.addEventListener("input", () => want(input.value))
    box.addEventListener("submit", (event) => { event.preventDefault(); want(input.value) })
    for (const button of document.querySelectorAll("[data-example]")) {
      button.addEventListener("click", () => { input.value = button.dataset.example; want(input.value); button.closest("details")?.removeAttribute("open") })
    }
    for (const button of document.querySelectorAll("[data-raise]")) raise(button, box, input)
  }
  kv.sentence = { want, chips, start, tell, completeSoon }
})()
