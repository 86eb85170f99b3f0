// The gallery's address: ?figure=name shows one alone, ?embed=1 hides the page around it,
// ?controls=0 its controls; any param of the figure may be set (steps, layers and heads from 1).
(() => {
  const asked = new URLSearchParams(location.search)
  const entries = [...document.querySelectorAll("[data-gallery]")]
  const fromOne = (name) => ["t", "layer", "head"].includes(name)

  const paramsOf = () => {
    const params = {}
    for (const [name, text] of asked) {
      const number = Number(text)
      if (["s", "figure", "embed", "controls"].includes(name)) continue
      params[name] = text === "" || Number.isNaN(number) ? text : fromOne(name) ? number - 1 : number
    }
    return params
  }
  const alone = (name) => {
    const chosen = entries.find((entry) => entry.dataset.gallery === name)
    if (!chosen) return (kv.extras ??= []).push(() => kv.tell(`There is no figure called “${name.slice(0, 40)}”; all of them are below.`))
    for (const entry of entries) if (entry !== chosen) entry.remove()
    chosen.querySelector(".stage").dataset.params = JSON.stringify(paramsOf())
    document.documentElement.classList.toggle("embed", asked.get("embed") === "1")
    document.documentElement.classList.toggle("bare", asked.get("controls") === "0")
  }
  if (asked.get("figure") !== null) alone(asked.get("figure"))
})()
