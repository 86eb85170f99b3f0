// The gallery's address: ?figure=name shows one alone, ?embed=1 hides the page around it,
// ?controls=0 its controls; its params may be set by name (address.js reads them).
(() => {
  const asked = new URLSearchParams(location.search)
  const entries = [...document.querySelectorAll("[data-gallery]")]
  const alone = (name) => {
    const chosen = entries.find((entry) => entry.dataset.gallery === name)
    if (!chosen) return (kv.extras ??= []).push(() => kv.tell(`There is no figure called “${name.slice(0, 40)}”; all of them are below.`))
    for (const entry of entries) if (entry !== chosen) entry.remove()
    document.documentElement.classList.toggle("embed", asked.get("embed") === "1")
    document.documentElement.classList.toggle("bare", asked.get("controls") === "0")
  }
  if (asked.get("figure") !== null) alone(asked.get("figure"))
})()
