// A number that can be asked: hover, focus or tap shows the arithmetic; Escape puts it away.
(() => {
  const tip = document.createElement("div")
  tip.className = "tip"
  tip.id = "tip"
  tip.setAttribute("role", "tooltip")
  tip.hidden = true
  let owner = null
  let leaving = 0

  const lines = (node) => {
    const raw = node.kvTip ?? node.dataset?.tip
    const found = typeof raw === "function" ? raw() : raw
    return Array.isArray(found) ? found : found ? [found] : null
  }
  const asked = (target) => {
    const node = target instanceof Element ? target.closest("[data-tip], [role=button]") : null
    return node && lines(node) ? node : null
  }
  const place = (node) => {
    const at = node.getBoundingClientRect()
    tip.style.maxWidth = `${Math.min(420, window.innerWidth - 16)}px`
    const size = tip.getBoundingClientRect()
    const left = Math.max(8, Math.min(at.left + at.width / 2 - size.width / 2, window.innerWidth - size.width - 8))
    const above = at.top - size.height - 6
    tip.style.left = `${left}px`
    tip.style.top = `${above > 4 ? above : at.bottom + 6}px`
  }
  const show = (node) => {
    clearTimeout(leaving)
    if (owner && owner !== node) owner.removeAttribute("aria-describedby")
    owner = node
    tip.replaceChildren(...lines(node).map((line) => {
      const row = document.createElement("div")
      row.textContent = line
      return row
    }))
    tip.hidden = false
    node.setAttribute("aria-describedby", "tip")
    place(node)
  }
  const hide = () => {
    tip.hidden = true
    owner?.removeAttribute("aria-describedby")
    owner = null
  }
  const hideSoon = () => { clearTimeout(leaving); leaving = setTimeout(hide, 180) }

  document.addEventListener("pointerover", (event) => {
    if (tip.contains(event.target)) return clearTimeout(leaving)
    const node = asked(event.target)
    if (node) show(node)
    else if (owner && document.activeElement !== owner) hideSoon()
  })
  document.addEventListener("focusin", (event) => { const node = asked(event.target); node ? show(node) : hide() })
  document.addEventListener("click", (event) => { const node = asked(event.target); if (node) show(node) })
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && owner) { hide(); event.stopPropagation() } })
  window.addEventListener("scroll", () => { if (owner) hide() }, { passive: true })
  document.addEventListener("DOMContentLoaded", () => (document.querySelector("main") ?? document.body).append(tip))
  kv.hideTip = hide
})()
