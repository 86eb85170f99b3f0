// One figure without a page and without a server: its run came with it.
(() => {
  const { spec, params, run, weights } = JSON.parse(document.getElementById("kv-alone").textContent)
  kv.offline = true // nothing here can be asked of a server
  kv.run = new kv.Run(run, weights)
  const stage = new kv.Stage(document.querySelector(".stage"), { [spec.name]: spec })
  stage.show(spec.name, params, kv.run)
  const fit = () => { if (window.frameElement) window.frameElement.style.height = `${document.documentElement.scrollHeight + 4}px` }
  new ResizeObserver(fit).observe(document.querySelector("main"))
  kv.stage = stage
})()
