// Predict, then reveal: the reader answers first, the page marks it and says why.
// Answers are kept while the window is open, and not in the address: a link would give them away.
(() => {
  const KEY = `kv-answers:${location.pathname}`
  const forms = () => [...document.querySelectorAll("form.question")]
  const mark = (form) => {
    const chosen = form.querySelector("input:checked")
    const verdict = form.querySelector(".verdict")
    if (!chosen) { verdict.textContent = "Choose an answer first."; return }
    const right = chosen.value === form.dataset.answer
    form.dataset.marked = right ? "right" : "wrong"
    const name = form.querySelector(`input[value="${CSS.escape(form.dataset.answer)}"]`).closest("label").textContent.trim()
    verdict.textContent = right ? "Right." : `Not quite: it is “${name}”.`
    form.querySelector(".reason").hidden = false
    document.dispatchEvent(new CustomEvent("kv:marked"))
  }
  const remember = () => {
    const given = forms().filter((form) => form.dataset.marked).map((form) => [form.id, form.querySelector("input:checked").value])
    try { sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(given))) } catch { /* for this page only */ }
  }
  const recall = () => {
    let given = {}
    try { given = JSON.parse(sessionStorage.getItem(KEY)) ?? {} } catch { /* none were kept */ }
    for (const form of forms()) {
      const input = [...form.querySelectorAll("input[type=radio]")].find((one) => one.value === given[form.id])
      if (input) { input.checked = true; mark(form) }
    }
  }
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form.question")
    if (!form) return
    event.preventDefault()
    mark(form)
    remember()
  })
  document.addEventListener("kv:marked", () => {
    const all = forms()
    const right = all.filter((form) => form.dataset.marked === "right").length
    const marked = all.filter((form) => form.dataset.marked).length
    for (const node of document.querySelectorAll("[data-score]")) {
      node.textContent = `${right} right of ${marked} answered, ${all.length} questions on this page.`
    }
  })
  recall()
})()
