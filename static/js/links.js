// A link to another page takes along what the reader brought: the sentence, the layer, the head.
(() => {
  const TAKEN = ["s", "layer", "head"]
  const INSIDE = /^(?!\/assets\/)(?:\/(?!\/)|[\w-]+\.html)/ // a page of ours, served or as a file beside this one

  /** Write into every link to a page of ours what this query says of the reader. */
  kv.takeAlong = (query) => {
    const taken = TAKEN.filter((name) => query.has(name)).map((name) => [name, query.get(name)])
    for (const link of document.querySelectorAll("a[href]")) {
      const own = (link.dataset.own ??= link.getAttribute("href"))
      if (!INSIDE.test(own)) continue
      const [, path, asked = "", hash = ""] = own.match(/^([^?#]*)(?:\?([^#]*))?(#.*)?$/)
      const words = new URLSearchParams(asked)
      for (const [name, value] of taken) words.set(name, value)
      const text = words.toString()
      link.setAttribute("href", `${path}${text ? `?${text}` : ""}${hash}`)
    }
  }
})()
