// The menus of the masthead: one open at a time, put away by Escape, by a choice, by going elsewhere.
(() => {
  const menus = () => document.querySelectorAll("details.menu, details.examples")
  const close = (menu) => { menu.open = false }
  const closeAllBut = (kept) => { for (const menu of menus()) if (menu.open && menu !== kept) close(menu) }
  const around = ({ target }) => (target instanceof Element ? target.closest("details.menu, details.examples") : null)

  for (const deed of ["pointerdown", "focusin"]) document.addEventListener(deed, (event) => closeAllBut(around(event)))
  document.addEventListener("click", (event) => { if (event.target.closest?.("details.menu a, details.examples button")) close(around(event)) })
  document.addEventListener("toggle", ({ target }) => { if (target.open && target.matches("details.menu, details.examples")) closeAllBut(target) }, true)
  document.addEventListener("keydown", (event) => {
    const open = [...menus()].find((menu) => menu.open)
    if (event.key !== "Escape" || !open) return
    close(open)
    open.querySelector("summary").focus({ preventScroll: true })
    event.preventDefault()
  })
})()
