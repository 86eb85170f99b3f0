// Predict, then reveal: the reader answers first, the page marks it and says why.
(() => {
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
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form.question")
    if (!form) return
    event.preventDefault()
    mark(form)
  })
  document.addEventListener("kv:marked", () => {
    const all = [...document.querySelectorAll("form.question")]
    const right = all.filter((form) => form.dataset.marked === "right").length
    const marked = all.filter((form) => form.dataset.marked).length
    for (const node of document.querySelectorAll("[data-score]")) {
      node.textContent = `${right} right of ${marked} answered, ${all.length} questions on this page.`
    }
  })
})()
