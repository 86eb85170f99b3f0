// Take a figure away: CSV of its table, SVG with its styles written in, PNG of that.
(() => {
  const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "font-variant-numeric", "transform"]

  const download = (name, blob) => {
    const link = kv.html("a", { href: URL.createObjectURL(blob), download: name })
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 1000)
  }
  // A leading = + - @ would be run as a formula by a spreadsheet; numbers are written with a plain minus.
  const field = (value) => {
    let text = String(value).replaceAll(kv.kit.MINUS, "-")
    if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text.replaceAll(",", "")))) text = `'${text}`
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  kv.csvOf = ({ head, rows }) => [head, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n"

  const standalone = (svg) => {
    const copy = svg.cloneNode(true)
    const box = svg.viewBox.baseVal
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg")
    copy.setAttribute("width", box.width)
    copy.setAttribute("height", box.height)
    const from = [svg, ...svg.querySelectorAll("*")]
    const to = [copy, ...copy.querySelectorAll("*")]
    from.forEach((node, i) => {
      const style = getComputedStyle(node)
      to[i].setAttribute("style", PAINT.map((p) => `${p}:${style.getPropertyValue(p)}`).join(";"))
      to[i].removeAttribute("tabindex")
    })
    const paper = kv.kit.el("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor })
    copy.prepend(paper)
    return new XMLSerializer().serializeToString(copy)
  }
  kv.saveCsv = (stage) => download(`${stage.name}.csv`, new Blob(["\ufeff", kv.csvOf(stage.tableData())], { type: "text/csv" }))
  kv.saveSvg = (stage) => download(`${stage.name}.svg`, new Blob([standalone(stage.svg)], { type: "image/svg+xml" }))
  kv.savePng = (stage) => {
    const box = stage.svg.viewBox.baseVal
    const image = new Image()
    image.onload = () => {
      const canvas = kv.html("canvas", { width: box.width * 2, height: box.height * 2 })
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
      canvas.toBlob((blob) => download(`${stage.name}.png`, blob), "image/png")
    }
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(stage.svg))
  }
})()
