// Notices within a second that the server went away, says so, and reloads into the same state
// (it is all in the address) when the server is back.
(() => {
  const kv = (window.kv = window.kv || { figures: {} })
  const Native = window.WebSocket
  const banner = (words) => {
    const node = document.querySelector(".banner")
    if (node) { node.hidden = !words; node.querySelector("span").textContent = words }
  }
  let leaving = false
  addEventListener("pagehide", () => { leaving = true })
  addEventListener("pageshow", (event) => { if (event.persisted && kv.offline) location.reload() })

  const lost = () => {
    if (leaving || kv.offline) return
    kv.offline = true
    kv.connected = false
    document.dispatchEvent(new CustomEvent("kv:lost"))
    document.documentElement.dataset.live = "no"
    banner("The server is away. Text and figures stay; new sentences wait until it is back.")
    const knock = async () => {
      try {
        const answer = await fetch("/health", { cache: "no-store" })
        if (answer.ok) { banner("The server is back; one moment …"); return location.reload() }
      } catch { /* still away */ }
      setTimeout(knock, 2000)
    }
    setTimeout(knock, 2000)
  }
  window.WebSocket = class extends Native {
    constructor(...given) {
      super(...given)
      this.addEventListener("close", lost)
    }
  }
})()
