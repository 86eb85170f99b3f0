// Which step is being read: one integer, from the scroll position alone.
(() => {
  kv.Steps = class {
    /** The active step is the last whose top has passed the reading line; always exactly one. */
    constructor(sections, onStep) {
      this.sections = sections
      this.onStep = onStep
      this.active = -1
      this.due = false
      this.held = -1
      const later = () => {
        if (this.due) return
        this.due = true
        requestAnimationFrame(() => { this.due = false; this.read() })
      }
      addEventListener("scroll", later, { passive: true })
      addEventListener("resize", later)
      new ResizeObserver(later).observe(document.body)
    }
    get line() {
      const narrow = matchMedia("(max-width: 860px)").matches
      return innerHeight * (narrow ? 0.72 : 0.5)
    }
    read() {
      const line = this.line
      let found = 0
      this.sections.forEach((section, i) => { if (section.getBoundingClientRect().top <= line) found = i })
      this.activate(found)
    }
    /** Hold a step while the page settles: heights change, and the browser puts an old scroll back. Any deed of the reader ends it. */
    hold(index, ms = 2000) {
      this.goAndHold(index)
      const release = () => { this.held = -1 }
      setTimeout(release, ms)
      for (const deed of ["wheel", "touchstart", "pointerdown", "keydown", "popstate", "hashchange"]) addEventListener(deed, release, { once: true, passive: true })
    }
    goAndHold(index) {
      this.go(index, false)
      this.held = index
    }
    activate(index) {
      if (this.held >= 0 && index !== this.held) return this.goAndHold(this.held)
      if (index === this.active) return
      this.active = index
      this.sections.forEach((section, i) => {
        section.classList.toggle("on", i === index)
        if (i === index) section.setAttribute("aria-current", "step")
        else section.removeAttribute("aria-current")
      })
      this.onStep(index)
    }
    go(index, focus = true) {
      this.held = -1
      const section = this.sections[Math.max(0, Math.min(this.sections.length - 1, index))]
      if (!section) return
      section.scrollIntoView({ behavior: "instant", block: "start" })
      this.read()
      if (focus) section.querySelector("h2")?.focus({ preventScroll: true })
    }
  }
})()
